package sandbox

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/browser"
	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/program"
	"github.com/vllm-medic/vllm-medic/test/size"
)

var update = flag.Bool("update", false, "write the pictures into docs/sandbox")

// maxMemory is what the sandbox may need, all of it, in KiB.
const maxMemory = 300 << 10

// running is a sandbox in a process of its own.
type running struct {
	t     *testing.T
	cmd   *exec.Cmd
	temp  string
	ended chan error
	// keys is its keyboard; news has a value after each line that it says.
	keys io.Writer
	news chan struct{}

	mu  sync.Mutex
	out strings.Builder
	// address has the address of the page; at keeps it.
	address chan string
	at      string
	reader  *reader
	// raced says that it has the race detector, with which it needs some times the memory.
	raced bool
}

// medic is the package of the program.
const medic = "../../cmd/vllm-medic"

// start runs the sandbox with pipes, as in a script: a large test.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	size.Needs(t, size.Large)
	return prepared(t, program.Build(t, medic), args...).piped()
}

// startRaced is start with the race detector, for a medium test.
func startRaced(t *testing.T) *running {
	t.Helper()
	r := prepared(t, program.Build(t, medic, program.Racing()...))
	r.raced = true
	return r.piped()
}

// piped runs what was prepared with pipes.
func (r *running) piped() *running {
	r.t.Helper()
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if r.keys, err = r.cmd.StdinPipe(); err != nil {
		r.t.Fatal(err)
	}
	r.cmd.Stderr = r.cmd.Stdout
	r.run(out)
	return r
}

// prepared is a sandbox that does not run yet.
func prepared(t *testing.T, bin string, args ...string) *running {
	t.Helper()
	r := &running{
		t: t, temp: t.TempDir(), ended: make(chan error, 1), address: make(chan string, 1), news: make(chan struct{}, 1),
	}
	r.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), bin, append([]string{"sandbox"}, args...)...)
	// What it needs is measured: its garbage is collected as often as at a user's, whatever GOGC these tests run with.
	r.cmd.Env = append(os.Environ(), "TMPDIR="+r.temp, "GOGC=100")
	return r
}

// run starts it and reads what it says.
func (r *running) run(out io.Reader) {
	r.t.Helper()
	read := make(chan struct{})
	if err := process.Spawn(r.cmd, func(err error) { <-read; r.ended <- err }); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			r.hears(lines.Text())
		}
	}()
	r.t.Cleanup(func() {
		_ = r.cmd.Process.Kill() // it has ended, unless the test has failed
		if r.t.Failed() {
			r.t.Logf("the sandbox said:\n%s", r.said())
		}
	})
}

var opened = regexp.MustCompile(`Open (http://127\.0\.0\.1:\d+/)`)

func (r *running) hears(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.WriteString(line + "\n")
	if m := opened.FindStringSubmatch(line); m != nil {
		r.address <- m[1]
	}
	select {
	case r.news <- struct{}{}:
	default:
	}
}

func (r *running) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// page is the address of the page, once there is one.
func (r *running) page() string {
	r.t.Helper()
	if r.at != "" {
		return r.at
	}
	select {
	case r.at = <-r.address:
		r.reads()
		return r.at
	case err := <-r.ended:
		r.t.Fatalf("the sandbox ended: %v", err)
	case <-time.After(process.Patience):
		r.t.Fatal("the sandbox says no address")
	}
	return ""
}

