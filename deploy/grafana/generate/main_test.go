package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheDashboardsAreThoseOfTheGenerator(t *testing.T) {
	t.Parallel()
	for name, d := range files() {
		want, err := render(d)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not what this program writes; run go generate ./deploy/grafana/generate", name)
		}
	}
}
