// Package vllm knows what vLLM is called and what it takes: how its command line is read, and how its metrics are
// named. Whatever else reads an engine's arguments or recognizes its metrics asks here, so that no two readers can
// differ.
//
// The package is pure: values in, values out. It would rather say that something is unclear than be wrong about it.
package vllm
