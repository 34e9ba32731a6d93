module github.com/vllm-medic/vllm-medic/tools/release/licenses

go 1.26.0

require github.com/google/licensecheck v0.3.1
