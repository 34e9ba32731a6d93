// Command larger prints on one line what a run of tests has left out that the next size has: an expression for go test
// -run, and the packages; nothing where nothing was.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/vllm-medic/vllm-medic/test/gate"
	"github.com/vllm-medic/vllm-medic/test/size"
)

func main() {
	var next size.Size
	events := flag.String("events", "", "the `file` with what go test told of the run")
	flag.TextVar(&next, "size", size.Medium, "the `size` that runs now")
	flag.Parse()
	if err := printLarger(*events, next); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func printLarger(events string, next size.Size) (err error) {
	f, err := os.Open(events) //nolint:gosec // a file that whoever starts this names
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	tests, packages, err := gate.Larger(f, next)
	if err == nil && tests != "" {
		fmt.Println(tests, strings.Join(packages, " "))
	}
	return err
}
