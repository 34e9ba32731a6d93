package messages

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const (
	// highest is how high a picture of several pages may be that the browser still draws whole.
	highest = 12000
	// margin is what is shown around a part of a page.
	margin = 8
)

// photograph takes the pictures of all scenes in one width.
func photograph(t *testing.T, all []scene, width int) {
	t.Helper()
	if err := os.MkdirAll(galleryFolder, 0o750); err != nil {
		t.Fatal(err)
	}
	frames := make([]frame, len(all))
	for n, s := range all {
		frames[n] = frame{served(t, s.server, s.viewer), s.part}
	}
	areas := measure(t, frames, width)
	height := func(n int) int { return int(areas[n].Area.Top+areas[n].Area.Height) + 2*margin }
	for from := 0; from < len(all); {
		to, sum := from, 0
		for to < len(all) && (to == from || sum+height(to) <= highest) {
			sum += height(to)
			to++
		}
		first := from
		shot := screenshot(t, frames[from:to], func(n int) int { return height(first + n) }, width, sum)
		top := 0
		for n := from; n < to; n++ {
			a := areas[n].Area
			savePNG(t, filepath.Join(galleryFolder, picture(all[n].file, width)), shot, image.Rect(
				0, top+int(a.Top)-margin, width, top+int(a.Top+a.Height)+margin))
			top += height(n)
		}
		from = to
	}
}

// screenshot is a picture of pages below each other. The browser's window is wider: it has a least width.
func screenshot(t *testing.T, frames []frame, height func(int) int, width, sum int) image.Image {
	t.Helper()
	site := framing(frames, height, width, "")
	defer site.Close()
	file := filepath.Join(t.TempDir(), "page.png")
	chromium(t, "--screenshot="+file, fmt.Sprintf("--window-size=%d,%d", max(width, 1000), sum), site.URL+"/")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	shot, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if got := shot.Bounds(); got.Dy() < sum || got.Dx() < width {
		t.Fatalf("the browser took a picture of %v, wanted %d x %d", got, width, sum)
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
