.PHONY: help run test test-small test-medium test-large test-touched test-under-load gate accuracy efficacy stores lint fmt build tools fuzz bench clean gallery release vulncheck licenses

RELEASE ?= dev

# Tests of all sizes, where go test by itself runs the small ones: see test/size.
export VLLM_MEDIC_TESTS ?= large

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 20

run: ## the sandbox: a simulated fleet in trouble, and the bot that asks and heals it, on one page
	@CGO_ENABLED=0 go run ./cmd/vllm-medic sandbox

test: ## the small and the medium tests; installs what they need on Debian as root, builds the tools the first time
	@scripts/prepare.sh
	@scripts/tools.sh prom kube kwok helm crds slack grafana gotestsum tests
	@scripts/test.sh

test-small: ## what needs Go and nothing else, with the race detector (go test ./... runs it without)
	@scripts/test.sh small

test-medium: ## what starts real programs; alone, it runs the small tests as well, without the race detector
	@scripts/test.sh medium

test-large: ## what takes minutes and is in no gate, part by part (test/large.md); PARTS="crash journeys" are some of them
	@scripts/large.sh $(PARTS)

test-touched: ## the parts of it that the commits since BASE (origin/main) touch
	@scripts/large.sh --touched $(or $(BASE),origin/main)

test-under-load: ## the whole incidents five times on a machine that is busy with something else (apt-get install stress-ng)
	@stress-ng --cpu 4 --quiet & load=$$!; trap "kill $$load" EXIT; VLLM_MEDIC_TOOLS=$$(scripts/tools.sh --print) \
	VLLM_MEDIC_TESTS=large CGO_ENABLED=0 GORACE=atexit_sleep_ms=100 GOGC=400 \
	go test -trimpath -vet=off -ldflags=-w -shuffle=on -count 5 -timeout 3h ./test/e2e

gate: ## what decides whether a commit lands: .ci/run on a clean clone of it; OUT=FOLDER keeps the clone
	@scripts/gate.sh $(OUT)

gallery: ## take the pictures of docs/slack.md, docs/pages.md and docs/sandbox.md again, after a message or a page has changed; look at them
	@scripts/prepare.sh && scripts/tools.sh kube crds
	@VLLM_MEDIC_TOOLS=$$(scripts/tools.sh --print) CGO_ENABLED=0 go test -vet=off ./test/messages -run '(TestMessages|TestPages)/gallery' -update
	@CGO_ENABLED=0 go test -vet=off ./test/sandbox -run '^TestTheFirstMinuteIsPlayedByClicking$$' -update
	@CGO_ENABLED=0 go test -vet=off ./test/sandbox -run '^TestTheReadmeShowsRoundOneInMotion$$' -update

accuracy: ## how often the diagnosis is right: labelled incidents through Prometheus' engine, as a confusion table
	@go run ./test/diagnosis/cmd/accuracy

efficacy: ## what the bot is worth: 22 scripts with 20 seeds in a simulated fleet, under five hands; writes docs/efficacy.md; 50 minutes of two cores
	@TMPDIR=$$([ -w /dev/shm ] && echo /dev/shm || echo /tmp) GOGC=400 CGO_ENABLED=0 nice -n 10 go test -trimpath -vet=off -count 1 \
	-timeout 6h -tags efficacy -run TestEfficacy ./test/efficacy -seeds $(or $(SEEDS),20) -write

stores: ## whether VictoriaMetrics and Thanos give the same diagnoses as Prometheus; builds both the first time
	@scripts/tools.sh prom && stores=$$(scripts/stores.sh) && VLLM_MEDIC_TOOLS=$$(scripts/tools.sh --print) VLLM_MEDIC_STORES=$$stores \
	CGO_ENABLED=0 go test -trimpath -count 1 -tags stores -v -run TestStores ./test/stores

lint: ## formatting, vet, linters, dead code, pins
	@scripts/lint.sh

fmt: ## format the code
	@scripts/tools.sh lint && bin=$$(scripts/tools.sh --print)/bin && $$bin/gofumpt -w . && $$bin/goimports -local "$$(go list -m)" -w .

build: ## the program, into bin/
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.release=$(RELEASE)" -o bin/vllm-medic ./cmd/vllm-medic

tools: ## what the tests run beside our own code; takes a quarter of an hour the first time
	@scripts/tools.sh

fuzz: ## every fuzz test for ten minutes in all; keeps what it learns
	@scripts/fuzz.sh 600 "$$(go env GOCACHE)/vllm-medic-fuzz"

bench: ## the benchmarks with their baselines, five runs each, as benchstat reads them
	@command -v webhook >/dev/null || echo "Debian's webhook is not installed (apt-get install webhook): BenchmarkIntake runs without that baseline"
	go test -run '^$$' -bench . -benchmem -count 5 -timeout 2h ./...

release: ## programs, archives, SBOMs, an OCI image and checksums of this commit, built twice, into dist/; FRESH=1 compiles twice
	@for part in licenses pack; do (cd tools/release/$$part && GOFLAGS= CGO_ENABLED=0 go test .) || exit 1; done
	@cd tools/release/pack && GOFLAGS= CGO_ENABLED=0 go run . $(if $(FRESH),-fresh)
	@scripts/vulncheck.sh dist/vulnerabilities.txt

vulncheck: ## whether the program reaches code with a published vulnerability; VULNDB=file:///... where vuln.go.dev is out of reach
	@scripts/vulncheck.sh

licenses: ## write THIRD_PARTY_LICENSES again, after what is linked has changed
	@cd tools/release/licenses && GOFLAGS= go run .

clean: ## remove what build made, and the tools of other versions
	rm -rf bin dist
	@scripts/tools.sh --prune
