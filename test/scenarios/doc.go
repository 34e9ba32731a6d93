// Package scenarios tells what people do with vllm-medic, one journey a file, with the real program:
// testdata/NNNN_name.txtar. The program talks to a real Prometheus and a real kube-apiserver where the story needs
// them; both are shared by all files. They are medium tests; one whose file begins with "# size: large" is a large one:
// what it shows in the whole program is also shown by tests of packages.
package scenarios
