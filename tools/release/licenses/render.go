package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// render is the file: a list of what is linked, and each different text once, with whose it is.
func render(parts []part) []byte {
	var b bytes.Buffer
	b.WriteString("vllm-medic is linked with the software below. Versions are in the SBOM of each release.\n" +
		"This file is written by make licenses.\n\n")
	owners := map[string][]string{}
	var order []string
	for _, p := range parts {
		var names []string
		for _, t := range p.texts {
			found, _ := kinds(t.content)
			for _, n := range found {
				if slices.Contains(allowed, n) {
					names = append(names, n)
				}
			}
			if owners[t.content] == nil {
				order = append(order, t.content)
			}
			owners[t.content] = append(owners[t.content], p.module+" ("+t.path+")")
		}
		slices.Sort(names)
		fmt.Fprintf(&b, "%s: %s\n", p.module, strings.Join(slices.Compact(names), ", "))
	}
	for _, content := range order {
		fmt.Fprintf(&b, "\n%s\n", strings.Repeat("=", 80))
		for _, owner := range owners[content] {
			fmt.Fprintf(&b, "%s\n", owner)
		}
		fmt.Fprintf(&b, "%s\n\n%s\n", strings.Repeat("-", 80), content)
	}
	return b.Bytes()
}

// difference is the first line that differs, for a person.
func difference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range w {
		if i >= len(g) {
			return fmt.Sprintf("line %d is missing: %s", i+1, w[i])
		}
		if g[i] != w[i] {
			return fmt.Sprintf("line %d says %q, want %q", i+1, g[i], w[i])
		}
	}
	return "it has more lines"
}
