# Writ's developer commands. Each installs what it needs; `make test` is what CI runs.

GO       ?= go
BIN      := $(CURDIR)/bin
PACKAGES ?= ./...
export GOFLAGS := -buildvcs=false $(GOFLAGS)

.PHONY: build
build: ## Build bin/writ.
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o $(BIN)/writ ./cmd/writ

.PHONY: up
up: ## Run the guestbook until Ctrl-C.
	$(GO) run ./cmd/writ up examples/guestbook

.PHONY: test
test: lint cross kubectl ## Lint, cross-build and run every test.
	WRIT_KUBECTL="$$(cat $(BIN)/kubectl.path)" $(GO) test -timeout 10m $(PACKAGES)

.PHONY: race
race: ## Run the tests of the concurrent packages under the race detector (needs gcc).
	WRIT_KUBECTL="$$(cat $(BIN)/kubectl.path)" $(GO) test -race -timeout 15m ./cluster/... ./nodeagent/... ./apply/...

.PHONY: lint
lint: ## gofmt, go vet and staticcheck.
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "gofmt: the files above are not formatted"; exit 1; }
	$(GO) vet $(PACKAGES)
	$(GO) tool -modfile=.ci/tools/go.mod staticcheck $(PACKAGES)

.PHONY: cross
cross: ## Prove that the client side builds where no pods can run.
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) build -o /dev/null ./cmd/writ
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) build -o /dev/null ./cmd/writ

# The tests run the real kubectl: the one on PATH when it is 1.32 or newer,
# else one built from its module.
.PHONY: kubectl
kubectl: ## Find or build kubectl for the tests.
	@mkdir -p $(BIN)
	@.ci/kubectl/find.sh > $(BIN)/kubectl.path || { echo "building kubectl" >&2; \
	  (cd .ci/kubectl && CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o $(BIN)/kubectl .) && echo $(BIN)/kubectl > $(BIN)/kubectl.path; }

.PHONY: bench
bench: ## Measure: benchmarks of the packages, then the whole path.
	$(GO) test -run '^$$' -bench . -benchmem -timeout 30m ./cluster/... ./nodeagent/... ./render/... ./lang/... ./apply/...
	.ci/bench.sh
	.ci/bench-render.sh

.PHONY: clean
clean: ## Remove what the other targets built.
	rm -rf $(BIN)

.PHONY: help
help: ## List the targets.
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12
