// Command parts prints the parts of the large tests, one on a line: its name, its package, and an expression for go
// test -run, which is missing for all tests of the package. Its arguments are the names of the parts that are wanted;
// with -touched they are files, and wanted are the parts that are run after a change of one.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/test/gate"
)

func main() {
	page := flag.String("page", "test/large.md", "the `file` with the table")
	touched := flag.Bool("touched", false, "the arguments are files that have changed")
	flag.Parse()
	if err := printParts(*page, flag.Args(), *touched); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func printParts(page string, args []string, touched bool) error {
	text, err := os.ReadFile(page) //nolint:gosec // a file that whoever starts this names
	if err != nil {
		return err
	}
	parts, err := gate.Parts(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	names := make([]string, len(parts))
	for n, p := range parts {
		names[n] = p.Name
	}
	for _, name := range args {
		if !touched && !slices.Contains(names, name) {
			return fmt.Errorf("%s has no part %q: it has %s", page, name, strings.Join(names, ", "))
		}
	}
	for _, p := range parts {
		if touched && p.Touched(args) || !touched && (len(args) == 0 || slices.Contains(args, p.Name)) {
			fmt.Println(p.Name, p.Package, p.Pattern())
		}
	}
	return nil
}
