package present

import (
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// routing says how alerts led to their pool, or why they did not; stored is the same in words, for a route that only a
// newer version knows.
func routing(r *incident.Routing, stored string) string {
	if r == nil {
		return stored
	}
	var out []string
	if r.LeftOut > 0 {
		out = append(out, "Alertmanager left "+Counted(r.LeftOut, "more alert")+" out of this group (max_alerts).")
	}
	if r.Cut {
		out = append(out, "The notification was larger than the bot reads (10 MiB, 50,000 alerts). Alerts beyond that are "+
			"missing here: set max_alerts in webhook_configs.")
	}
	for _, x := range r.Routes {
		text, known := route(x)
		if !known && stored != "" {
			return stored
		}
		out = append(out, text)
	}
	if r.Unsaid > 0 {
		out = append(out, Counted(r.Unsaid, "more routing detail")+" omitted.")
	}
	return unmark.Replace(strings.Join(out, " "))
}

// route has the sentences for one alert, and whether this version knows the route.
func route(r incident.Route) (text string, known bool) {
	known = true
	switch r.Kind {
	case incident.RouteUnknown:
		return "The pool of " + r.Alert + " could not be found: " + clause(r.Why) + ".", true
	case incident.RouteUnsure:
		return "Could not check whether " + r.Alert + " belongs to another pool: " + clause(r.Why) + ".", true
	case incident.RouteNamespace:
		return r.Alert + " names no model and no pod. This is the only pool of its namespace.", true
	case incident.RouteNoPool:
		text = "The alert leads to " + top(r.Owners) + ", which no pool names."
	case incident.RouteOwners:
		text, known = trail(r.Trail)
		text += belongs(r.Owners) + "."
	default:
		return r.Why, false
	}
	if r.Why != "" {
		text += " However, " + clause(r.Why) + "."
	}
	return text, known
}

// trail names the pod and how it was found, if this version knows how.
func trail(t incident.Trail) (text string, known bool) {
	switch t.Kind {
	case incident.TrailScrape:
		return "Prometheus scrapes " + t.Instance + " from pod " + t.Pod, true
	case incident.TrailAddress:
		return "The address " + t.Instance + " is that of pod " + t.Pod, true
	case incident.TrailLabels:
		return "The alert names pod " + t.Pod, true
	}
	return "The alert leads to pod " + t.Pod, false
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
