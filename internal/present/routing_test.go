package present

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

func TestARoutingSaysHowAlertsLedToTheirPool(t *testing.T) {
	t.Parallel()
	owners := []incident.WorkloadRef{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "llm", Name: "llama-7d4"},
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: "llama"},
	}
	labels := incident.Trail{Kind: incident.TrailLabels, Pod: "llm/llama-0"}
	scrape := incident.Trail{Kind: incident.TrailScrape, Instance: "10.0.0.7:8000", Pod: "llm/llama-0"}
	address := incident.Trail{Kind: incident.TrailAddress, Instance: "10.0.0.7:8000", Pod: "llm/llama-0"}
	lone := []incident.WorkloadRef{{APIVersion: "v1", Kind: "Pod", Namespace: "llm", Name: "llama-0"}}
	const why = "the right to get pods in namespace llm is missing"
	for want, r := range map[string]incident.Routing{
		"Alertmanager left 7 more alerts out of this group (max_alerts).": {LeftOut: 7},
		"Alertmanager left 1 more alert out of this group (max_alerts). 1 more routing detail omitted.": {
			LeftOut: 1, Unsaid: 1,
		},
		"The alert names pod llm/llama-0, which belongs to ReplicaSet llama-7d4, then Deployment llama.": {
			Routes: []incident.Route{{Kind: incident.RouteOwners, Trail: labels, Owners: owners}},
		},
		"Prometheus scrapes 10.0.0.7:8000 from pod llm/llama-0, which belongs to Deployment llama. However, " + why + ".": {
			Routes: []incident.Route{{Kind: incident.RouteOwners, Trail: scrape, Owners: owners[1:], Why: why}},
		},
		"The address 10.0.0.7:8000 is that of pod llm/llama-0, which has no owner.": {
			Routes: []incident.Route{{Kind: incident.RouteOwners, Trail: address, Owners: lone}},
		},
		"The alert leads to Deployment llm/llama, which no pool names.": {
			Routes: []incident.Route{{Kind: incident.RouteNoPool, Owners: owners[1:]}},
		},
		"The alert leads to Deployment llm/llama, which no pool names. However, " + why + ".": {
			Routes: []incident.Route{{Kind: incident.RouteNoPool, Owners: owners[1:], Why: why}},
		},
		"The pool of HighTTFT could not be found: " + why + ".": {
			Routes: []incident.Route{{Kind: incident.RouteUnknown, Alert: "HighTTFT", Why: why + "."}},
		},
		"Could not check whether HighTTFT belongs to another pool: " + why + ".": {
			Routes: []incident.Route{{Kind: incident.RouteUnsure, Alert: "HighTTFT", Why: why}},
		},
		"KServeTTFT names no model and no pod. This is the only pool of its namespace.": {
			Routes: []incident.Route{{Kind: incident.RouteNamespace, Alert: "KServeTTFT"}},
		},
		"what only a newer version knows": {
			Routes: []incident.Route{{Kind: "mirrored", Why: "what only a newer version knows"}},
		},
		"Alertmanager left 2 more alerts out of this group (max_alerts). The pool of HighTTFT could not be found: " + why +
			". 3 more routing details omitted.": {
			LeftOut: 2, Routes: []incident.Route{{Kind: incident.RouteUnknown, Alert: "HighTTFT", Why: why}}, Unsaid: 3,
		},
	} {
		got := Said(incident.Note{Kind: incident.NoteRouting, Routing: &r})
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		voice.Check(t, want, voice.Message(got))
	}
}

func TestEveryRouteHasWords(t *testing.T) {
	t.Parallel()
	kinds := declared[incident.RouteKind](t, "routing.go")
	trails := declared[incident.TrailKind](t, "routing.go")
	if len(kinds) < 4 || len(trails) < 3 {
		t.Fatalf("only %d kinds and %d trails were found", len(kinds), len(trails))
	}
	said := map[string]bool{}
	for _, k := range kinds {
		r := incident.Route{Kind: k, Alert: "HighTTFT", Trail: incident.Trail{Kind: incident.TrailLabels}}
		text, known := route(r)
		if said[text] = true; !known {
			t.Errorf("the route %s isn't known", k)
		}
	}
	for _, k := range trails {
		text, known := trail(incident.Trail{Kind: k, Instance: "10.0.0.7:8000", Pod: "llm/llama-0"})
		if said[text] = true; !known {
			t.Errorf("the trail %s isn't known", k)
		}
	}
	if len(said) != len(kinds)+len(trails) || said[""] {
		t.Errorf("two say the same, or one says nothing: %v", said)
	}
}

// Names and errors come from elsewhere: none may put a person into a sentence.
func TestARoutingNamesNoPerson(t *testing.T) {
	t.Parallel()
	n := incident.Note{Kind: incident.NoteRouting, By: incident.Actor{Kind: "slack", ID: "U1"}, Routing: &incident.Routing{
		Routes: []incident.Route{{Kind: incident.RouteUnknown, Alert: "High" + markBy, Why: markOther + "gone"}},
	}}
	if got := Said(n); got != "The pool of High could not be found: gone." {
		t.Errorf("got %q", got)
	}
}
