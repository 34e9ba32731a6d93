package sandbox

import (
	"fmt"
	"strings"
)

// leastContrast is what WCAG 2 asks for between text and what is behind it, at level AA.
const leastContrast = 4.5

// faintTexts are the visible texts of the page with less contrast to their background than a minimum, each with its
// ratio. Buttons that can't be pressed are none of them.
const faintTexts = `((least) => {
	const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
	const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
	const parse = (text) => text.match(/[\d.]+/g).map(Number);
	const over = ([r, g, b, a = 1], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
	const behind = (e) => {
		const layers = [];
		for (; e; e = e.parentElement) {
			const c = parse(getComputedStyle(e).backgroundColor);
			if (c.length === 3 || c[3] > 0) layers.push(c);
			if (c.length === 3) break;
		}
		return layers.reverse().reduce((under, c) => over(c, under), [255, 255, 255]);
	};
	const faint = [];
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const e = walker.currentNode.parentElement;
		const text = walker.currentNode.data.trim();
		if (!text || !e.checkVisibility() || e.closest("script, noscript, select, :disabled")) continue;
		const style = getComputedStyle(e), ground = behind(e);
		const ink = over(parse(e instanceof SVGElement ? style.fill : style.color), ground);
		const [low, high] = [luminance(ink), luminance(ground)].sort((a, b) => a - b);
		const ratio = (high + 0.05) / (low + 0.05);
		const kind = e.className.baseVal ?? e.className;
		if (ratio < least) faint.push(ratio.toFixed(2) + " " + kind + ": " + text.slice(0, 40));
	}
	return faint;
})(%g)`

// canBeRead says that everybody can read the page, in light and in dark, and that its parts are where a screen reader
// looks for them: one heading of the page before all others, and main for itself.
func (v viewer) canBeRead() {
	v.Helper()
	var all []string
	if err := v.page.Eval(fmt.Sprintf(faintTexts, 22.), &all); err != nil || len(all) < 50 {
		v.Errorf("the contrast of %d texts is measured, want that of all: %v", len(all), err)
	}
	for _, dark := range []bool{true, false} {
		v.page.Dark(dark)
		var faint []string
		if err := v.page.Eval(fmt.Sprintf(faintTexts, leastContrast), &faint); err != nil {
			v.Fatal(err)
		}
		if len(faint) > 0 {
			v.Errorf("dark: %v: texts with a contrast below %g:\n%s", dark, leastContrast, strings.Join(faint, "\n"))
		}
	}
	v.sees("one h1, before all other headings", `document.querySelectorAll("h1").length === 1 &&
		document.querySelector("h1, h2, h3, h4").tagName === "H1"`)
	v.sees("what the page is", `document.querySelector("h1 + p").textContent.includes("watches this simulated fleet")`)
	v.sees("one main, in no section", `document.querySelectorAll("main").length === 1 &&
		!document.querySelector("section main, article main, aside main") && !document.querySelector("main h1")`)
}
