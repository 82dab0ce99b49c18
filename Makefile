# Everything a newcomer needs: `make run`, `make test`.

VENV := .venv
NEXTEST := cargo nextest run --no-fail-fast

.PHONY: run build setup test check bench clean

# Builds and starts the service with a demo project.
run:
	cargo build --release
	./target/release/mailwright serve --demo

build:
	cargo build --release

# Installs what the tests need and this machine lacks.
setup:
	./scripts/setup

# Format, lints, documents, and every test on both databases.
test: setup check
	cargo build --bin mailwright
	MAILWRIGHT_TEST_PYTHON=$(CURDIR)/$(VENV)/bin/python ./scripts/with-postgres $(NEXTEST) --workspace

check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --workspace --no-deps --document-private-items

# Measures throughput, latency and memory against limits measured in the same run.
bench: setup
	cargo build --release --workspace
	./scripts/with-postgres ./target/release/mailwright-bench

clean:
	cargo clean
	rm -rf $(VENV)
