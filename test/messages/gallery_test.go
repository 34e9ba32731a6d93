package messages

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/notify/slack"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

var update = flag.Bool("update", false, "take the pictures of docs/slack.md anew (make gallery)")

// The page, its pictures, and what each picture shows, as a hash.
const (
	galleryPage   = "../../docs/slack.md"
	galleryFolder = "../../docs/slack"
	galleryHashes = galleryFolder + "/pictures.sum"
	desktop       = 900
	// mostBytes keeps the repository small.
	mostBytes = 100 << 10
)

// widths are those in which each state has a picture: NAME-390.png and NAME-900.png.
func widths() []int { return []int{phone, desktop} }

// gallery is every state that the message goes through, by the name of its pictures.
func gallery() [][2]string {
	return [][2]string{
		{"received", "kv-thrash received"},
		{"investigating", "kv-thrash investigating"},
		{"deciding", "kv-thrash deciding"},
		{"deciding-dry-run", "kv-thrash deciding, dry run"},
		{"deciding-drill", "kv-thrash deciding, drill"},
		{"deciding-restart", "prefill-interference deciding"},
		{"two-approvals", "kv-thrash two approvals needed"},
		{"one-of-two-approvals", "kv-thrash one of two approvals"},
		{"applying", "kv-thrash applying throttle"},
		{"failed", "kv-thrash failed throttle"},
		{"rolling-out", "kv-thrash rolling out replicas"},
		{"settling", "kv-thrash settling replicas"},
		{"verifying", "kv-thrash verifying replicas"},
		{"stopped", "kv-thrash stopped in a rollout"},
		{"stopped-unknown-write", "kv-thrash stopped with an unknown write"},
		{"reverted", "kv-thrash reverted by someone else"},
		{"recovered", "kv-thrash recovered replicas"},
		{"mitigated", "kv-thrash recovered throttle"},
		{"improved", "kv-thrash improved throttle"},
		{"improved-denied", "kv-thrash improved, then denied"},
		{"improved-expired", "kv-thrash improved, then expired"},
		{"undo-offered", "kv-thrash undo offered throttle"},
		{"undoing", "kv-thrash undoing throttle"},
		{"undone", "kv-thrash undone throttle"},
		{"undoing-by-policy", "kv-thrash rolling back by policy"},
		{"undone-by-policy", "kv-thrash rolled back by policy"},
		{"dry-run-passed", "kv-thrash dry run passed"},
		{"drill-ended", "kv-thrash drill ended"},
		{"denied", "kv-thrash denied"},
		{"snoozed", "kv-thrash snoozed"},
		{"expired", "kv-thrash expired"},
		{"asked-again", "kv-thrash asked again"},
		{"paused", "kv-thrash paused"},
		{"manual", "engine-dead told"},
		{"healthy", "healthy-full-batch told"},
		{"no-diagnosis", "kv-thrash no diagnosis"},
		{"no-data", "kv-thrash no data"},
		{"no-pool", "no-pool told"},
		{"no-pool-closed", "no-pool closed"},
		{"closed", "kv-thrash closed replicas"},
		{"closed-without-a-change", "kv-thrash closed without a change"},
		{"closed-after-a-rollback", "kv-thrash closed after a rollback"},
		{"closed-after-a-reversal", "kv-thrash closed after a reversal"},
	}
}

// scenes are all that the gallery shows: the message in its states, and what goes with it.
func scenes(t *testing.T, all []shown, f found) []scene {
	t.Helper()
	incidents := map[string]incident.Incident{}
	for _, m := range all {
		incidents[m.name()] = m.inc
	}
	var out []scene
	for _, g := range gallery() {
		inc, ok := incidents[g[1]]
		if !ok {
			t.Fatalf("there is no message %q for the pictures %s", g[1], g[0])
		}
		s := fakeslack.Start(t, fakeslack.Options{})
		post(t, s, []slack.View{slack.Render(inc, links)})
		out = append(out, scene{g[0], s, alice.ID, theMessage})
	}
	for _, g := range []struct {
		file   string
		digest incident.Digest
	}{{"storm", storm(t, all)}, {"storm-closed", stormOver(t, all)}} {
		s := fakeslack.Start(t, fakeslack.Options{})
		post(t, s, []slack.View{slack.RenderDigest(g.digest, links)})
		out = append(out, scene{g.file, s, alice.ID, theMessage})
	}
	return append(out, around(t, f)...)
}

