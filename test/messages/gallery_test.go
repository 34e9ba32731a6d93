package messages

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/notify/slack"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

var update = flag.Bool("update", false, "take the pictures of docs/slack.md anew (make gallery)")

// The page, its pictures, and what each picture shows, as a hash.
const (
	galleryPage   = "../../docs/slack.md"
	galleryFolder = "../../docs/slack"
	galleryHashes = galleryFolder + "/pictures.sum"
	desk          = 900
)

// picture is one of docs/slack.md: the file's name and what it shows.
type picture struct {
	file, message string
	width         int
}

// gallery is every state that the message goes through, with one incident from its alert to its end.
func gallery() []picture {
	return []picture{
		{"received", "kv-thrash received", phone},
		{"investigating", "kv-thrash investigating", phone},
		{"deciding", "kv-thrash deciding", phone},
		{"deciding-desk", "kv-thrash deciding", desk},
		{"deciding-dry-run", "kv-thrash deciding, dry run", phone},
		{"applying", "kv-thrash applying throttle", phone},
		{"failed", "kv-thrash failed throttle", phone},
		{"rolling-out", "kv-thrash rolling out replicas", phone},
		{"settling", "kv-thrash settling replicas", phone},
		{"verifying", "kv-thrash verifying replicas", phone},
		{"recovered", "kv-thrash recovered replicas", phone},
		{"mitigated", "kv-thrash recovered throttle", phone},
		{"improved", "kv-thrash improved throttle", phone},
		{"undo-offered", "kv-thrash undo offered throttle", phone},
		{"undo-offered-desk", "kv-thrash undo offered throttle", desk},
		{"undoing", "kv-thrash undoing throttle", phone},
		{"undone", "kv-thrash undone throttle", phone},
		{"denied", "kv-thrash denied", phone},
		{"expired", "kv-thrash expired", phone},
		{"closed", "kv-thrash closed replicas", phone},
		{"closed-without-a-change", "kv-thrash closed without a change", phone},
		{"manual", "engine-dead told", phone},
		{"healthy", "healthy-full-batch told", phone},
	}
}

// compareGallery holds the page and its pictures to what the bot says today. With -update it takes the pictures first.
func compareGallery(t *testing.T, all []shown) {
	t.Helper()
	views := map[string]slack.View{}
	for _, m := range all {
		views[m.name()] = slack.Render(m.inc, links)
	}
	wanted := map[string]string{}
	for _, p := range gallery() {
		v, ok := views[p.message]
		if !ok {
			t.Fatalf("there is no message %q for the picture %s", p.message, p.file)
		}
		wanted[p.file+".png"] = hashOf(t, v)
	}
	if *update {
		for _, width := range []int{phone, desk} {
			photograph(t, views, width)
		}
		writeHashes(t, wanted)
	}
	taken := readHashes(t)
	page, err := os.ReadFile(galleryPage)
	if err != nil {
		t.Fatal(err)
	}
	for file, hash := range wanted {
		if !strings.Contains(string(page), "](slack/"+file+")") {
			t.Errorf("docs/slack.md does not show %s", file)
		}
		if _, err := os.Stat(filepath.Join(galleryFolder, file)); err != nil {
			t.Error(err)
		}
		if taken[file] != hash {
			t.Errorf("docs/slack/%s does not show what the bot says today: make gallery, and look at it", file)
		}
	}
	onDisk, err := filepath.Glob(galleryFolder + "/*.png")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range onDisk {
		if _, ok := wanted[filepath.Base(path)]; !ok {
			t.Errorf("nothing asks for the picture %s", path)
		}
	}
}

// hashOf is that of what a person sees in a message: not of the ids in it, which are new for each cluster.
func hashOf(t *testing.T, v slack.View) string {
	t.Helper()
	raw, err := json.Marshal(v.Blocks)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	raw, err = json.Marshal(withoutIDs(tree))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

func withoutIDs(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutIDs(v[i])
		}
	case map[string]any:
		for name := range v {
			if slices.Contains([]string{"block_id", "action_id", "value"}, name) {
				if _, isText := v[name].(string); isText {
					delete(v, name)
					continue
				}
			}
			v[name] = withoutIDs(v[name])
		}
	}
	return v
}

func writeHashes(t *testing.T, hashes map[string]string) {
	t.Helper()
	var lines []string
	for file, hash := range hashes {
		lines = append(lines, hash+"  "+file+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[18:], b[18:]) })
	if err := os.WriteFile(galleryHashes, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readHashes(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(galleryHashes)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		hash, file, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("%s: %q", galleryHashes, line)
		}
		out[file] = hash
	}
	return out
}

// photograph takes the pictures of one width in one look at a page that has all of them.
func photograph(t *testing.T, views map[string]slack.View, width int) {
	t.Helper()
	var want []picture
	var messages []slack.View
	for _, p := range gallery() {
		if p.width == width {
			want, messages = append(want, p), append(messages, views[p.message])
		}
	}
	s := fakeslack.Start(t, fakeslack.Options{})
	ids := post(t, s, messages)
	laid := lay(t, s, width)
	shot := screenshot(t, s, width, laid)
	if err := os.MkdirAll(galleryFolder, 0o750); err != nil {
		t.Fatal(err)
	}
	for i, p := range want {
		l := laid[ids[i]]
		area := image.Rect(0, int(l.Top), width, int(l.Top+l.Height))
		savePNG(t, filepath.Join(galleryFolder, p.file+".png"), shot, area)
	}
}
