package main

import (
	"fmt"
	"net"
	"net/url"

	"github.com/spf13/pflag"
)

// plainHTTPFlag permits what readable refuses.
func plainHTTPFlag(fs *pflag.FlagSet, t terminal) *bool {
	return fs.Bool("allow-plain-http", t.env("VLLM_MEDIC_ALLOW_PLAIN_HTTP") == "true",
		"send the token over plain http to another machine, where others may read it, as within a cluster; "+
			"VLLM_MEDIC_ALLOW_PLAIN_HTTP=true sets the default")
}

// readable says whether others could read what is sent to a server: it is another machine, and there is no TLS.
func readable(server *url.URL) bool {
	return server.Scheme != "https" && !isLoopback(server.Hostname())
}

// keepsToken refuses to send a token where others could read it, unless somebody allows it.
func keepsToken(server *url.URL, flag string, allowed bool) error {
	if allowed || !readable(server) {
		return nil
	}
	return usageError{fmt.Sprintf("the token isn't sent to %s over plain http, where others could read it; use https, or "+
		"kubectl port-forward with %s http://127.0.0.1:PORT, or allow it with --allow-plain-http", server.Host, flag)}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
