# Everything a newcomer needs: `make run`, `make test`.

VENV := .venv
NEXTEST := cargo nextest run --no-fail-fast

.PHONY: run build setup test test-large check bench clean

# Builds and starts the service with a demo project. The build is quick rather than fast: see `build`.
run:
	@echo "Building Mailwright. The first time this takes about four minutes on two processors, later a few seconds."
	cargo run --bin mailwright -- serve --demo

# Builds what is meant to be installed: optimised, in target/release.
build:
	@echo "Building Mailwright, optimised. The first time this takes about five minutes on two processors."
	cargo build --release

# Installs what the tests need and this machine lacks.
setup:
	./scripts/setup

# Format, lints, dependencies, documents, and every test on both databases.
test: setup check
	cargo build --workspace --bins --tests
	MAILWRIGHT_TEST_PYTHON=$(CURDIR)/$(VENV)/bin/python ./scripts/with-postgres --without-fsync $(NEXTEST) --workspace

# The tests that take long, at their full size: kills, faults, the API document, figures of a million rows; a million
# sessions of the SMTP server, and as many damaged reports.
test-large: setup
	cargo build --bin mailwright
	MAILWRIGHT_TEST_LARGE=1 $(NEXTEST) --profile large --release -p mailwright-mail --lib -E 'test(smtp_server) or test(report)'
	MAILWRIGHT_TEST_LARGE=1 MAILWRIGHT_TEST_PYTHON=$(CURDIR)/$(VENV)/bin/python ./scripts/with-postgres --without-fsync $(NEXTEST) --profile large -p mailwright-tests --test hard

check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo machete
	cargo deny --log-level error check bans licenses sources
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --workspace --no-deps --document-private-items

# Measures throughput, latency and memory against limits measured in the same run.
bench: setup
	cargo build --release --workspace
	./scripts/with-postgres cargo run --release -p mailwright-bench --bin mailwright-bench

clean:
	cargo clean
	rm -rf $(VENV)
