package scenarios

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// request asks the bot, with headers, and returns the status and the body. What is not of the API is on the listener
// for probes.
func request(ts *testscript.TestScript, method, path string, body []byte, headers map[string]string) (int, []byte,
	error,
) {
	base := ts.Getenv("API")
	if slices.Contains([]string{"/healthz", "/readyz", "/metrics"}, path) {
		base = ts.Getenv("OPS")
	}
	req, err := http.NewRequestWithContext(of(ts).t.Context(), method, base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	for k, v := range headers {
		if v != "" {
			req.Header.Set(k, v)
		}
	}
	resp, err := cmp.Or(of(ts).https, http.DefaultClient).Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it has been read
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, raw, err
}

// post sends a file as Alertmanager does and checks the status: post STATUS FILE [Header=VALUE]... [method=GET]. "-" as
// the file sends 11 MiB, and alerts:COUNT:BYTES so many alerts of llama-70b, each with a text of that length.
func post(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: post STATUS FILE [Header=VALUE]...")
	}
	headers := map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + ts.Getenv("AM_TOKEN")}
	method := http.MethodPost
	for _, a := range args[2:] {
		k, v, _ := strings.Cut(a, "=")
		if k == "method" {
			method = v
			continue
		}
		headers[k] = v
	}
	body := bytes.Repeat([]byte(" "), 11<<20)
	if count, size, many := strings.Cut(strings.TrimPrefix(args[1], "alerts:"), ":"); many {
		body = flood(ts, count, size)
	} else if args[1] != "-" {
		body = []byte(ts.ReadFile(args[1]))
	}
	code, raw, err := request(ts, method, "/api/v1/alertmanager", body, headers)
	ts.Check(err)
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("the webhook answers %d, want %s: %s", code, args[0], raw)
	}
	show(ts, string(raw))
}

// flood is a notification with many alerts, in the order in which Alertmanager writes one.
func flood(ts *testscript.TestScript, count, size string) []byte {
	many, err := strconv.Atoi(count)
	ts.Check(err)
	text, err := strconv.Atoi(size)
	ts.Check(err)
	var b bytes.Buffer
	b.WriteString(`{"receiver":"medic","status":"firing","alerts":[`)
	for n := range many {
		if n > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"status":"firing","labels":{"alertname":"Flood","model_name":"llama-70b","pod":"pod-%d"},`+
			`"annotations":{"summary":"%s"},"startsAt":"2026-11-21T02:55:00Z","fingerprint":"%016x"}`,
			n, strings.Repeat("x", text), n)
	}
	b.WriteString(`],"externalURL":"http://am:9093","version":"4","groupKey":"g","truncatedAlerts":0}`)
	return b.Bytes()
}

// readAPI reads the API with the viewer token. JSON comes indented.
func readAPI(ts *testscript.TestScript, path string) (int, string) {
	code, raw, err := request(ts, http.MethodGet, path, nil,
		map[string]string{"Authorization": "Bearer " + ts.Getenv("VIEWER_TOKEN")})
	ts.Check(err)
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return code, string(raw)
	}
	return code, b.String()
}

// get shows what the API answers: get PATH [STATUS].
func get(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: get PATH [STATUS]")
	}
	want := "200"
	if len(args) == 2 {
		want = args[1]
	}
	code, text := readAPI(ts, args[0])
	if strconv.Itoa(code) != want {
		ts.Fatalf("%s answers %d, want %s: %s", args[0], code, want, text)
	}
	pageTellsTheTruth(ts, args[0])
	show(ts, text)
}

// until waits until the API or the log shows a pattern: until PATTERN get PATH, or until PATTERN log.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN get PATH | until PATTERN log | until PATTERN hooks")
	}
	re, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	var text string
	defer func() { show(ts, text) }()
	poll(ts, args[0]+" in "+strings.Join(args[1:], " "), func() bool {
		switch {
		case args[1] == "log":
			text = of(ts).log()
		case args[1] == "hooks":
			text = of(ts).hooks.all()
		case args[1] == "get" && len(args) == 3:
			_, text = readAPI(ts, args[2])
		default:
			ts.Fatalf("until cannot read %q", args[1:])
		}
		return re.MatchString(text)
	})
	if args[1] == "get" {
		pageTellsTheTruth(ts, args[2])
	}
}

// showLog prints the log of all the bot's lives.
func showLog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: log")
	}
	show(ts, of(ts).log())
}

// capture sets an environment variable to the first group of a pattern in the last output: capture NAME PATTERN.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME PATTERN")
	}
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	m := re.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) != 2 {
		ts.Fatalf("the output has no %s:\n%s", args[1], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], m[1])
}

// show makes a text the output of a command, as stdout and cmp see it.
func show(ts *testscript.TestScript, text string) {
	_, err := io.WriteString(ts.Stdout(), text)
	ts.Check(err)
	if strings.Contains(text, secret) {
		ts.Fatalf("a secret shows:\n%s", text)
	}
}
