package config

import "cmp"

// identities are the names of the Kubernetes users of people in Slack, by their ids there; nil: nobody is mapped.
func (a Access) identities() map[string]string {
	if len(a.SlackUsers) == 0 {
		return nil
	}
	out := make(map[string]string, len(a.SlackUsers))
	for id, user := range a.SlackUsers {
		out[id] = user.Name
	}
	return out
}

// access reads who may read and decide over HTTP. Whoever is asked about is known to the API server alone, so what lets
// more of them in needs one.
func (l *loader) access(f file) Access {
	a := f.Access
	if a.ClusterTokens && f.Kubernetes == nil {
		l.at("access.cluster_tokens", "needs the section kubernetes: tokens are checked there")
	}
	return Access{
		Audience:      cmp.Or(a.Audience, "vllm-medic"),
		ViewerToken:   Secret(l.secret("access.viewer_token", a.ViewerTokenEnv, a.ViewerTokenFile, false)),
		ClusterTokens: a.ClusterTokens,
		SlackUsers:    l.slackUsers(f),
	}
}