// memory is the most memory that it has had so far, in KiB.
func (r *running) memory() int {
	r.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		return 0 // not Linux
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindStringSubmatch(string(text))
	if err != nil || m == nil {
		r.t.Fatalf("memory: %v", err)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// interrupted ends the sandbox as Ctrl-C does: it exits with 0 and leaves nothing. Until then it needed no more memory
// than it may, and what it told was true.
func (r *running) interrupted() {
	r.t.Helper()
	got := r.memory()
	r.t.Logf("the sandbox has needed %d KiB", got)
	if got > maxMemory && !r.raced {
		r.t.Errorf("the sandbox has needed %d KiB, more than %d", got, maxMemory)
	}
	r.tellsTheTruth()
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		r.t.Fatal(err)
	}
	r.ends()
}

// ends waits until it has ended well, has said what it removed, and looks for what is left.
func (r *running) ends() {
	r.t.Helper()
	select {
	case err := <-r.ended:
		if err != nil {
			r.t.Errorf("after Ctrl-C: %v", err)
		}
	case <-time.After(process.Patience):
		r.t.Fatal("Ctrl-C does not end it")
	}
	want := regexp.MustCompile(`\] Ending\. (?s:.*)\] Ended\. Everything has stopped, and the temporary folder ` +
		regexp.QuoteMeta(r.temp) + `/vllm-medic-sandbox-\d+ is removed\.\s*$`)
	if !want.MatchString(r.said()) {
		r.t.Error("it does not end with what it removed")
	}
	left, err := os.ReadDir(r.temp)
	if err != nil || len(left) > 0 {
		r.t.Errorf("left behind: %v %v", left, err)
	}
}

// viewer is a person at the page.
type viewer struct {
	*testing.T

	page *browser.Page
}

// sees waits until the page fulfills a condition.
func (v viewer) sees(what, script string) {
	v.Helper()
	ctx, cancel := context.WithTimeout(v.Context(), process.Patience)
	defer cancel()
	if err := v.page.Until(ctx, script); err != nil {
		v.Fatalf("the page does not show %s: %v", what, err)
	}
}

// clicks presses what a selector finds.
func (v viewer) clicks(selector string) {
	v.Helper()
	v.sees(selector, fmt.Sprintf("document.querySelector(%q)", selector))
	if err := v.page.Eval(fmt.Sprintf("document.querySelector(%q).click()", selector), nil); err != nil {
		v.Fatal(err)
	}
}

// follows opens each link of the message and of the incident's page. None leads away from this machine or to nothing.
func (v viewer) follows() {
	v.Helper()
	var links []string
	if err := v.page.Eval(`[...document.querySelectorAll("#feed a[href]")].map((a) => a.href)`, &links); err != nil {
		v.Fatal(err)
	}
	if len(links) < 3 {
		v.Errorf("the message has the links %q, and none to the incident or to the runbook", links)
	}
	for i := 0; i < len(links); i++ {
		if !strings.HasPrefix(links[i], "http://127.0.0.1:") {
			v.Errorf("%s leads away from this machine", links[i])
			continue
		}
		page := v.gets(links[i])
		if !strings.Contains(links[i], "/incidents/") {
			continue
		}
		for _, m := range regexp.MustCompile(`href="(http[^"]+)"`).FindAllStringSubmatch(page, -1) {
			if to := html.UnescapeString(m[1]); !slices.Contains(links, to) {
				links = append(links, to)
			}
		}
	}
}

// gets reads a page, which is there.
func (v viewer) gets(address string) string {
	v.Helper()
	resp, err := http.Get(address) //nolint:noctx // it is on this machine, and the test has a limit
	if err != nil {
		v.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		v.Errorf("%s: %s %v", address, resp.Status, err)
	}
	return string(body)
}

// pictures are taken at the widths of a phone and of a small window, when they are asked for.
func (v viewer) pictures(name string) {
	v.Helper()
	for _, width := range []int{390, 900} {
		v.page.Resize(width, 1100)
		v.sees("nothing wider than the window",
			"document.documentElement.scrollWidth <= document.documentElement.clientWidth + 1")
		if !*update {
			continue
		}
		file := filepath.Join("../../docs/sandbox", fmt.Sprintf("%s-%d.png", name, width))
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			v.Fatal(err)
		}
		if err := os.WriteFile(file, v.page.Picture(), 0o600); err != nil {
			v.Fatal(err)
		}
	}
}

