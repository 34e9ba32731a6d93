package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// What is kept of the texts of one alert, in bytes. Those of real rules are far below: a description is a few hundred
// bytes long, the name of a pod 253, the expression in a link a few kilobytes.
const (
	mostText   = 2 << 10  // of an annotation, and of a label's name or value
	mostLink   = 8 << 10  // of generatorURL
	mostNotes  = 8 << 10  // of all annotations
	mostLabels = 16 << 10 // of all labels
)

// leftOutName names the label or the annotation that says what was left out beside it.
const leftOutName = "vllm_medic_left_out"

// clipNote is the text of an annotation or a link that is shown, within a length. Nothing is known by it.
func clipNote(text string, most int) string { return incident.ClipBytes(text, most) }

// clipName is a text by which something is known, within mostText. What is cut off stands for itself in a digest, so
// that two different texts never become the same one.
func clipName(text string) string {
	if len(text) <= mostText {
		return text
	}
	tail := " " + digest(text)
	return incident.ClipBytes(text, mostText-len(tail)) + tail
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:16])
}

// clipAlert bounds the texts of an alert. Which alert it is is its fingerprint, which is left as it is.
func clipAlert(a *incident.Alert) {
	a.GeneratorURL = clipNote(a.GeneratorURL, mostLink)
	a.Annotations = within(a.Annotations, mostNotes, func(s string) string { return clipNote(s, mostText) },
		func(gone []string) string { return fmt.Sprintf("%d more annotations", len(gone)/2) })
	a.Labels = within(a.Labels, mostLabels, clipName, func(gone []string) string {
		return fmt.Sprintf("%d more labels %s", len(gone)/2, digest(fmt.Sprintf("%q", gone)))
	})
}

// within clips each text, and leaves out what is beyond the room for all of them, in the order of the names; one more
// text says so. leftOut gets the names and the texts by turns.
func within(texts map[string]string, room int, clip func(string) string, leftOut func(gone []string) string,
) map[string]string {
	total := 0
	fits := true
	for k, v := range texts {
		total += len(k) + len(v)
		fits = fits && len(k) <= mostText && len(v) <= mostText
	}
	if fits && total <= room {
		return texts
	}
	out, gone := map[string]string{}, []string(nil)
	for _, k := range slices.Sorted(maps.Keys(texts)) {
		name, value := clipName(k), clip(texts[k])
		if len(name)+len(value) > room {
			gone = append(gone, k, texts[k])
			continue
		}
		room -= len(name) + len(value)
		out[name] = value
	}
	if len(gone) > 0 {
		out[leftOutName] = leftOut(gone)
	}
	return out
}
