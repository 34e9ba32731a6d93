package present

import "github.com/vllm-medic/vllm-medic/internal/incident"

// Person names who did something, where it can be no live mention: "policy", "vllm-medic", the user's name in
// Kubernetes, and "slack:U0123", which says where the id is from.
func Person(a incident.Actor) string {
	switch a.Kind {
	case incident.ActorPolicy:
		return "policy"
	case incident.ActorBot:
		return "vllm-medic"
	case incident.ActorKubernetes:
		return a.ID
	case incident.ActorSlack, incident.ActorViewer, incident.ActorSchedule:
	}
	return a.String()
}
