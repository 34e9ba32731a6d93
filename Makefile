.PHONY: help run test accuracy lint fmt build tools fuzz bench clean

RELEASE ?= dev

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  \1\t/p' Makefile | expand -t 12

run: ## a drill on this machine: Prometheus, Alertmanager, a fleet in trouble, a page that stands for Slack
	@scripts/tools.sh prom && go run ./test/demo

test: ## lint, then everything, each tier with its time; installs what it needs on Debian as root
	@scripts/test.sh

accuracy: ## how often the diagnosis is right: labelled incidents through Prometheus' engine, as a confusion table
	@go run ./test/diagnosis/cmd/accuracy

lint: ## formatting, vet, linters, dead code, pins
	@scripts/lint.sh

fmt: ## format the code
	@scripts/tools.sh lint && bin=$$(scripts/tools.sh --print)/bin && $$bin/gofumpt -w . && $$bin/goimports -local "$$(go list -m)" -w .

build: ## the program, into bin/
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.release=$(RELEASE)" -o bin/vllm-medic ./cmd/vllm-medic

tools: ## what the tests run beside our own code; about ten minutes the first time
	@scripts/tools.sh

fuzz: ## every fuzz test for ten minutes in all; keeps what it learns
	@scripts/fuzz.sh 600 "$$(go env GOCACHE)/vllm-medic-fuzz"

bench: ## the benchmarks with their baselines, five runs each, as benchstat reads them
	@command -v webhook >/dev/null || echo "Debian's webhook is not installed (apt-get install webhook): BenchmarkIntake runs without that baseline"
	go test -run '^$$' -bench . -benchmem -count 5 -timeout 2h ./...

clean: ## remove what build made, and the tools of other versions
	rm -rf bin
	@scripts/tools.sh --prune
