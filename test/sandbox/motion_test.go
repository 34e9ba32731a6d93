package sandbox

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/browser"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// The animated picture of round 1 in the README, and what it may be.
const (
	motionFile  = "docs/sandbox/round-1.gif"
	motionWidth = 900
	motionHigh  = 700
	motionLasts = 20 * time.Second
	motionBytes = 1500 << 10
)

// TestTheReadmeShowsRoundOneInMotion holds the picture that make gallery takes by playing round 1.
func TestTheReadmeShowsRoundOneInMotion(t *testing.T) {
	t.Parallel()
	if *update {
		record(t)
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`!\[[^\]]{40,}\]\(` + regexp.QuoteMeta(motionFile) + `\)`).Match(text) {
		t.Errorf("README.md doesn't show %s with a text for whoever can't see it", motionFile)
	}
	body, err := os.ReadFile(filepath.Join("../..", motionFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(body) > motionBytes {
		t.Errorf("%s has %d bytes, more than %d", motionFile, len(body), motionBytes)
	}
	all, err := gif.DecodeAll(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var lasts time.Duration
	for _, hundredths := range all.Delay {
		lasts += time.Duration(hundredths) * 10 * time.Millisecond
	}
	if len(all.Image) < 30 || lasts < 15*time.Second || lasts > 25*time.Second || all.Config.Width != motionWidth {
		t.Errorf("%d pictures of a width of %d in %s, want at least 30 of %d in 15 to 25 s",
			len(all.Image), all.Config.Width, lasts, motionWidth)
	}
}

// record plays round 1 and writes it.
func record(t *testing.T) {
	t.Helper()
	r := start(t)
	v := viewer{T: t, page: browser.Open(t, r.page(), motionWidth, motionHigh)}
	var m motion
	until := func(what, script string) {
		t.Helper()
		for deadline := time.Now().Add(process.Patience); ; {
			m.add(t, v.page.Picture(), 0)
			var is bool
			if err := v.page.Eval("Boolean("+script+")", &is); err != nil {
				t.Fatal(err)
			}
			if is {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the page does not show %s", what)
			}
			// The page draws each second anew, and waits for that itself.
			if err := v.page.Eval("new Promise((done) => setTimeout(done, 950))", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	v.sees("the fleet", `document.querySelectorAll(".gauge svg").length === 4`)
	const green = `#feed button[data-element^="approve"]`
	until("the question", title+` === "Your turn." && document.querySelector('`+green+`')`)
	m.add(t, v.page.Picture(), 2*time.Second)
	// The click can be seen.
	if err := v.page.Eval(`(() => {
		const button = document.querySelector('`+green+`');
		button.style.outline = "4px solid #d97706";
		button.style.outlineOffset = "3px";
	})()`, nil); err != nil {
		t.Fatal(err)
	}
	m.add(t, v.page.Picture(), time.Second)
	v.clicks(green)
	until("that it healed", title+` === "Healed."`)
	m.add(t, v.page.Picture(), 2*time.Second)
	until("that it closed", title+` === "Round 1 is over."`)
	m.add(t, v.page.Picture(), 2500*time.Millisecond)
	r.interrupted()
	body := m.encoded(t, motionLasts)
	t.Logf("%d pictures, %d bytes", len(m.frames), len(body))
	if err := os.WriteFile(filepath.Join("../..", motionFile), body, 0o600); err != nil {
		t.Fatal(err)
	}
}

// motion is a sequence of pictures of the same size.
type motion struct {
	frames []*image.NRGBA
	// holds are how long each stays: 0 is as long as all others of 0.
	holds []time.Duration
}

// add adds a picture, which stays for a while. One that shows the same as the one before takes no place.
func (m *motion) add(t *testing.T, picture []byte, hold time.Duration) {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	frame := image.NewNRGBA(decoded.Bounds())
	for y := range frame.Rect.Dy() {
		for x := range frame.Rect.Dx() {
			frame.Set(x, y, decoded.At(x, y))
		}
	}
	m.frames, m.holds = append(m.frames, frame), append(m.holds, hold)
}

// encoded is the sequence as an animated GIF that lasts so long and begins anew.
func (m *motion) encoded(t *testing.T, lasts time.Duration) []byte {
	t.Helper()
	rest, others := lasts, 0
	for _, hold := range m.holds {
		if rest -= hold; hold == 0 {
			others++
		}
	}
	palette := m.palette()
	near := map[color.NRGBA]uint8{}
	out := gif.GIF{Config: image.Config{ColorModel: palette, Width: m.frames[0].Rect.Dx(), Height: m.frames[0].Rect.Dy()}}
	var before *image.NRGBA
	for i, frame := range m.frames {
		changed := image.NewPaletted(changes(before, frame), palette)
		for y := changed.Rect.Min.Y; y < changed.Rect.Max.Y; y++ {
			for x := changed.Rect.Min.X; x < changed.Rect.Max.X; x++ {
				c := frame.NRGBAAt(x, y)
				if before != nil && before.NRGBAAt(x, y) == c {
					continue // transparent: what was there stays
				}
				n, known := near[c]
				if !known {
					n = uint8(1 + palette[1:].Index(c))
					near[c] = n
				}
				changed.SetColorIndex(x, y, n)
			}
		}
		hold := m.holds[i]
		if hold == 0 {
			hold = rest / time.Duration(max(1, others))
		}
		out.Image, out.Disposal = append(out.Image, changed), append(out.Disposal, gif.DisposalNone)
		out.Delay = append(out.Delay, int(hold/(10*time.Millisecond)))
		before = frame
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// changes is the part of a picture that differs from the one before.
func changes(before, now *image.NRGBA) image.Rectangle {
	if before == nil {
		return now.Rect
	}
	var out image.Rectangle
	for y := range now.Rect.Dy() {
		for x := range now.Rect.Dx() {
			if before.NRGBAAt(x, y) != now.NRGBAAt(x, y) {
				out = out.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	if out.Empty() {
		return image.Rect(0, 0, 1, 1) // a picture that only holds
	}
	return out
}

// palette is what is transparent, and the most frequent colors that can be told apart.
func (m *motion) palette() color.Palette {
	count := map[color.NRGBA]int{}
	for _, frame := range m.frames {
		for i := 0; i < len(frame.Pix); i += 4 {
			count[color.NRGBA{frame.Pix[i], frame.Pix[i+1], frame.Pix[i+2], 0xff}]++
		}
	}
	byCount := slices.SortedFunc(maps.Keys(count), func(a, b color.NRGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	out := color.Palette{color.NRGBA{}}
	square := func(a, b uint8) int { return (int(a) - int(b)) * (int(a) - int(b)) }
	for _, c := range byCount {
		const apart = 12 * 12
		if len(out) < 256 && !slices.ContainsFunc(out[1:], func(o color.Color) bool {
			p := color.NRGBAModel.Convert(o).(color.NRGBA) //nolint:forcetypeassert // the model's own
			return square(p.R, c.R)+square(p.G, c.G)+square(p.B, c.B) < apart
		}) {
			out = append(out, c)
		}
	}
	return out
}

// What has changed is encoded, and nothing else.
func TestMotionIsEncodedAsWhatHasChanged(t *testing.T) {
	t.Parallel()
	var m motion
	for n := range 3 {
		frame := image.NewNRGBA(image.Rect(0, 0, 20, 10))
		for i := range frame.Pix {
			frame.Pix[i] = 0xff
		}
		frame.Set(5, n, color.NRGBA{R: 0xff, A: 0xff})
		m.frames, m.holds = append(m.frames, frame), append(m.holds, 0)
	}
	m.holds[1] = 600 * time.Millisecond
	all, err := gif.DecodeAll(strings.NewReader(string(m.encoded(t, time.Second))))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(all.Delay, []int{20, 60, 20}) || all.Image[1].Rect != image.Rect(5, 0, 6, 2) {
		t.Errorf("%v, the second changes %v", all.Delay, all.Image[1].Rect)
	}
}
