package config

import "cmp"

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
