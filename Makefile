# Every target is what a person could type; CARGO_TARGET_DIR and LIBTORCH are respected where they are set.
# `cargo build --release` and `cargo test --release` share all their dependencies. Clippy checks them once more,
# polars and tch included: about 3 minutes of CPU time, without compiling any C++ a second time.

SPECIMEN = $(or $(CARGO_TARGET_DIR),./target)/release/specimen

# Two workers at a time: the baseline holds no times, and results do not depend on shards.
GATED = results/runs/gate-quickstart

.PHONY: help quickstart gate audit build wheel dist dist-check test test-long test-torch211 lint packages notices reference docs bench chaos chaos-local chaos-slurm slurm-quickstart train-tiny libtorch

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

quickstart: build ## build, then generate, measure and report the first experiment
	$(SPECIMEN) quickstart --out results/runs/quickstart

gate: build ## run the first experiment again and compare it with the baseline in results/baselines
	rm -rf $(GATED)
	OMP_NUM_THREADS=1 $(SPECIMEN) run experiments/specs/quickstart.toml --shards 2 --timed-jobs 2 --out $(GATED)
	$(SPECIMEN) gate $(GATED) --baseline results/baselines/quickstart.json --junit $(GATED)/gate.xml

# The Python of the tests, which has NumPy, where scripts/python-tests.sh made one.
audit: ## recompute every number of RUN=folder from its raw rows, without the program; ARGS="--costs FILE" and more
	@$(or $(wildcard $(or $(CARGO_TARGET_DIR),target)/python-tests/bin/python),python3) harness/python/tests/audit.py $(RUN) $(ARGS)

build: libtorch ## build everything, the binary `specimen` included
	cargo build --release --locked

wheel: build ## write dist/specimen_bench-*.whl: the program and the Python package; pip installs it next to a torch of the same version
	python3 scripts/wheel.py

dist: build ## write dist/specimen-*.tar.xz: the program and all libraries that it needs, for machines without torch (4 minutes)
	python3 scripts/dist.py

dist-check: ## run the quickstart of dist/specimen-*.tar.xz in an empty root folder, which needs root or user namespaces
	scripts/bare-root.sh dist/specimen-*.tar.xz quickstart --limit 4

test: libtorch ## run all tests; closes with what was skipped and the counts
	scripts/test.sh

test-long: libtorch ## the same with the long tests at full size and more disturbances (an hour)
	LONG_TESTS=1 CHAOS_ROUNDS=10 scripts/test.sh

test-torch211: ## build against torch 2.11.0 in a folder of its own, and run the tests of decoding, networks and metrics with it
	TORCH=2.11.0 scripts/libtorch.sh $(CURDIR)/target/libtorch-2.11
	LIBTORCH=$(CURDIR)/target/libtorch-2.11 CARGO_TARGET_DIR=$(CURDIR)/target/torch-2.11 OMP_NUM_THREADS=1 cargo test --release -p specimen-decode -p specimen-operators -p specimen-models -p specimen-extract -p specimen-measure

lint: libtorch ## formatting, clippy and the documentation, without a single warning
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps

packages: ## pack the crates that are of use alone, as for crates.io, and build each from its package (no libtorch)
	cargo package --locked $(if $(ALLOW_DIRTY),--allow-dirty) -p specimen-foundation -p specimen-stats -p specimen-pixels -p specimen-decode

notices: ## write THIRD-PARTY.txt again: the packages of the program and their licences
	python3 scripts/notices.py

reference: libtorch ## write the pages of docs/reference and the schema of specs again, from the program
	WRITE_REFERENCE=1 cargo test --release --workspace --test reference

docs: ## build the site of docs/ into target/site (mdBook: cargo install mdbook)
	scripts/site.sh

bench: libtorch ## time the acceptance walk, a step of the embedded model, statistics, pixels and networks (an idle machine, please)
	cargo bench --profile release -p specimen-decode -p specimen-models -p specimen-stats -p specimen-pixels -p specimen-extract

chaos-local: libtorch ## disturb 100 runs by kill -9 and more, and compare the results (about 10 minutes)
	CHAOS_ROUNDS=100 cargo test --release --workspace --test chaos -- --nocapture --test-threads 1

chaos-slurm: libtorch ## disturb runs on a Slurm of one node in every way and print the table (Debian's slurmctld slurmd slurm-client munge; about 20 minutes)
	CHAOS_ROUNDS=5 STRICT_SLURM=1 cargo test --release --workspace --test slurm no_disturbance -- --nocapture

slurm-quickstart: libtorch ## run the first experiment, whole, here and in five shards on a Slurm of one node, and compare the results (minutes)
	SLURM_QUICKSTART=whole STRICT_SLURM=1 cargo test --release --workspace --test slurm the_quickstart -- --nocapture

chaos: chaos-local chaos-slurm ## both

train-tiny: build ## train the embedded model again, all networks (hours on two cores)
	for network in tokenizer target drafter drafter-further drafter-cascade drafter-eagle3 features; do OMP_NUM_THREADS=1 $(SPECIMEN) train $$network harness/train/tiny.toml || exit 1; done

libtorch: ## fill .libtorch with the libtorch at hand, of 2.11 to 2.13, or download 2.13.0 (CUDA=1: with its CUDA part, and the library of CUDA graphs)
	@scripts/libtorch.sh
ifeq ($(CUDA),1)
	@scripts/cuda_graphs.sh || echo 'libtorch: the CUDA part is here; until scripts/cuda_graphs.sh works, steps run without CUDA graphs and take longer' >&2
endif
