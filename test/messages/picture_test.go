package messages

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// screenshot is the whole page of a workspace in this width. The browser's window is wider: it has a least width.
func screenshot(t *testing.T, s *fakeslack.Server, width int, laid map[string]layout) image.Image {
	t.Helper()
	height := 0
	for _, l := range laid {
		height = max(height, int(l.Top+l.Height)+40)
	}
	page := served(t, s)
	outer := fmt.Sprintf(`<!DOCTYPE html><meta charset="utf-8"><style>body { margin: 0 } iframe { border: 0 }</style>`+
		`<iframe src="/page" width="%d" height="%d"></iframe>`, width, height)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		body := outer
		if r.URL.Path == "/page" {
			body = page
		}
		_, _ = io.WriteString(w, body) // the browser says when it misses something
	}))
	defer site.Close()
	file := filepath.Join(t.TempDir(), "page.png")
	chromium(t, "--screenshot="+file, fmt.Sprintf("--window-size=%d,%d", max(width, 1000), height), site.URL+"/")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	shot, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if got := shot.Bounds(); got.Dy() < height || got.Dx() < width {
		t.Fatalf("the browser took a picture of %v, wanted %d x %d", got, width, height)
	}
	return shot
}

// savePNG writes a part of a picture with at most 200 colors, which text does with and makes a small file.
func savePNG(t *testing.T, path string, from image.Image, area image.Rectangle) {
	t.Helper()
	colors := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA {
		c, _ := color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)
		return c
	}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			colors[at(x, y)]++
		}
	}
	all := make([]color.RGBA, 0, len(colors))
	for c := range colors {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(colors[b], colors[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	palette := color.Palette{}
	for _, c := range all[:min(200, len(all))] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	for _, c := range all {
		nearest[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(image.Rect(0, 0, area.Dx(), area.Dy()), palette)
	for y := range area.Dy() {
		for x := range area.Dx() {
			out.SetColorIndex(x, y, nearest[at(area.Min.X+x, area.Min.Y+y)])
		}
	}
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, out); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
