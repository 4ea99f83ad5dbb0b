# Installs everything that a new machine with Go, Node and git needs.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR: # otherwise the next make takes the output of a failed build for current

BUILD   := build
WASM    := $(BUILD)/watchglass.wasm
EMBEDDED := host/client/module/watchglass.wasm
PAGE    := host/server/page/index.html
BINARY  := $(BUILD)/watchglass
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
GO_SRC  := $(shell git ls-files -co --exclude-standard -- '*.go' go.mod go.sum core/body/skeleton/kinds)
JS_SRC  := $(shell git ls-files -co --exclude-standard -- js/src js/build.mjs js/package.json js/package-lock.json)
PAGE_SRC := $(shell git ls-files -co --exclude-standard -- examples/dashboard)
EDGE_SRC := $(shell git ls-files -co --exclude-standard -- examples/edge)
BENCH   ?=
RELEASE := host/internal/release
KUBERNETES := host/conformance/kubernetes
KUBERNETES_VERSION := v1.36.3
CHART := host/conformance/chart
HELM := $(CHART)/bin/helm-v4.3.1
FUZZTIME ?= 30s
SEEDS   ?= 1000
SEED    ?= 1
DURATION ?= 20m
COUNT   ?= 20
LOAD    ?= 2
JOBS    ?= 1
PKGS    ?=
MUTANTS ?=
RULE    ?=

##@ Use
demo: $(BINARY) ## Start etcd, a cluster simulator, the connector and the dashboard on http://127.0.0.1:8080
	@exec $(BINARY) demo $(DEMO_FLAGS)

edge: $(BINARY) $(BUILD)/edge ## Run an edge on http://127.0.0.1:8787: etcd, a connector that dials out, Cloudflare's runtime
	@exec $(BUILD)/edge $(EDGE_FLAGS)

build: $(BINARY) ## Build the watchglass binary with module and dashboard inside: build/watchglass

##@ Develop
test: ## Run every test: Go, wazero, Node, Chromium, workerd
	@$(MAKE) --no-print-directory -j4 test-parts # downloads run beside builds
	@CHROMIUM="$$(sh js/scripts/chromium.sh)" go run ./host/internal/testsum

