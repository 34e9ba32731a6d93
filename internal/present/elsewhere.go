package present

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// PoolsDashboard is the uid of the dashboard of the pools. deploy/grafana/generate writes it into the dashboard, so
// that links to it stay valid.
const PoolsDashboard = "vllm-medic-pools"

// aroundIncident is how long before the first alert, and after the end, graphs elsewhere show.
const aroundIncident = 15 * time.Minute

// around is the time of a closed incident with what was before and after it; the end means nothing for an open one.
func around(inc incident.Incident) (begin, end time.Time) {
	return inc.OpenedAt.Add(-aroundIncident), inc.ClosedAt.Add(aroundIncident)
}

// mostSilence bounds the address of a silence, in bytes: it is one line of a message.
const mostSilence = 1200

// Elsewhere is where people look at an incident or act on it outside the bot. An empty address makes no link. Neither
// address holds credentials.
type Elsewhere struct {
	// Grafana and Alertmanager are the addresses at which people open them.
	Grafana, Alertmanager string
	// Pools are the configured pools.
	Pools []incident.Pool
}

// GrafanaURL is the dashboard of the incident's pool, from some minutes before the first alert until now, or until some
// minutes after the end. It is empty without an address, for an incident without a known pool, and for a drill, whose
// data Grafana does not have.
func (e Elsewhere) GrafanaURL(inc incident.Incident) string {
	pool, ok := e.pool(inc)
	if e.Grafana == "" || !ok {
		return ""
	}
	begin, end := around(inc)
	q := url.Values{
		"from": {milliseconds(begin)}, "to": {"now"},
		"var-pool": {pool.Name}, // whose incidents are marked
	}
	if !inc.Open() && !inc.ClosedAt.IsZero() {
		q.Set("to", milliseconds(end))
	}
	// Matchers alone are known to be labels of the pool's series. A value that no series has would empty every panel.
	for variable, label := range map[string]string{"var-namespace": "namespace", "var-model": "model_name"} {
		if value := pool.Matchers[label]; value != "" {
			q.Set(variable, value)
		}
	}
	return strings.TrimRight(e.Grafana, "/") + "/d/" + PoolsDashboard + "?" + noPlus(q.Encode())
}

// noPlus writes the spaces of an escaped query in the form that everybody reads: to Alertmanager's page, and to some
// proxies, a plus is one.
func noPlus(query string) string { return strings.ReplaceAll(query, "+", "%20") }

func milliseconds(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// SilenceURL is Alertmanager's form for a new silence, filled in with what the incident's firing alerts have in common.
// It is empty without an address, while nothing fires, for a drill, and wherever the silence could cover alerts that
// don't lead to the incident's pool.
func (e Elsewhere) SilenceURL(inc incident.Incident) string {
	if _, ok := e.pool(inc); e.Alertmanager == "" || !ok || !inc.Open() {
		return ""
	}
	firing := inc.Firing()
	common, ok := commonLabels(firing)
	// An alert that its owners led here may lack the labels that do; then its one pod of the pool does as well.
	onePod := common["namespace"] != "" && common["pod"] != ""
	if !ok || !onePod && !incident.LeadsOnlyTo(e.Pools, inc.Pool, common) {
		return ""
	}
	filter, ok := silenceFilter(firing, common)
	address := strings.TrimRight(e.Alertmanager, "/") + "/#/silences/new?filter=" +
		noPlus(url.QueryEscape(filter))
	if !ok || len(address) > mostSilence {
		return "" // to leave a label out would silence more
	}
	return address
}

// pool is the incident's own; ok is false where it is not configured or nothing is meant.
func (e Elsewhere) pool(inc incident.Incident) (incident.Pool, bool) {
	n := slices.IndexFunc(e.Pools, func(p incident.Pool) bool { return p.Name == inc.Pool })
	if n < 0 || inc.Pool == "" || inc.Drill != nil {
		return incident.Pool{}, false
	}
	return e.Pools[n], true
}

// commonLabels are the labels that all alerts have with the same value, without their names; ok is false where an alert
// has no name.
func commonLabels(alerts []incident.Alert) (common map[string]string, ok bool) {
	for n, a := range alerts {
		if a.Name() == "" {
			return nil, false
		}
		if n == 0 {
			common = maps.Clone(a.Labels)
		}
		maps.DeleteFunc(common, func(name, value string) bool { return a.Labels[name] != value })
	}
	delete(common, "alertname")
	return common, len(alerts) > 0
}

// plainLabel is a label name that the form of every Alertmanager takes as it is.
var plainLabel = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// silenceFilter is what the form takes: {alertname="A", pod="x"}, each value a JSON string. ok is false where a label
// can't be written like that.
func silenceFilter(alerts []incident.Alert, common map[string]string) (filter string, ok bool) {
	var names []string
	for _, a := range alerts {
		if !slices.Contains(names, a.Name()) {
			names = append(names, a.Name())
		}
	}
	slices.Sort(names)
	op, name := "=", names[0]
	if len(names) > 1 {
		op = "=~" // it matches the whole value
		for n := range names {
			names[n] = regexp.QuoteMeta(names[n])
		}
		name = strings.Join(names, "|")
	}
	parts := []string{"alertname" + op + quotedJSON(name)}
	for _, label := range slices.Sorted(maps.Keys(common)) {
		if !plainLabel.MatchString(label) || !utf8.ValidString(common[label]) {
			return "", false
		}
		parts = append(parts, label+"="+quotedJSON(common[label]))
	}
	return "{" + strings.Join(parts, ", ") + "}", utf8.ValidString(name)
}

// quotedJSON is a JSON string without the escapes that only HTML needs.
func quotedJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string always has a form in JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}
