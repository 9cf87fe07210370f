# Everything this project is built and checked with. `make` alone says what there is.

CARGO ?= cargo
DATABASE ?= tasks.db
# What `make test` runs the tests with; `.ci/test` runs those that fail once more, alone.
TESTS ?= $(CARGO) test --workspace --no-fail-fast
comma := ,
# What `make dist` builds for; `DIST_TARGET=x86_64-unknown-linux-gnu` links glibc.
DIST_TARGET ?= x86_64-unknown-linux-musl
# The static command is small, that with glibc fast.
DIST_PROFILE ?= $(if $(findstring musl,$(DIST_TARGET)),dist,release)
# Not with glibc, of which older ones do not load it.
DIST_LINK ?= $(if $(findstring musl,$(DIST_TARGET)),-C link-arg=-Wl$(comma)-z$(comma)pack-relative-relocs)
FUZZ ?= compiler
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := help
.PHONY: help build run site dist test fmt lint tidy bench fuzz clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

build: ## build the command with all optimisations: target/release/runnel, and runnel-window beside it
	$(CARGO) build --release -p runnel-app -p runnel-window

run: ## build without optimisation and run the tasks application on http://127.0.0.1:51001, with its data in tasks.db
	$(CARGO) run --profile quick -- examples/tasks.st sqlite:$(DATABASE)

site: ## build the site from README, spec, docs and the reference: dist/site
	$(CARGO) build --profile quick -p runnel-app
	$${CARGO_TARGET_DIR:-target}/quick/runnel doc --markdown dist/reference
	$${CARGO_TARGET_DIR:-target}/quick/runnel site/build.st dist/site

# The command of `dist` has the program of native windows inside, and no paths of the machine that builds it.
dist: export RUNNEL_WINDOW_HOST := $(abspath $(or $(CARGO_TARGET_DIR),target))/window/runnel-window.gz
dist: export CC_x86_64_unknown_linux_musl := $(CURDIR)/packaging/musl-cc
dist: export RUSTFLAGS := --remap-path-prefix=$(CURDIR)=. --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=cargo
dist: ## the packages in dist/ with a static command: archive, Debian, npm, PyPI, container, Homebrew (docs/install.md)
	@mkdir -p dist $(dir $(RUNNEL_WINDOW_HOST))
	@rustc --print target-libdir --target $(DIST_TARGET) | xargs test -d || \
		{ echo "first: rustup target add $(DIST_TARGET), and apt install musl-tools"; exit 69; }
	$(CARGO) build --profile window -p runnel-window
	gzip -9 -n -c $${CARGO_TARGET_DIR:-target}/window/runnel-window > $(RUNNEL_WINDOW_HOST)
	$(CARGO) rustc --profile $(DIST_PROFILE) -p runnel-app --bin runnel --target $(DIST_TARGET) -- $(DIST_LINK)
	install -m 755 $${CARGO_TARGET_DIR:-target}/$(DIST_TARGET)/$(DIST_PROFILE)/runnel dist/runnel
	packaging/pack.py dist/runnel dist

# One profile and one target folder throughout; the quickest checks first. Tests list here what they
# leave out because a program or recorded material is missing.
test: export RUNNEL_LEFT_OUT := $(CURDIR)/target/left-out.txt
test: ## check everything: format, lints, tidiness, tests of each crate, the manual, the examples
	@mkdir -p target && : > target/left-out.txt
	$(CARGO) fmt --all --check
	$(CARGO) xtask tidy
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(TESTS)
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
