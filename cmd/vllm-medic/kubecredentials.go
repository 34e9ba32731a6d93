package main

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/pflag"

	"github.com/vllm-medic/vllm-medic/internal/app"
)

// kubeFlags are whose credentials a request carries when they are a person's own. They are named as kubectl names them.
type kubeFlags struct {
	use           *bool
	context, file *string
}

func newKubeFlags(fs *pflag.FlagSet) kubeFlags {
	return kubeFlags{
		use: fs.Bool("kube", false, "use your own Kubernetes credentials, those of the kubeconfig's current context, so "+
			"that the journal names you; the bot needs access.cluster_tokens or access.client_certificates"),
		context: fs.String("context", "", "with --kube, the context `NAME` instead of the current one"),
		file:    fs.String("kubeconfig", "", "with --kube, a kubeconfig `FILE` instead of KUBECONFIG or ~/.kube/config"),
	}
}

// check refuses flags that contradict each other.
func (k kubeFlags) check(tokenFile string) error {
	switch {
	case !*k.use && *k.context != "":
		return usageError{"--context needs --kube"}
	case !*k.use && *k.file != "":
		return usageError{"--kubeconfig needs --kube"}
	case *k.use && tokenFile != "":
		return usageError{"give --kube or --token-file, not both"}
	}
	return nil
}

// credentials are the person's own. They may decide about the whole cluster, so they go to the bot alone and never
// where others could read them.
func (k kubeFlags) credentials(t terminal, server *url.URL) (app.Credentials, error) {
	if readable(server) {
		return app.Credentials{}, usageError{fmt.Sprintf("--kube doesn't send your Kubernetes credentials to %s over plain "+
			"http, where others could read them; use https, or kubectl port-forward with --server http://127.0.0.1:PORT",
			server.Host)}
	}
	got, err := app.Login{Kubeconfig: *k.file, Env: t.env("KUBECONFIG"), Context: *k.context}.Credentials()
	switch {
	case err != nil:
		return app.Credentials{}, fmt.Errorf("--kube: %w", err)
	case got.Token == "" && server.Scheme != "https":
		return app.Credentials{}, errors.New("--kube: your client certificate needs https: set --server to an https URL of " +
			"the bot")
	}
	return got, nil
}
