package web

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// Two numbers that cover each other are none. On a phone marks that are close together have one label.
func TestNumbersOfMarksDoNotCoverEachOther(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		at   []float64
		want string
	}{
		{nil, ""},
		{[]float64{300}, "1@50"},
		{[]float64{0, 600}, "1@2 2@98"},
		{[]float64{100, 130, 500}, "1@16.7 2@21.7 3@83.3"},
		{[]float64{300, 302, 304, 500}, "1–3@50.3 4@83.3"},
		{[]float64{594, 596, 598, 600}, "1–4@95.7"},
		{[]float64{0, 26, 52}, "1–3@4.3"}, // the first two take the room of the third
	} {
		var all []mark
		var numbers []int
		for n, x := range tc.at {
			all, numbers = append(all, mark{X: x}), append(numbers, n+1)
		}
		var got []string
		for _, l := range labeled(all, numbers) {
			got = append(got, l.Text+"@"+l.X)
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%v: %s, want %s", tc.at, strings.Join(got, " "), tc.want)
		}
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var all []mark
		var numbers []int
		x := 0.0
		for n := range r.IntN(40) {
			x = min(chartWidth, x+r.Float64()*60)
			all, numbers = append(all, mark{X: x}), append(numbers, n+1)
		}
		end, next := 0.0, 1
		for _, l := range labeled(all, numbers) {
			at, err := strconv.ParseFloat(l.X, 64)
			if err != nil {
				t.Fatal(err)
			}
			half := labelDigit * float64(len([]rune(l.Text))) / 2
			if left := at/100*chartOnPhone - half; left < end {
				t.Errorf("seed %d: the label %s begins at %.1f, and the one before ends at %.1f", seed, l.Text, left, end)
			}
			end = at/100*chartOnPhone + half
			from, to := 0, 0
			if _, err := fmt.Sscanf(l.Text, "%d–%d", &from, &to); err != nil {
				from, _ = strconv.Atoi(l.Text) // zero is wrong below
				to = from
			}
			if from != next {
				t.Errorf("seed %d: the label %s comes after number %d", seed, l.Text, next-1)
			}
			next = to + 1
		}
		if end > chartOnPhone || next != len(all)+1 {
			t.Errorf("seed %d: the labels end at %.1f, with number %d of %d", seed, end, next-1, len(all))
		}
	}
}
