# Everything this project is built and checked with. `make` alone says what there is.

CARGO ?= cargo
DATABASE ?= tasks.db
FUZZ ?= compiler
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := help
.PHONY: help build run dist test fmt lint tidy bench fuzz clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

build: ## build the command with all optimisations: target/release/runnel, and runnel-window beside it
	$(CARGO) build --release -p runnel-app -p runnel-window

run: ## build without optimisation and run the tasks application on http://127.0.0.1:51001, with its data in tasks.db
	$(CARGO) run --profile quick -- examples/tasks.st sqlite:$(DATABASE)

# The command of `dist` has the program of native windows inside.
dist: export RUNNEL_WINDOW_HOST := $(abspath $(or $(CARGO_TARGET_DIR),target))/window/runnel-window.gz
dist: ## the optimised command and a Debian package in dist/, ready for packaging/Containerfile
	@mkdir -p dist $(dir $(RUNNEL_WINDOW_HOST))
	$(CARGO) build --profile window -p runnel-window
	gzip -9 -n -c $${CARGO_TARGET_DIR:-target}/window/runnel-window > $(RUNNEL_WINDOW_HOST)
	$(CARGO) build --release
	install -m 755 $${CARGO_TARGET_DIR:-target}/release/runnel dist/runnel
	@if command -v dpkg-deb >/dev/null 2>&1; then packaging/deb dist/runnel dist; \
	else echo "dpkg-deb is not installed: no Debian package"; fi

# One profile and one target folder throughout; the quickest checks first. Tests list here what they
# leave out because a program or recorded material is missing.
test: export RUNNEL_LEFT_OUT := $(CURDIR)/target/left-out.txt
test: ## check everything: format, lints, tidiness, tests of each crate, the manual, the examples
	@mkdir -p target && : > target/left-out.txt
	$(CARGO) fmt --all --check
	$(CARGO) xtask tidy
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) test --workspace --no-fail-fast
	@if [ -s target/left-out.txt ]; then echo "left out:"; sort -u target/left-out.txt | sed 's/^/  /'; \
	else echo "nothing was left out"; fi

fmt: ## format the Rust sources and the example programs
	$(CARGO) fmt --all
	$(CARGO) run -- fmt examples/*.st

lint: ## clippy, tidiness, and licences where cargo-deny is installed
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) xtask tidy
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny check bans licenses sources; \
	else echo "cargo-deny is not installed: licences are not checked"; fi

tidy: ## check what ARCHITECTURE.md and STYLE.md promise
	$(CARGO) xtask tidy

bench: ## measure: the benchmarks of the crates
	$(CARGO) bench --workspace --benches

fuzz: ## look for inputs that break a part: FUZZ=compiler FUZZ_SECONDS=60 (needs cargo-fuzz and nightly)
	cd fuzz && $(CARGO) +nightly fuzz run $(FUZZ) -- -max_total_time=$(FUZZ_SECONDS)

clean: ## remove what was built
	$(CARGO) clean
	rm -rf fuzz/target
