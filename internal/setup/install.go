package setup

import "cmp"

// Install is the command that installs the chart with the values in a file. Models that are all in one namespace get
// the bot there: by default the Prometheus operator gives an AlertmanagerConfig the alerts of its own namespace only.
func Install(p Proposal, file string) string {
	namespace := ""
	for n, pool := range p.Pools {
		of := cmp.Or(pool.Workload.Value.Namespace, pool.Matchers.Value["namespace"])
		if n > 0 && of != namespace {
			namespace = ""
			break
		}
		namespace = of
	}
	if namespace != "" {
		namespace = " --namespace " + namespace
	}
	return "helm upgrade --install vllm-medic deploy/helm/vllm-medic" + namespace + " --values " + file
}
