// Package engineargs is the knobs that set an engine argument of vLLM, in the command line of the container that runs
// it.
package engineargs
