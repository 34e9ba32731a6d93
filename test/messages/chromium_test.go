package messages

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	_ "embed"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// measure.js runs in the document around the pages.
//
//go:embed measure.js
var measureJS string

// layout is where things are in one message, in CSS pixels from its top, and what can be read of it at once.
type layout struct {
	TS     string
	Top    float64 // from the top of the page
	Height float64
	// Words are those that show, without the labels within a chart. What is folded does not.
	Words int
	// Above are the words before the first button.
	Above  int
	Blocks []laidOut
	// Buttons are where each one ends.
	Buttons []float64
	// Wide names what does not fit into the width.
	Wide []string
}

// laidOut is one block.
type laidOut struct {
	Kind   string
	Text   string
	Bottom float64
}

var (
	script     = regexp.MustCompile(`<script [^>]*></script>`)
	stylesheet = regexp.MustCompile(`<link rel="stylesheet"[^>]*>`)
)

// served is the page of a workspace as a document of its own, that loads and runs nothing else.
func served(t *testing.T, s *fakeslack.Server, viewer string) string {
	t.Helper()
	page, css := fetch(t, s.URL()+"/?user="+viewer), fetch(t, s.URL()+"/_page/page.css")
	if len(script.FindAllString(page, -1)) != 1 || len(stylesheet.FindAllString(page, -1)) != 1 {
		t.Fatal("the page has another script or style sheet than the one that is taken out")
	}
	page = script.ReplaceAllLiteralString(page, "")
	// Always the same: the fonts are those that scripts/prepare.sh installs, and the time of day is not shown. A phone has
	// no scroll bar. A form is below the message and not over it, so that it is seen whole.
	same := `body { font-family: "DejaVu Sans", "Noto Color Emoji"; } .author time { display: none; } ` +
		`html { scrollbar-gutter: auto; } .veil { position: static; } .modal { max-height: none; }`
	return stylesheet.ReplaceAllLiteralString(page, "<style>"+css+same+"</style>")
}

func fetch(t *testing.T, address string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read to its end, or the test has failed
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", address, resp.StatusCode, err)
	}
	return string(body)
}

// framed is a page in a frame: the messages on it, and where the part of it is that was asked for.
type framed struct {
	Messages []layout
	Area     struct {
		Top, Left, Width, Height float64
		// Wide is how wide all of the page is; more than the frame has to be scrolled.
		Wide float64
	}
}

// frame is a page and a part of it.
type frame struct {
	page string
	part part
}

// lay has Chromium lay the page of a workspace out in this width, and measures every message on it.
func lay(t *testing.T, s *fakeslack.Server, width int) map[string]layout {
	t.Helper()
	out := map[string]layout{}
	for _, l := range measure(t, []frame{{served(t, s, ""), theMessage}}, width)[0].Messages {
		out[l.TS] = l
	}
	return out
}

// measure has Chromium lay some pages out in this width.
func measure(t *testing.T, frames []frame, width int) []framed {
	t.Helper()
	site := framing(frames, func(int) int { return 844 }, width, `<pre id="result"></pre><script>`+measureJS+`</script>`)
	defer site.Close()
	dom := chromium(t, "--dump-dom", "--virtual-time-budget=20000", site.URL+"/")
	_, result, found := strings.Cut(dom, `<pre id="result">`)
	result, _, ended := strings.Cut(result, "</pre>")
	var out []framed
	if err := json.Unmarshal([]byte(html.UnescapeString(result)), &out); err != nil || !found || !ended {
		t.Fatalf("the browser measured %.200q: %v", result, err)
	}
	if len(out) != len(frames) {
		t.Fatalf("%d of %d pages were measured", len(out), len(frames))
	}
	return out
}

// framing serves pages below each other, each in a frame: a window has a least width, and it is not that of a phone.
func framing(frames []frame, height func(n int) int, width int, more string) *httptest.Server {
	var outer strings.Builder
	outer.WriteString(`<!DOCTYPE html><meta charset="utf-8">` +
		`<style>body { margin: 0 } iframe { border: 0; display: block }</style>`)
	for n, f := range frames {
		fmt.Fprintf(&outer, `<iframe src="/%d" width="%d" height="%d" scrolling="no" data-part="%s"></iframe>`,
			n, width, height(n), f.part)
	}
	outer.WriteString(more)
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		body := outer.String()
		if n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/")); err == nil && n < len(frames) {
			body = frames[n].page
		}
		_, _ = io.WriteString(w, body) // the browser says when it misses something
	}))
}

// chromium runs the browser once and returns what it prints.
func chromium(t *testing.T, args ...string) string {
	t.Helper()
	size.Needs(t, size.Medium)
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	out, err := browse(ctx, t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// browse runs the browser until it ends or ctx does. Its profile is in the folder home.
func browse(ctx context.Context, home string, args ...string) (string, error) {
	all := []string{
		"--headless", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1", "--font-render-hinting=none",
		"--no-first-run", "--disable-background-networking", "--user-data-dir=" + home,
	}
	if os.Geteuid() == 0 { // its sandbox is not for root
		all = append(all, "--no-sandbox")
	}
	cmd := exec.CommandContext(ctx, "chromium", append(all, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+home)
	process.Tie(cmd)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("chromium: %w: %s", err, log.String())
	}
	return out.String(), nil
}
