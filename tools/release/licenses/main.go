// Command licenses lists the license of everything that is linked into the program, with its text.
//
// It writes THIRD_PARTY_LICENSES at the top of the tree; -check compares instead. Either way it fails on a license
// that nobody has allowed and on a package that has none.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// name is the file at the top of the tree.
const name = "THIRD_PARTY_LICENSES"

func main() {
	root := flag.String("root", "../../..", "top of the tree")
	check := flag.Bool("check", false, "compare the file instead of writing it")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	parts, err := linked(root)
	if err != nil {
		return err
	}
	for i := range parts {
		if parts[i].texts, err = texts(parts[i]); err != nil {
			return err
		}
	}
	if err := errors.Join(refuse(parts)...); err != nil {
		return err
	}
	file, want := filepath.Join(root, name), render(parts)
	if !check {
		return os.WriteFile(file, want, 0o644)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s is not what is linked today (%s); write it again with make licenses", name,
			difference(got, want))
	}
	return nil
}
