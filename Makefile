.PHONY: help run test lint fmt build tools fuzz bench clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  \1\t/p' Makefile | expand -t 12

run: ## a drill on this machine: Prometheus, Alertmanager, a fleet in trouble, a page that stands for Slack
	@scripts/tools.sh && eval "$$(scripts/tools.sh --env)" && go run ./test/demo

test: ## lint, then everything; installs what it needs on Debian as root
	@scripts/test.sh

lint: ## formatting, vet, linters, dead code
	@scripts/tools.sh && scripts/lint.sh

fmt: ## format the code
	@scripts/tools.sh && eval "$$(scripts/tools.sh --env)" && git ls-files -co --exclude-standard '*.go' | xargs "$$VLLM_MEDIC_TOOLS/bin/gofumpt" -w

build: ## the program, into bin/
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.release=$(or $(RELEASE),dev)" -o bin/vllm-medic ./cmd/vllm-medic

tools: ## what the tests run beside our own code
	@scripts/tools.sh

fuzz: ## every fuzz test for half a minute
	@scripts/fuzz.sh 30s

bench: ## the benchmarks, each with its baseline in the same run
	go test -run '^$$' -bench . -benchtime 1s ./...

clean: ## remove what build made
	rm -rf bin
