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

// ClusterTokensInPlainText says that tokens which are good for the cluster are taken, and cross a network as they are.
func (c Config) ClusterTokensInPlainText() bool {
	_, tls := c.Listen.TLS["api"]
	return c.Access.ClusterTokens && !tls && !loopback(c.Listen.API)
}

// access reads who may read and decide over HTTP. Whoever is asked about is known to the API server alone, so what lets
// more of them in needs one.
func (l *loader) access(f file) Access {
	a := f.Access
	if a.ClusterTokens && f.Kubernetes == nil {
		l.at("access.cluster_tokens", "needs the section kubernetes: tokens are checked there")
	}
	_, tls := f.Listen.TLS["api"]
	switch {
	case !a.ClientCertificates && a.ClientCAFile != "":
		l.at("access.client_ca_file", "needs access.client_certificates: true")
	case !a.ClientCertificates:
	case f.Kubernetes == nil:
		l.at("access.client_certificates", "needs the section kubernetes: permissions are checked there")
	case !tls:
		l.at("access.client_certificates", "needs listen.tls.api: a client certificate is part of a TLS connection")
	case f.Listen.TLS["api"].ClientCAFile != "":
		l.at("access.client_certificates", "can't be combined with listen.tls.api.client_ca_file, which lets nobody in "+
			"without a certificate of that CA; authenticate the webhook with alertmanager.auth instead")
	}
	return Access{
		Audience:           cmp.Or(a.Audience, "vllm-medic"),
		ViewerToken:        l.secret("access.viewer_token", a.ViewerTokenEnv, a.ViewerTokenFile, false, nil),
		ClusterTokens:      a.ClusterTokens,
		ClientCertificates: a.ClientCertificates, ClientCAFile: l.file(a.ClientCAFile),
		SlackUsers: l.slackUsers(f),
	}
}
