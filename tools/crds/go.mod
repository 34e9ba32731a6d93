module github.com/vllm-medic/vllm-medic/tools/crds

go 1.26.0

require (
	github.com/envoyproxy/gateway v1.9.1
	github.com/kedacore/keda/v2 v2.21.0
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
