package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vllm-medic/vllm-medic/internal/config"
)

// kubernetes returns the client configuration, or nil when none is configured.
func (a *App) kubernetes() (*rest.Config, error) {
	rc, err := KubernetesConfig(a.opts.Config)
	if err != nil || rc == nil {
		return nil, err
	}
	if a.opts.Transport != nil {
		rc.Wrap(func(rt http.RoundTripper) http.RoundTripper { return a.opts.Transport("kubernetes", rt) })
	}
	return rc, nil
}

// KubernetesConfig reads the kubeconfig that the configuration names, or the one of the pod; nil when no Kubernetes is
// configured.
func KubernetesConfig(cfg config.Config) (*rest.Config, error) {
	if cfg.Kubernetes == nil {
		return nil, nil
	}
	if cfg.Kubernetes.Kubeconfig == "" {
		rc, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("kubernetes: not in a cluster (%w); set kubernetes.kubeconfig", err)
		}
		return rc, nil
	}
	rc, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: cfg.Kubernetes.Kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: cfg.Kubernetes.Context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubernetes: read %s: %w", cfg.Kubernetes.Kubeconfig, err)
	}
	return rc, nil
}

// forReading is KubernetesConfig for commands that change nothing: outside of a pod they take the kubeconfig of whoever
// runs them, as kubectl does. The bot never does: the cluster that somebody looks at is not always the one that may be
// changed.
func forReading(opts Options) (*rest.Config, error) {
	rc, err := KubernetesConfig(opts.Config)
	switch {
	case !errors.Is(err, rest.ErrNotInCluster):
		return rc, err
	case opts.Kubeconfig == "":
		return nil, errors.New("not in a cluster; set kubernetes.kubeconfig, or KUBECONFIG to read from here")
	}
	files := filepath.SplitList(opts.Kubeconfig)
	if !slices.ContainsFunc(files, exists) { // of several, one that is missing is left out, as kubectl does
		return nil, fmt.Errorf("KUBECONFIG names %s, %s", opts.Kubeconfig,
			map[bool]string{true: "which does not exist", false: "none of which exists"}[len(files) == 1])
	}
	rc, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{Precedence: files}, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read %s, which KUBECONFIG names: %w", opts.Kubeconfig, err)
	}
	return rc, nil
}

// exists says whether there is anything at a path; an error other than "does not exist" is reported by whoever reads
// it.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// CheckKubeconfig says what is wrong with a kubeconfig and the context in it ("" is its current one), without asking
// the cluster.
func CheckKubeconfig(path, context string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("cannot be read: %s is not a regular file", path) // a device or a pipe may have no end
	}
	file, err := clientcmd.LoadFromFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", path)
	case err != nil:
		return fmt.Errorf("cannot be read: %w", err)
	}
	if _, err := contextOf(file, path, context, "kubernetes.context"); err != nil {
		return err
	}
	if _, err := clientcmd.NewDefaultClientConfig(*file,
		&clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig(); err != nil {
		return fmt.Errorf("cannot be used: %w", err)
	}
	return nil
}

// contextOf is the name of a context in a kubeconfig that was read from path; "" asks for its current one. The error
// says which there are, and that setting chooses one.
func contextOf(file *clientcmdapi.Config, path, context, setting string) (string, error) {
	have := slices.Sorted(maps.Keys(file.Contexts))
	name := cmp.Or(context, file.CurrentContext)
	switch {
	case len(have) == 0:
		return "", fmt.Errorf("%s has no context, or does not exist", path)
	case name == "":
		return "", fmt.Errorf("%s has no current context; set %s to one of %s", path, setting, strings.Join(have, ", "))
	case file.Contexts[name] == nil:
		return "", fmt.Errorf("%s has no context %q; it has %s", path, name, strings.Join(have, ", "))
	}
	return name, nil
}