test-edge: $(BINARY) $(BUILD)/edge js/build/test examples/edge/node_modules ## Run only the tests of the edge: Durable Objects in workerd, and their feeds
	cd js && node --test --test-reporter=spec $$(ls build/test/edge*.test.js)
	go test ./host/push ./host/edge/... ./host/access/... ./host/internal/edge
	CHROMIUM="$$(sh js/scripts/chromium.sh)" go test -run TestEdge ./host/e2e
	node --test --test-reporter=spec examples/edge/*.test.mjs

test-firefox: $(BINARY) js/build/test ## Run the browser tests of the npm package in Firefox, except those that need DevTools of Chromium (Debian: apt-get install firefox-esr)
	@firefox="$${FIREFOX:-$$(command -v firefox-esr || command -v firefox || true)}"; \
	[ -n "$$firefox" ] || { echo "no Firefox found; install one, or set FIREFOX to its path"; exit 1; }; \
	cd js && BROWSER=firefox FIREFOX="$$firefox" node --test --test-concurrency=1 --test-reporter=spec $$(grep -l 'from "./browser.js"' test/*.test.ts | sed 's|^test/\(.*\)ts$$|build/test/\1js|')

rules: ## Check that a test proves every rule of core/SEMANTICS.md (RULE=W13 explains one)
	@go run ./host/internal/rulebook/cmd/rules -rule "$(RULE)"

packaging: js/dist/index.js js/packaging/node_modules ## Install the packed npm tarball into tiny projects and run each: Vite, webpack, Rollup, esbuild, Next.js, Node, TypeScript
	@CHROMIUM="$$(sh js/scripts/chromium.sh)" node --test --test-reporter=spec js/packaging/*.test.mjs

headlamp: $(BINARY) js/dist/index.js examples/headlamp/node_modules ## Build the plugin of examples/headlamp with Headlamp's tools (850 MB), and test it in Chromium
	@rm -rf $(BUILD)/headlamp examples/headlamp/node_modules/watchglass
	@mkdir -p $(BUILD)/headlamp examples/headlamp/node_modules/watchglass
	@cd js && npm pack --ignore-scripts --silent --pack-destination ../$(BUILD)/headlamp >/dev/null
	@tar -xzf $(BUILD)/headlamp/*.tgz -C examples/headlamp/node_modules/watchglass --strip-components=1
	cd examples/headlamp && npm run --silent tsc && npm run --silent build && node test/host/build.mjs
	@CHROMIUM="$$(sh js/scripts/chromium.sh)" node --test --test-reporter=spec examples/headlamp/test/*.test.mjs

flakes: $(BINARY) $(BUILD)/edge js/build/test examples/edge/node_modules ## Run each package and test file COUNT times (default 20) beside LOAD busy processes (default 2), JOBS at a time (default 1), all or PKGS='./host/server js/build/test/wire.test.js', and list the tests that failed
	@CHROMIUM="$$(sh js/scripts/chromium.sh)" go run ./host/internal/testsum -flakes -count $(COUNT) -load $(LOAD) -jobs $(JOBS) $(PKGS)

lint: js/node_modules $(WASM) ## Check formatting, vet, staticcheck, TypeScript, the import rules, links of documents, licenses, known vulnerabilities (if their databases can be reached) and the size of the module
	@out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "gofmt would change:"; echo "$$out"; exit 1; }
	go vet ./...
	go -C host/conformance vet ./selectors
	go -C $(RELEASE) vet ./...
	go tool staticcheck ./...
	GOOS=wasip1 GOARCH=wasm go vet ./wasm/guest
	GOOS=js GOARCH=wasm go vet ./wasm/edge ./host/edge
	cd js && npm run --silent typecheck
	js/node_modules/.bin/tsc --noEmit -p examples/dashboard
	js/node_modules/.bin/tsc --noEmit -p examples/edge
	js/node_modules/.bin/tsc --noEmit -p examples/react
	go test -run 'Imports' ./core
	go test ./host/internal/links
	go run ./host/internal/dependencies
	@go run ./host/internal/bench -only P7 -check

scenarios: $(WASM) js/node_modules ## Replay the scenarios in five runtimes and compare every byte
	@CHROMIUM="$$(sh js/scripts/chromium.sh)" go run ./host/scenarios/cmd/scenarios

sim: ## Run the simulation for SEEDS seeds (default 1000) from SEED on (default 1)
	@go run ./host/internal/sim -seeds $(SEEDS) -seed $(SEED)

chaos: $(BINARY) js/dist/index.js ## Inject faults into real processes for DURATION (default 20m) from SEED, and compare every reader with etcd
	@CHROMIUM="$$(sh js/scripts/chromium.sh)" go run ./host/internal/chaos -seed $(SEED) -duration $(DURATION)

load: $(BINARY) ## Measure memory per reader, and what abuse costs healthy readers (LOAD_FLAGS="-check -readers 1000")
	@go run ./host/internal/load $(LOAD_FLAGS)

sizing: $(BINARY) ## Measure processor time and memory against objects, changes, readers and informers: the sizing table of examples/deploy (15 minutes)
	@go run ./host/internal/load sizing $(SIZING_FLAGS)

mutants: js/dist/index.js $(BUILD)/edge ## Apply each mutant (or MUTANTS=regexp) and check that the tests that claim it fail
	@go run ./host/internal/rulebook/cmd/mutants -run '$(MUTANTS)'

bench: $(WASM) js/dist/index.js js/build/bench ## Compare with the alternatives: all figures, or BENCH=P1,P9
	@CHROMIUM="$$(sh js/scripts/chromium.sh --browser)" go run ./host/internal/bench -only '$(BENCH)'

bench-json: $(WASM) js/dist/index.js js/build/bench ## Run bench and also write build/bench.json
	@CHROMIUM="$$(sh js/scripts/chromium.sh --browser)" go run ./host/internal/bench -only '$(BENCH)' -json $(BUILD)/bench.json

bench-edge: js/dist/index.js ## Measure the figures of the edge in Cloudflare's runtime
	@go run ./host/internal/bench -only edge

fuzz: ## Fuzz every parser, and the core against Kubernetes, for FUZZTIME each (default 30s)
	@go list -f '{{.ImportPath}}{{range .TestGoFiles}} {{.}}{{end}}{{range .XTestGoFiles}} {{.}}{{end}}' ./... >/dev/null
	@for f in $$(git grep -l '^func Fuzz' -- '*_test.go'); do \
	  for name in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$f); do \
	    echo "== $$name ($$(dirname $$f))"; (cd $$(dirname $$f) && go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x .); \
	  done; done

conformance: $(BINARY) examples/edge/dist/worker.js $(KUBERNETES)/bin/kube-apiserver-$(KUBERNETES_VERSION) $(KUBERNETES)/bin/kubectl-$(KUBERNETES_VERSION) $(HELM) ## Compare with Kubernetes itself: its libraries, kube-apiserver, kubectl, Helm (the first build takes minutes)
	go -C host/conformance vet ./...
	go -C host/conformance/objcache vet ./...
	go -C host/conformance/chart vet ./...
	go -C host/conformance/monitoring vet ./...
	@CHROMIUM="$$(sh js/scripts/chromium.sh)" go run ./host/internal/testsum -conformance

$(KUBERNETES)/bin/%-$(KUBERNETES_VERSION): $(KUBERNETES)/go.mod $(KUBERNETES)/go.sum
	go -C $(KUBERNETES) build -trimpath -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=$(KUBERNETES_VERSION)' -o bin/$(@F) k8s.io/kubernetes/cmd/$*

$(HELM): $(CHART)/go.mod $(CHART)/go.sum
	go -C $(CHART) build -trimpath -ldflags '-s -w' -o bin/$(@F) helm.sh/helm/v4/cmd/helm

docs: js/docs/node_modules js/node_modules ## Build the API reference of the npm package (build/docs/index.html), and check the links of all Markdown files
	cd js/docs && npm run --silent build
	go test ./host/internal/links

golden: $(WASM) ## Rewrite the golden files: wire frames, scenarios, ABI (read the diff before you commit it)
	go test ./core/wire -update
	go test ./core/coretest -run TestScenarios -rewrite
	go test ./wasm/guest -update

licenses: ## Rewrite host/THIRD_PARTY.md with the licenses of all linked modules
	go run ./host/internal/dependencies -write

clean: ## Remove all build products
	rm -rf $(BUILD) js/dist js/build examples/dashboard/dist examples/edge/dist
	find host/client/module host/server/page -type f ! -name .gitignore ! -name .gitkeep -delete

##@ Release
release: ## Build a release: a tag with the build products, archives, npm tarball, image and SBOMs in build/release (VERSION=v0.2.0)
	go -C $(RELEASE) run . -C $(CURDIR) -version '$(if $(filter file,$(origin VERSION)),,$(VERSION))' -out $(CURDIR)/$(BUILD)/release/$(VERSION) $(RELEASE_FLAGS)

image: $(EMBEDDED) $(PAGE) ## Build the container image for amd64 and arm64 without Docker: build/image
	rm -rf $(BUILD)/image
	go -C $(RELEASE) run . -image -C $(CURDIR) -version '$(VERSION)' -out $(CURDIR)/$(BUILD)/image

test-release: js/node_modules $(HELM) ## Make a release of the current commit in a copy, and install each part of it offline
	go -C $(RELEASE) test -count=1 -timeout 30m ./e2e

##@ Parts
test-parts: $(BINARY) $(BUILD)/edge js/build/test examples/edge/node_modules chromium ## Build and install what the tests need
chromium: ## Install Chromium, if there is none
	@sh js/scripts/chromium.sh >/dev/null
embedded: $(EMBEDDED) $(PAGE) ## Build the files for go:embed: the module and the dashboard
wasm: $(EMBEDDED) ## Build the module: build/watchglass.wasm
js: js/dist/index.js ## Build the npm package: js/dist
dashboard: examples/dashboard/dist/index.html ## Build the dashboard: examples/dashboard/dist
worker: examples/edge/dist/worker.js ## Build the worker of the edge: examples/edge/dist

$(WASM): $(filter core/% wasm/% go.%,$(GO_SRC))
	@mkdir -p $(BUILD)
	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags='-s -w' -o $@.linked ./wasm/guest
	go run ./wasm/strip/cmd/wasmstrip -guest $@.linked $@
	@rm $@.linked

$(BUILD)/edge.wasm: $(filter core/% wasm/edge/% wasm/strip/% host/edge/% host/kubeapi/% host/access/% host/source/% host/internal/% go.%,$(GO_SRC))
	@mkdir -p $(BUILD)
	GOOS=js GOARCH=wasm go build -trimpath -ldflags '$(LDFLAGS)' -o $@.linked ./wasm/edge
	go run ./wasm/strip/cmd/wasmstrip $@.linked $@
	@rm $@.linked
	cp "$$(go env GOROOT)/lib/wasm/wasm_exec.js" $(BUILD)

# The binary comes first: two builds at a time, with an empty cache, would compile the packages of both twice.
$(BUILD)/edge: examples/edge/dist/worker.js examples/dashboard/dist/index.html $(GO_SRC) | $(BINARY)
	go build -o $@ ./host/internal/edge

examples/edge/dist/worker.js: js/dist/index.js $(BUILD)/edge.wasm $(EDGE_SRC)
	node examples/edge/build.mjs

js/node_modules: js/package-lock.json
	cd js && npm ci --no-audit --no-fund
	@touch $@

js/dist/index.js: js/node_modules $(WASM) $(JS_SRC)
	cd js && npm run --silent build

examples/dashboard/dist/index.html: js/dist/index.js $(PAGE_SRC)
	node examples/dashboard/build.mjs

$(EMBEDDED): $(WASM)
	@mkdir -p $(@D)
	cp $< $@

$(PAGE): examples/dashboard/dist/index.html
	@mkdir -p $(@D)
	cp -r examples/dashboard/dist/. $(@D)/
	@touch $@

$(BINARY): $(EMBEDDED) $(PAGE) $(GO_SRC)
	go build -ldflags '$(LDFLAGS)' -o $@ ./host/cmd/watchglass # without -trimpath, to share compiled packages with the tests

js/build/test: js/dist/index.js $(shell git ls-files -co --exclude-standard -- js/test)
	cd js && node build.mjs --test
	@touch $@

examples/edge/node_modules: examples/edge/package-lock.json
	cd examples/edge && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

examples/headlamp/node_modules: examples/headlamp/package-lock.json
	cd examples/headlamp && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error # npm ci requires the packages of all platforms
	@touch $@

js/packaging/node_modules: js/packaging/package-lock.json
	cd js/packaging && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

js/docs/node_modules: js/docs/package-lock.json
	cd js/docs && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

js/bench/node_modules: js/bench/package-lock.json
	cd js/bench && npm ci --no-audit --no-fund --loglevel=error >&2
	@touch $@

js/build/bench: js/node_modules js/bench/node_modules $(JS_SRC) $(shell git ls-files -co --exclude-standard -- js/bench)
	node js/bench/build.mjs
	@touch $@

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

.PHONY: test-parts chromium release image test-release embedded demo edge build test test-edge test-firefox flakes lint scenarios sim chaos load sizing rules packaging headlamp mutants bench bench-json bench-edge fuzz conformance golden docs licenses clean wasm js dashboard worker help
