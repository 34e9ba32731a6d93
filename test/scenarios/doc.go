// Package scenarios tells what people do with vllm-medic, one journey a file, with the real program:
// testdata/NNNN_name.txtar. The program talks to a real Prometheus and a real kube-apiserver where the story needs
// them; both are shared by all files.
package scenarios
