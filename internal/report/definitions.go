package report

import (
	_ "embed" // the definitions
	"strconv"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

//go:embed definitions.txt
var defined string

// definitions say what each figure means, in one line each.
func definitions() Section {
	text := strings.NewReplacer("{median}", strconv.Itoa(LeastMedian), "{p90}", strconv.Itoa(LeastP90),
		"{noise}", strconv.Itoa(leastNoise), "{quickly}", incident.FormatDuration(Quickly)).Replace(defined)
	return Section{
		ID: "definitions", Title: "What the figures mean", List: strings.Split(strings.TrimSpace(text), "\n"),
	}
}
