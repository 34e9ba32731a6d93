// Package stores holds what is said of forty models against what other stores of metrics answer to the same questions:
// the corpus' series are written into a real Prometheus and into each store, and vllm-medic's survey must say the same,
// or docs/stores.md says why not. The stores take minutes to build, so the test has the build tag stores: make stores.
package stores
