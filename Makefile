# Everything this project is built and checked with. `make` alone says what there is.

CARGO ?= cargo
DATABASE ?= tasks.db
# What `make test` runs the tests with; `.ci/test` runs those that fail once more, alone.
TESTS ?= $(CARGO) test --workspace --no-fail-fast
comma := ,
# What `make dist` builds for; `DIST_TARGET=x86_64-unknown-linux-gnu` links glibc, `aarch64-unknown-linux-musl` is for arm64.
DIST_TARGET ?= x86_64-unknown-linux-musl
DIST_MACHINE := $(firstword $(subst -, ,$(DIST_TARGET)))
# For another machine than this one: the prefix of Debian's cross compiler, and a folder that leaves the packages for this one alone.
DIST_CROSS := $(if $(filter $(DIST_MACHINE),$(shell uname -m)),,$(DIST_MACHINE)-linux-gnu-)
DIST_FOLDER ?= $(if $(DIST_CROSS),dist/$(DIST_MACHINE),dist)
# The program of native windows loads GTK at run time, with glibc.
DIST_WINDOW := $(DIST_MACHINE)-unknown-linux-gnu
# The static command is small, that with glibc fast.
DIST_PROFILE ?= $(if $(findstring musl,$(DIST_TARGET)),dist,release)
# Packed relocations: not with glibc, of which older ones do not load them. For arm64 Rust links the static command without
# relocations, and LuaJIT needs `__clear_cache` of libgcc.
DIST_LINK_x86_64-unknown-linux-musl := -C link-arg=-Wl$(comma)-z$(comma)pack-relative-relocs
DIST_LINK_aarch64-unknown-linux-musl := -C link-arg=-lgcc
DIST_LINK ?= $(DIST_LINK_$(DIST_TARGET))
DIST_LINKERS := $(if $(DIST_CROSS),$(foreach target,$(DIST_TARGET) $(DIST_WINDOW),--config 'target.$(target).linker="$(DIST_CROSS)gcc"'))
DIST_CARGO = $(strip $(CARGO) $(DIST_LINKERS))
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
dist: export RUNNEL_WINDOW_HOST := $(abspath $(or $(CARGO_TARGET_DIR),target))/$(DIST_WINDOW)/window/runnel-window.gz
dist: export CC_$(subst -,_,$(DIST_MACHINE)_unknown_linux_musl) := $(CURDIR)/packaging/musl-cc
# The time that compiled C and the archives name: that of the commit, so that two builds give the same bytes.
dist: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
# LuaJIT strips its interpreter, which nothing runs, with a strip that may not know the machine.
dist: export TARGET_STRIP := true
dist: export RUSTFLAGS := --remap-path-prefix=$(CURDIR)=. --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=cargo
dist: ## the packages in dist/ with a static command: archive, Debian, npm, PyPI, container, Homebrew (docs/install.md)
	@mkdir -p $(DIST_FOLDER)
	@for target in $(DIST_TARGET) $(DIST_WINDOW); do rustc --print target-libdir --target $$target | xargs test -d || \
		{ echo "first: rustup target add $(DIST_TARGET) $(DIST_WINDOW), and the packages in docs/install.md"; exit 69; }; done
	$(DIST_CARGO) build --profile window -p runnel-window --target $(DIST_WINDOW)
	gzip -9 -n < $(RUNNEL_WINDOW_HOST:.gz=) > $(RUNNEL_WINDOW_HOST)
	$(DIST_CARGO) rustc --profile $(DIST_PROFILE) -p runnel-app --bin runnel --target $(DIST_TARGET) -- $(DIST_LINK)
	install -m 755 $${CARGO_TARGET_DIR:-target}/$(DIST_TARGET)/$(DIST_PROFILE)/runnel $(DIST_FOLDER)/runnel
	packaging/pack.py $(DIST_FOLDER)/runnel $(DIST_FOLDER)

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

lint: ## clippy, tidiness, and advisories and licences where cargo-deny is installed
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) xtask tidy
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny check advisories bans licenses sources; \
	else echo "cargo-deny is not installed: advisories and licences are not checked"; fi

tidy: ## check what ARCHITECTURE.md and STYLE.md promise
	$(CARGO) xtask tidy

bench: ## measure: the benchmarks of the crates
	$(CARGO) bench --workspace --benches

fuzz: ## look for inputs that break a part: FUZZ=compiler FUZZ_SECONDS=60 (needs cargo-fuzz and nightly)
	cd fuzz && $(CARGO) +nightly fuzz run $(FUZZ) -- -max_total_time=$(FUZZ_SECONDS)

clean: ## remove what was built
	$(CARGO) clean
	rm -rf fuzz/target
