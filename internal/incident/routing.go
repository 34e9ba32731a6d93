package incident

import "slices"

// Routing is what there is to say about how the alerts of one delivery led to their pool, or why they did not.
type Routing struct {
	// LeftOut counts the alerts that Alertmanager left out of the group (max_alerts).
	LeftOut uint64 `json:"leftOut,omitempty"`
	// Cut says that the notification was larger than is read, so that alerts are missing whose number is not known.
	Cut bool `json:"cut,omitempty"`
	// Routes are different from one another, and several alerts may share one; Unsaid counts those for which there is no
	// room.
	Routes []Route `json:"routes,omitempty"`
	Unsaid int     `json:"unsaid,omitempty"`
}

// PodLabels are the pairs of labels, of a namespace and a pod, by which scrapes name a pod, the most telling first.
// exported_* is what an exporter said about somebody else (kube-state-metrics); namespace and pod are then the
// exporter's own. The last pair is of older scrape configurations.
func PodLabels() [][2]string {
	return [][2]string{
		{"exported_namespace", "exported_pod"},
		{"namespace", "pod"},
		{"kubernetes_namespace", "kubernetes_pod_name"},
	}
}

// PlaceLabels are all labels by which the pod of an alert is looked for: those of PodLabels, its instance, and what
// narrows that.
func PlaceLabels() []string {
	var out []string
	for _, pair := range PodLabels() {
		out = append(out, pair[0], pair[1])
	}
	return append(out, "instance", "job")
}

// RouteKind names what is known of the route of an alert.
type RouteKind string

// The kinds of routes.
const (
	// RouteOwners led to the pool over the owners of a pod.
	RouteOwners RouteKind = "owners"
	// RouteNamespace led to the only pool of a namespace; the alert says nothing else about what it is about.
	RouteNamespace RouteKind = "namespace"
	// RouteNoPool ended at a workload that no pool names.
	RouteNoPool RouteKind = "no_pool"
	// RouteUnknown could not be followed.
	RouteUnknown RouteKind = "unknown"
	// RouteUnsure led to the pool, but an owner above may belong to another one: not all could be asked.
	RouteUnsure RouteKind = "unsure"
)

// Route is how one alert led to a pool, or why it did not, as facts. Which of the fields are set depends on Kind.
type Route struct {
	Kind RouteKind `json:"kind"`
	// Alert is the alert's name; empty where the same holds for every alert of a pod.
	Alert string `json:"alert,omitempty"`
	Trail Trail  `json:"trail,omitzero"`
	// Owners are those of the pod, the nearest one first; with RouteNoPool only the top one.
	Owners []WorkloadRef `json:"owners,omitempty"`
	// Why is the error that kept the rest from being known.
	Why string `json:"why,omitempty"`
}

// TrailKind names how a pod was found.
type TrailKind string

// The kinds of trails.
const (
	// TrailLabels are labels of the alert that name the pod.
	TrailLabels TrailKind = "labels"
	// TrailScrape is Prometheus, which scrapes the alert's instance from the pod.
	TrailScrape TrailKind = "scrape"
	// TrailAddress is Kubernetes, where the alert's instance is the address of the pod.
	TrailAddress TrailKind = "address"
)

// Trail is how an alert was followed to a pod; zero: it was not.
type Trail struct {
	Kind TrailKind `json:"kind"`
	// Instance is the alert's label of that name; empty with TrailLabels.
	Instance string `json:"instance,omitempty"`
	// Pod is "llm/llama-70b-0".
	Pod string `json:"pod"`
}

// Same says whether two routes say the same.
func (r Route) Same(o Route) bool {
	return r.Kind == o.Kind && r.Alert == o.Alert && r.Trail == o.Trail && r.Why == o.Why &&
		slices.Equal(r.Owners, o.Owners)
}

func (r *Routing) same(o *Routing) bool {
	if r == nil || o == nil {
		return r == o
	}
	return r.LeftOut == o.LeftOut && r.Cut == o.Cut && r.Unsaid == o.Unsaid &&
		slices.EqualFunc(r.Routes, o.Routes, Route.Same)
}
