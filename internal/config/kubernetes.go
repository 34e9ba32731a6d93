package config

// kubernetes reads which cluster is meant. Whether its kubeconfig can be used is asked of opts.Kubeconfig, which knows
// the format.
func (l *loader) kubernetes(f kubernetesFile) *Kubernetes {
	k := &Kubernetes{Kubeconfig: l.file(f.Kubeconfig), Context: f.Context}
	switch {
	case k.Kubeconfig == "" && k.Context != "":
		l.at("kubernetes.context", "needs kubernetes.kubeconfig: the service account of a pod has no contexts")
	case k.Kubeconfig == "" || l.opts.Kubeconfig == nil || l.opts.Offline || l.opts.PrometheusOnly:
	default:
		if err := l.opts.Kubeconfig(k.Kubeconfig, k.Context); err != nil {
			l.at("kubernetes.kubeconfig", "%v", err)
		}
	}
	return k
}
