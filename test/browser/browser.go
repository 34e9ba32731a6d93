// Package browser drives a headless Chromium for tests that click and look: it opens a page at a size, evaluates
// JavaScript in it, and takes pictures. It speaks the DevTools protocol to a browser that ends with the test.
package browser

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// Page is an open page. It is for one goroutine.
type Page struct {
	t       testing.TB
	conn    *websocket.Conn
	session string
	last    int
}

// Open starts a browser and shows the address in a window of this size, until the test, a medium one,
// ends.
func Open(t testing.TB, address string, width, height int) *Page {
	t.Helper()
	size.Needs(t, size.Medium)
	// Its helpers write for a moment after its end, which t.TempDir would not forgive.
	home, err := os.MkdirTemp("", "chromium-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"--headless", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1", "--font-render-hinting=none",
		"--no-first-run", "--disable-background-networking", "--user-data-dir=" + home, "--remote-debugging-port=0",
	}
	if os.Geteuid() == 0 { // its sandbox is not for root
		args = append(args, "--no-sandbox")
	}
	//nolint:gosec // the arguments are the ones above
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "chromium", append(args, "about:blank")...)
	cmd.Env = append(os.Environ(), "HOME="+home)
	var ended sync.WaitGroup
	ended.Add(1)
	if err := process.Spawn(cmd, func(error) { ended.Done() }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has nothing to save
		ended.Wait()
		_ = os.RemoveAll(home)
	})
	p := &Page{t: t, conn: dial(t, filepath.Join(home, "DevToolsActivePort"))}
	t.Cleanup(func() { _ = p.conn.Close() })
	var target struct{ TargetID string }
	p.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	p.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p.session = attached.SessionID
	p.Resize(width, height)
	p.call("Page.navigate", map[string]any{"url": address}, nil)
	return p
}

// dial connects to the browser, which writes its port and path into a file.
func dial(t testing.TB, file string) *websocket.Conn {
	t.Helper()
	var conn *websocket.Conn
	err := process.Until(t.Context(), func(ctx context.Context) error {
		text, err := os.ReadFile(file) //nolint:gosec // in the folder above
		if err != nil {
			return err
		}
		port, path, ok := strings.Cut(strings.TrimSpace(string(text)), "\n")
		if !ok {
			return errors.New("the browser has not said where it listens")
		}
		c, resp, err := websocket.DefaultDialer.DialContext(ctx, "ws://127.0.0.1:"+port+path, nil)
		if err != nil {
			return err
		}
		conn = c
		return resp.Body.Close()
	})
	if err != nil {
		t.Fatalf("connect to the browser: %v", err)
	}
	return conn
}

// call sends a command and waits for its answer. Events in between are passed over.
func (p *Page) call(method string, params, into any) {
	p.t.Helper()
	p.last++
	command := map[string]any{"id": p.last, "method": method, "params": params}
	if p.session != "" {
		command["sessionId"] = p.session
	}
	if err := p.conn.WriteJSON(command); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	for {
		var answer struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *struct{ Message string }
		}
		if err := p.conn.ReadJSON(&answer); err != nil {
			p.t.Fatalf("%s: %v", method, err)
		}
		if answer.ID != p.last {
			continue
		}
		if answer.Error != nil {
			p.t.Fatalf("%s: %s", method, answer.Error.Message)
		}
		if into == nil {
			return
		}
		if err := json.Unmarshal(answer.Result, into); err != nil {
			p.t.Fatalf("%s: %v", method, err)
		}
		return
	}
}

// Resize changes the size of the window.
func (p *Page) Resize(width, height int) {
	p.t.Helper()
	p.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Dark has the page look as for somebody who prefers dark colors, or light ones.
func (p *Page) Dark(on bool) {
	p.t.Helper()
	scheme := "light"
	if on {
		scheme = "dark"
	}
	p.call("Emulation.setEmulatedMedia",
		map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Eval evaluates JavaScript and decodes its value, if into is not nil. An exception in it is an error.
func (p *Page) Eval(script string, into any) error {
	p.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.call("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true}, &answer)
	if e := answer.ExceptionDetails; e != nil {
		return fmt.Errorf("%s %s", e.Text, e.Exception.Description)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer.Result.Value, into)
}

// Until waits until the script is true. ctx says how long.
func (p *Page) Until(ctx context.Context, script string) error {
	p.t.Helper()
	for {
		var is bool
		if err := p.Eval("Boolean("+script+")", &is); err != nil {
			return err
		}
		if is {
			return nil
		}
		// The page waits for a moment itself, so that this does not.
		if err := p.Eval("new Promise((done) => setTimeout(done, 100))", nil); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", script, context.Cause(ctx))
		}
	}
}

// Picture is what the window shows, as PNG.
func (p *Page) Picture() []byte {
	p.t.Helper()
	var shot struct{ Data string }
	p.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	out, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}
