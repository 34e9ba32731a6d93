//go:build !race

package scenarios

// buildFlags build the program as the test itself is built.
var buildFlags []string
