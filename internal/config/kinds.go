package config

import (
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/nearest"
)

// kinds are the kinds that run pods, by their API group, and the version that serves them today. Of the groups with a
// dot only those are listed whose kinds run vLLM often; other kinds and groups are left to the API server.
func kinds() map[string][]string {
	return map[string][]string{
		"":                         {"Pod", "ReplicationController"},
		"apps":                     {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"},
		"batch":                    {"Job", "CronJob"},
		"leaderworkerset.x-k8s.io": {"LeaderWorkerSet"},
		"serving.kserve.io":        {"InferenceService", "LLMInferenceService"},
		"ray.io":                   {"RayService", "RayCluster"},
		"production-stack.vllm.ai": {"VLLMRuntime"},
		"orchestration.aibrix.ai":  {"StormService", "RayClusterFleet"},
		"argoproj.io":              {"Rollout"},
		"kubeai.org":               {"Model"},
	}
}

// kind refuses what no API server can have: a misspelled kind or group, and a kind in another group than its own.
func (l *loader) kind(path, apiVersion, kind string) {
	if apiVersion == "" || kind == "" {
		return
	}
	group, version, found := strings.Cut(apiVersion, "/")
	if !found {
		group, version = "", apiVersion
	}
	known, listed := kinds()[group]
	builtin := !strings.Contains(group, ".")
	switch home := homeOf(kind); {
	case slices.Contains(known, kind) && builtin && version != "v1":
		l.at(path+".apiVersion", "%s is served as %s today, not as %s", kind, join(group, "v1"), apiVersion)
	case slices.Contains(known, kind):
	case builtin && home != "" && !strings.Contains(home, "."):
		l.at(path+".apiVersion", "%s is in %s, not in %s", kind, home, apiVersion)
	case builtin && !listed:
		l.at(path+".apiVersion", "%q is not an API group of Kubernetes, and others have a dot in their name%s", group,
			didYouMean(group, []string{"apps", "batch"}))
	case listed && nearest.Name(kind, known) != "":
		l.at(path+".kind", "there is no %s in %s; did you mean %q?", kind, apiVersion, nearest.Name(kind, known))
	case builtin:
		l.at(path+".kind", "there is no %s in %s that runs pods; there are %s", kind, apiVersion, strings.Join(known, ", "))
	}
}

// homeOf is the apiVersion of a kind of Kubernetes itself.
func homeOf(kind string) string {
	for group, list := range kinds() {
		if !strings.Contains(group, ".") && slices.Contains(list, kind) {
			return join(group, "v1")
		}
	}
	return ""
}

func join(group, version string) string { return strings.TrimPrefix(group+"/"+version, "/") }

func didYouMean(name string, known []string) string {
	if near := nearest.Name(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