// compareGallery holds what the bot sends to the golden files, and the page with its pictures to what it sends. With
// -update it takes the pictures and writes the files first.
func compareGallery(t *testing.T, all []scene) {
	t.Helper()
	wanted, golden := map[string]string{}, map[string][]byte{}
	for _, s := range all {
		raw := withoutIDs(t, s.sent(t))
		golden[s.file+".json"] = raw
		sum := sha256.Sum256(raw)
		for _, width := range widths() {
			wanted[picture(s.file, width)] = hex.EncodeToString(sum[:8])
		}
	}
	if *update {
		for _, width := range widths() {
			photograph(t, all, width)
		}
		writeHashes(t, galleryHashes, wanted)
	}
	compareGolden(t, golden)
	taken := readHashes(t, galleryHashes)
	page, err := os.ReadFile(galleryPage)
	if err != nil {
		t.Fatal(err)
	}
	for file, hash := range wanted {
		if !strings.Contains(string(page), "(slack/"+file+")") {
			t.Errorf("docs/slack.md does not show %s", file)
		}
		switch info, err := os.Stat(filepath.Join(galleryFolder, file)); {
		case err != nil:
			t.Error(err)
		case info.Size() > mostBytes:
			t.Errorf("docs/slack/%s has %d bytes, at most %d", file, info.Size(), mostBytes)
		}
		if taken[file] != hash {
			t.Errorf("docs/slack/%s does not show what the bot says today: make gallery, and look at it", file)
		}
	}
	mustBelong(t, galleryFolder, ".png", wanted)
}

// picture is the name of a state's picture.
func picture(file string, width int) string { return fmt.Sprintf("%s-%d.png", file, width) }

// compareGolden holds what is sent to the files that somebody has read.
func compareGolden(t *testing.T, golden map[string][]byte) {
	t.Helper()
	for file, got := range golden {
		path := filepath.Join("testdata", file)
		if *update {
			if err := os.WriteFile(path, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
			t.Errorf("%s (-want +got; make gallery rewrites it):\n%s", path, diff)
		}
	}
	mustBelong(t, "testdata", ".json", golden)
}

// mustBelong holds that each file of a kind in a folder belongs to a state.
func mustBelong[V any](t *testing.T, folder, kind string, wanted map[string]V) {
	t.Helper()
	onDisk, err := filepath.Glob(filepath.Join(folder, "*"+kind))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range onDisk {
		if _, ok := wanted[filepath.Base(path)]; !ok {
			t.Errorf("%s belongs to no state", path)
		}
	}
}

// head is the end of a journal, in which there are ids.
var head = regexp.MustCompile("journal `[0-9a-f]{12}`")

// withoutIDs is what a person sees of what is sent, as readable JSON: not the ids in it, which each cluster makes anew.
func withoutIDs(t *testing.T, sent any) []byte {
	t.Helper()
	raw, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(head.ReplaceAll(raw, []byte("journal `…`")), &tree); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(pruned(tree)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pruned(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = pruned(v[i])
		}
	case map[string]any:
		for name := range v {
			if slices.Contains([]string{"block_id", "action_id", "value"}, name) {
				if _, isText := v[name].(string); isText {
					delete(v, name)
					continue
				}
			}
			v[name] = pruned(v[name])
		}
	}
	return v
}

func writeHashes(t *testing.T, path string, hashes map[string]string) {
	t.Helper()
	var lines []string
	for file, hash := range hashes {
		lines = append(lines, hash+"  "+file+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[18:], b[18:]) })
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readHashes(t *testing.T, path string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		hash, file, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("%s: %q", path, line)
		}
		out[file] = hash
	}
	return out
}
