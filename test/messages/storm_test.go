package messages

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// storm is the digest of a gateway that broke for many pools: most of them have the same cause.
func storm(t *testing.T, all []shown) incident.Digest {
	t.Helper()
	return gathered(t, all, []string{
		"kv-thrash investigating", "kv-thrash deciding", "kv-thrash denied", "kv-thrash deciding",
		"kv-thrash closed replicas", "kv-thrash rolling out replicas", "kv-thrash received", "healthy-full-batch told",
	}, "inc-shown")
}

// stormOver is what is left of one: some of its incidents have messages of their own.
func stormOver(t *testing.T, all []shown) incident.Digest {
	t.Helper()
	return gathered(t, all, []string{
		"kv-thrash closed replicas", "kv-thrash closed replicas", "kv-thrash closed without a change",
	}, "inc-1", "inc-2", "inc-3")
}

func gathered(t *testing.T, all []shown, names []string, apart ...string) incident.Digest {
	t.Helper()
	d := incident.Digest{
		ID: "digest-k4w2mz7qpa", Version: 20, Shown: apart, Came: 14, Within: 10 * time.Minute,
	}
	for n, name := range names {
		at := slices.IndexFunc(all, func(s shown) bool { return s.name() == name })
		if at < 0 {
			t.Fatalf("there is no message %q", name)
		}
		inc := all[at].inc
		inc.ID, inc.Pool = fmt.Sprintf("inc-pool%04d", n), fmt.Sprintf("team-%c-%s", 'a'+n, inc.Pool)
		inc.WorstSeverity, inc.Alerts = "warning", slices.Clone(inc.Alerts)
		for i := range inc.Alerts {
			inc.Alerts[i].Labels = maps.Clone(inc.Alerts[i].Labels)
			inc.Alerts[i].Labels["severity"] = "warning"
		}
		d.Folded = append(d.Folded, inc)
		if begun := inc.OpenedAt.Add(-time.Minute); d.Since.IsZero() || begun.Before(d.Since) {
			d.Since = begun
		}
	}
	return d
}
