package sandbox

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// graph is the page to which links of metrics lead, in place of Prometheus' own: a query and its values now.
var graph = template.Must(template.New("graph").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Prometheus of the sandbox</title>
<link rel="icon" href="data:,">
<style>body{font:15px/1.5 system-ui,sans-serif;margin:24px;overflow-wrap:anywhere}pre{white-space:pre-wrap}
td,th{text-align:left;padding:4px 18px 4px 0}</style>
</head>
<body>
<h1>Prometheus of the sandbox</h1>
<p>A real Prometheus draws a graph here. This one shows the values of now; reload the page for newer ones.</p>
<pre><code>{{.Query}}</code></pre>
{{if .Error}}<p><strong>Prometheus refuses this query:</strong> {{.Error}}</p>
{{else if .Rows}}<table>
<tr><th scope="col">Series</th><th scope="col">Value</th></tr>
{{range .Rows}}<tr><td>{{.Series}}</td><td>{{.Value}}</td></tr>
{{end}}</table>
{{else}}<p>No data: no series matches now. For the expression of an alert rule that means that it doesn't hold.</p>
{{end}}</body>
</html>
`))

// shownGraph is what the page shows.
type shownGraph struct {
	Query, Error string
	Rows         []shownSeries
}

type shownSeries struct{ Series, Value string }

// serveGraph answers with the page of a query.
func (m *monitor) serveGraph(w http.ResponseWriter, r *http.Request) {
	shown := shownGraph{Query: r.URL.Query().Get("g0.expr")}
	status := http.StatusOK
	var err error
	if shown.Rows, err = m.values(r, shown.Query); err != nil {
		shown.Error, status = err.Error(), http.StatusBadRequest
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = graph.Execute(w, shown) // the browser may be gone
}

// values are those of a query now.
func (m *monitor) values(r *http.Request, query string) (rows []shownSeries, err error) {
	asked, err := http.NewRequestWithContext(r.Context(), http.MethodGet,
		"http://"+m.own+"/api/v1/query?"+url.Values{"query": {query}}.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := m.prom.RoundTrip(asked)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it is in memory
	var got struct {
		Error string
		Data  struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxPage)).Decode(&got); err != nil {
		return nil, err
	}
	if got.Error != "" {
		return nil, fmt.Errorf("%s", got.Error)
	}
	if got.Data.ResultType != "vector" {
		return []shownSeries{{Series: got.Data.ResultType, Value: string(got.Data.Result)}}, nil
	}
	var vector []struct {
		Metric map[string]string
		Value  [2]any
	}
	if err := json.Unmarshal(got.Data.Result, &vector); err != nil {
		return nil, err
	}
	for _, s := range vector {
		rows = append(rows, shownSeries{Series: seriesName(s.Metric), Value: fmt.Sprint(s.Value[1])})
	}
	return rows, nil
}

// seriesName writes the labels of a series as PromQL does.
func seriesName(labels map[string]string) string {
	var pairs []string
	for name, v := range labels {
		if name != "__name__" {
			pairs = append(pairs, fmt.Sprintf("%s=%q", name, v))
		}
	}
	slices.Sort(pairs)
	return labels["__name__"] + "{" + strings.Join(pairs, ", ") + "}"
}
