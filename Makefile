# Everything a newcomer needs: `make run`, `make test`.

VENV := .venv
NEXTEST := cargo nextest run --no-fail-fast
# Says when a part of a long run began.
BEGINS = @date "+== %T $(1)"

.PHONY: run build dashboard setup test test-large test-citus check bench bench-large screenshots clean

# Builds and starts the service with a demo project. The build is quick rather than fast: see `build`.
run: dashboard
	@echo "Building Mailwright. The first time this takes about six minutes on two processors, later a few seconds."
	cargo run --bin mailwright -- serve --demo

# Builds what is meant to be installed: optimised, in target/release.
build: dashboard
	@echo "Building Mailwright, optimised. The first time this takes about ten minutes on two processors."
	cargo build --release

# Builds the dashboard, which becomes part of the program. Without Node.js it is left out.
dashboard:
	./scripts/dashboard

# Installs what the tests need and this machine lacks.
setup:
	./scripts/setup

# What is tested has the dashboard in it: a check that cannot run must not pass.
test test-citus check: export DASHBOARD ?= required

# Format, lints, dependencies, documents, and every test on both databases.
test: setup check
	$(call BEGINS,building)
	cargo build --workspace --bins --tests
	$(call BEGINS,tests)
	MAILWRIGHT_TEST_PYTHON=$(CURDIR)/$(VENV)/bin/python ./scripts/with-postgres --without-fsync $(NEXTEST) --workspace
	$(call BEGINS,tests of the dashboard)
	cd dashboard && npm run --silent unit && npm run --silent browser
	$(call BEGINS,the end)

# The tests that take long, at their full size: kills, faults, the API document, figures of a million rows; a million
# sessions of the SMTP server, and as many damaged reports.
test-large: setup
	cargo build --bin mailwright
	MAILWRIGHT_TEST_LARGE=1 $(NEXTEST) --profile large --release -p mailwright-mail --lib -E 'test(smtp_server) or test(report)'
	MAILWRIGHT_TEST_LARGE=1 MAILWRIGHT_TEST_PYTHON=$(CURDIR)/$(VENV)/bin/python ./scripts/with-postgres --without-fsync $(NEXTEST) --profile large -p mailwright-tests --test hard

# The suite on a cluster of Citus, which has to be installed beside PostgreSQL. CITUS_URL names a coordinator whose
# new databases are parts of a cluster, as `scripts/with-postgres --citus` sets one up; without it, such a cluster is
# made.
CITUS_URL ?=
# Tests that put a dump of `pg_dump` back, most of them one that was made while the service ran. On a cluster the rows
# of different workers are then of different moments, and the extension has to be left out (docs/scaling.md).
NOT_ON_CITUS := test(/what_was_sent_after_the_backup_is_not_sent_again|what_a_campaign_makes_later_is_held|what_was_due_before_the_restore_is_held|steps_of_the_lost_stretch_send_nothing_again/)
ON_CITUS = $(if $(CITUS_URL),MAILWRIGHT_TEST_POSTGRES='$(CITUS_URL)',./scripts/with-postgres --without-fsync --citus)
test-citus: setup
	./scripts/dashboard --required
	$(call BEGINS,building)
	cargo build --workspace --bins --tests
	$(call BEGINS,tests)
	MAILWRIGHT_TEST_PYTHON=$(CURDIR)/$(VENV)/bin/python $(ON_CITUS) ./scripts/test-citus '$(NOT_ON_CITUS)'
	$(call BEGINS,the end)

check:
	$(call BEGINS,the dashboard)
	./scripts/dashboard --required
	cd dashboard && npm run --silent check
	$(call BEGINS,lints)
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo machete
	cargo deny --log-level error check bans licenses sources
	$(call BEGINS,documentation)
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --workspace --no-deps --document-private-items

# Measures throughput, latency and memory against limits measured in the same run, and then how the dashboard opens,
# scrolls and is edited in Chromium.
bench: export DASHBOARD ?= required
bench: setup
	./scripts/dashboard --required
	cargo build --release --workspace
	./scripts/with-postgres cargo run --release -p mailwright-bench --bin mailwright-bench -- --markdown target/bench.md
	cd dashboard && MAILWRIGHT_TEST_SERVER=$(CURDIR)/target/release/mailwright npm run --silent bench

# The same with more contacts and events, without the dashboard. It takes hours, and about 25 GB of disk for a million
# contacts with ten events each: `make bench-large CONTACTS=10000000 EVENTS=100000000 BENCH_DIR=/large/disk`.
CONTACTS ?= 3000000
EVENTS ?= 30000000
BENCH_DIR ?= $(or $(TMPDIR),/tmp)
bench-large: setup
	cargo build --release --workspace
	TMPDIR=$(BENCH_DIR) ./scripts/with-postgres cargo run --release -p mailwright-bench --bin mailwright-bench -- \
		--contacts $(CONTACTS) --events $(EVENTS) --markdown target/bench-large.md \
		--only process,contacts,filter,import,campaign,track,scale,delivery,send,insight

# Makes the pictures in docs/screenshots. The program is built with debug assertions: only then its clock can be moved.
screenshots: export DASHBOARD ?= required
screenshots: setup
	./scripts/dashboard --required
	cargo build --bin mailwright
	cd dashboard && MAILWRIGHT_TEST_SERVER=$(CURDIR)/target/debug/mailwright npm run --silent screenshots

clean:
	cargo clean
	rm -rf dashboard/dist dashboard/packed dashboard/node_modules
	rm -rf $(VENV)
