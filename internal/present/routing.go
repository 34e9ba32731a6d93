package present

import (
	"fmt"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// routing says how alerts led to their pool, or why they did not.
func routing(r *incident.Routing) string {
	if r == nil {
		return ""
	}
	var out []string
	if r.LeftOut > 0 {
		out = append(out, fmt.Sprintf("Alertmanager left %d more alerts out of this group (max_alerts).", r.LeftOut))
	}
	for _, x := range r.Routes {
		out = append(out, route(x))
	}
	if r.Unsaid > 0 {
		out = append(out, fmt.Sprintf("Details of %d more alerts are omitted.", r.Unsaid))
	}
	return unmark.Replace(strings.Join(out, " "))
}

// route has the sentences for one alert.
func route(r incident.Route) string {
	text := ""
	switch r.Kind {
	case incident.RouteUnknown:
		return "The pool of " + r.Alert + " could not be found: " + clause(r.Why) + "."
	case incident.RouteUnsure:
		return "Could not check whether " + r.Alert + " belongs to another pool: " + clause(r.Why) + "."
	case incident.RouteNoPool:
		text = "The alert leads to " + top(r.Owners) + ", which no pool names."
	case incident.RouteOwners:
		text = trail(r.Trail) + belongs(r.Owners) + "."
	default: // of a newer version
		return r.Why
	}
	if r.Why != "" {
		text += " However, " + clause(r.Why) + "."
	}
	return text
}

// trail names the pod and how it was found.
func trail(t incident.Trail) string {
	switch t.Kind {
	case incident.TrailScrape:
		return "Prometheus scrapes " + t.Instance + " from pod " + t.Pod
	case incident.TrailAddress:
		return "The address " + t.Instance + " is that of pod " + t.Pod
	case incident.TrailLabels:
	}
	return "The alert names pod " + t.Pod
}

// belongs follows a pod to its owners.
func belongs(owners []incident.WorkloadRef) string {
	if len(owners) == 0 || owners[0].Kind == "Pod" {
		return ", which has no owner"
	}
	names := make([]string, len(owners))
	for n, o := range owners {
		names[n] = o.Kind + " " + o.Name
	}
	return ", which belongs to " + strings.Join(names, ", then ")
}

// top is the owner above all others.
func top(owners []incident.WorkloadRef) string {
	if len(owners) == 0 { // a stored row may lack it
		return "a workload"
	}
	return owners[len(owners)-1].String()
}
