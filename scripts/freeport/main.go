// The program freeport prints a TCP port of 127.0.0.1 that was free a moment ago, for test scripts.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
)

func main() {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "freeport:", err)
		os.Exit(1)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "freeport:", err)
		os.Exit(1)
	}
	fmt.Println(port)
}
