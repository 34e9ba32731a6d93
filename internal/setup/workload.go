package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// workloadKinds are the kinds that a pool's workload can be, by API group. Of the owners of a pod the highest of them
// is taken: an operator's object above it has no scale of its own (docs/platforms.md).
func workloadKinds() []string {
	return []string{
		"apps/Deployment", "apps/StatefulSet", "leaderworkerset.x-k8s.io/LeaderWorkerSet",
		"production-stack.vllm.ai/VLLMRuntime", "orchestration.aibrix.ai/StormService", "kubeai.org/Model",
		"argoproj.io/Rollout",
	}
}

func groupKind(ref incident.WorkloadRef) string {
	group, _, found := strings.Cut(ref.APIVersion, "/")
	if !found {
		group = ""
	}
	return group + "/" + ref.Kind
}

// renames says whether an operator gives the objects that it makes another name at each rollout: a revision of its own
// is part of it.
func renames(operator incident.WorkloadRef) bool {
	return slices.Contains([]string{
		"disaggregatedset.x-k8s.io/DisaggregatedSet", "nvidia.com/DynamoGraphDeployment",
	}, groupKind(operator))
}

// workloadOf chooses the workload among the owners of a pod, the nearest of them first, or the object by which they are
// made to be scaled. ok is false where none of them can be one; why then says so.
func workloadOf(s Server) (ref incident.WorkloadRef, why string, ok bool) {
	pod := "pod " + s.Namespace + "/" + s.Pod
	if !s.Scaler.IsZero() {
		return s.Scaler, fmt.Sprintf("Owners of %s: %s; %s %s is made to scale it, and keeps its name.", pod,
			chainText(s.Owners), s.Scaler.Kind, s.Scaler.Name), true
	}
	for i, owner := range slices.Backward(s.Owners) {
		if !slices.Contains(workloadKinds(), groupKind(owner)) {
			continue
		}
		why = "Owners of " + pod + ": " + chainText(s.Owners[:i+1])
		if i+1 < len(s.Owners) {
			why += fmt.Sprintf("; it belongs to %s, which is not scaled itself", chainText(s.Owners[i+1:]))
		}
		if s.Unfollowed != "" {
			why += "; " + s.Unfollowed
		}
		if s.Unscaled != "" {
			why += "; whether there is an object that is made to scale it isn't known: " + s.Unscaled
		}
		if at := slices.IndexFunc(s.Owners, renames); at > i {
			why += fmt.Sprintf(". A rollout of %s may rename it: correct the name here then", chainText(s.Owners[at:at+1]))
		}
		return owner, why + ".", true
	}
	switch {
	case s.Unfollowed != "":
		return ref, fmt.Sprintf("Nobody can say to which workload %s belongs: %s.", pod, s.Unfollowed), false
	case len(s.Owners) == 0:
		return ref, fmt.Sprintf("No owner of %s is known.", pod), false
	}
	return ref, fmt.Sprintf("The owners of %s are no workload that the bot changes: %s; see docs/platforms.md.", pod,
		chainText(s.Owners)), false
}

func chainText(owners []incident.WorkloadRef) string {
	out := make([]string, len(owners))
	for i, o := range owners {
		out[i] = o.Kind + " " + o.Name
	}
	return strings.Join(out, ", ")
}

// containerOf chooses the container whose arguments are vLLM's, the same in all pods.
func containerOf(servers []Server) Guess[string] {
	var names []string
	guessed := false
	for _, s := range servers {
		guessed = guessed || s.Guessed
		for _, c := range s.Containers {
			if !slices.Contains(names, c) {
				names = append(names, c)
			}
		}
	}
	switch {
	case len(names) == 0:
		return Guess[string]{}
	case len(names) == 1 && guessed:
		return Guess[string]{Value: names[0], Sure: true, Why: "Container " + names[0] + " is the only one."}
	case len(names) == 1:
		why := "Container " + names[0] + " starts vLLM, by its command or its image."
		return Guess[string]{Value: names[0], Sure: true, Why: why}
	}
	return Guess[string]{
		Others:   names,
		Why:      "Several containers could run vLLM: " + strings.Join(names, ", ") + ".",
		Question: "Which container runs vLLM? Add it as container to workload.",
	}
}
