// Package platforms lets vllm-medic init look at the objects and the series of each platform that serves vLLM, on a
// real API server and a real Prometheus, and compares the whole file that it proposes.
package platforms