const (
	title  = `document.getElementById("title")?.textContent`
	thread = `document.getElementById("feed")?.textContent`
	// limit says how many requests the gateway lets be in flight.
	limit = `document.querySelector(".gauge .cap.note")?.textContent`
	// card says whether the card of TTFT is red.
	card = `document.querySelector(".gauge .now")?.classList.contains("bad")`
	// pressed says that the first lever is on.
	pressed = `document.querySelector('[data-lever="traffic"]')?.getAttribute("aria-pressed") === "true"`
)

func TestTheFirstMinuteIsPlayedByClicking(t *testing.T) {
	t.Parallel()
	r := startRaced(t)
	v := viewer{T: t, page: browser.Open(t, r.page(), 900, 1100)}
	v.sees("the fleet", `document.querySelectorAll(".gauge svg").length === 4`)
	v.sees("what breaks", pressed)
	v.sees("the question", title+` === "Your turn." && document.querySelector('#feed button[data-element^="approve"]')`)
	v.pictures("asked")
	v.canBeRead()
	v.follows()
	v.clicks(`#feed button[data-element^="approve"]`)
	v.sees("the lower limit", `/^limit 1[12]\d$/.test(`+limit+`)`)
	v.sees("that it healed, while the burst goes on", title+` === "Healed." && `+pressed)
	v.sees("that the card and the message agree", thread+`.includes("Fixed") && `+card+` === false`)
	v.pictures("healed")
	v.sees("that the burst has passed", title+` === "Healed." && !(`+pressed+`)`)
	v.sees("that the throttle was reverted", limit+` === "limit 184"`)
	v.sees("that it closed", title+` === "Round 1 is over." && `+thread+`.includes("Closed")`)
	r.interrupted()
	for _, want := range []string{
		"Applied: Throttle HTTPRoute llama-70b from 184 to 1", "Healed ",
		"Bot: Healthy for 20 s: reverting", "Bot: Closed: healthy",
	} {
		if !strings.Contains(r.said(), want) {
			t.Errorf("it does not say %q", want)
		}
	}
}

// Somebody who is not on the list of approvers changes nothing, on this page as in Slack.
func TestAGuestCannotApprove(t *testing.T) {
	t.Parallel()
	r := start(t)
	v := viewer{T: t, page: browser.Open(t, r.page(), 900, 1100)}
	v.sees("the question", title+` === "Your turn." && document.querySelector('#feed button[data-element^="approve"]')`)
	if err := v.page.Eval(`(() => {
		const user = document.getElementById("user");
		user.value = "U0GUEST";
		user.dispatchEvent(new Event("change"));
	})()`, nil); err != nil {
		t.Fatal(err)
	}
	v.clicks(`#feed button[data-element^="approve"]`)
	v.sees("a refusal that only the guest sees", `document.querySelector("#feed .private")`)
	if got := r.said(); strings.Contains(got, "Applied:") || strings.Contains(got, "approved:") {
		t.Error("a guest has approved")
	}
	r.interrupted()
}

// What is lost is said, and comes back.
func TestConnectionsAreLostAndComeBack(t *testing.T) {
	t.Parallel()
	lost := connections(t)
	if len(lost) < 2 {
		t.Fatalf("docs/sandbox.md describes the levers %q of connections", lost)
	}
	r := start(t)
	v := viewer{T: t, page: browser.Open(t, r.page(), 900, 1100)}
	press := func(title string) lever {
		t.Helper()
		l := r.leverTitled(title)
		v.clicks(fmt.Sprintf(`[data-lever=%q]`, l.Name))
		return l
	}
	for _, title := range lost {
		down, _, _ := strings.Cut(press(title).Does, ":")
		v.sees(down, fmt.Sprintf(`document.getElementById("lever-says")?.textContent.includes(%q)`, down))
	}
	v.sees("what arrives all the same", pressed)
	for _, title := range lost {
		press(title)
	}
	v.sees("the question", title+` === "Your turn."`)
	r.interrupted()
}
