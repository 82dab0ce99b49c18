//! The harness of the black-box tests: it runs the real `mailwright` program against databases, SMTP servers and DNS
//! servers of its own, and speaks to it through the doors a user has (HTTP, SMTP, the command line, signals).
//!
//! ```ignore
//! use mailwright_testkit::{App, Engine, both_engines};
//! use serde_json::json;
//!
//! both_engines! {
//!     async fn a_sent_mail_arrives(engine: Engine) {
//!         let app = App::start(engine).await;
//!         app.send(json!({"to": "ada@example.com", "subject": "Hi", "body": "<p>Hi</p>", "from": app.from()}))
//!             .await
//!             .assert_status(200);
//!         let mail = app.eventually("the mail is captured", async || app.mailbox_for("ada@example.com").await.pop()).await;
//!         assert_eq!(mail["subject"], "Hi");
//!     }
//! }
//! ```
//!
//! A check that cannot run must fail: without the program, PostgreSQL, Python or Chromium the harness panics and says what
//! to do.
//!
//! | Variable | Meaning |
//! |---|---|
//! | `MAILWRIGHT_BIN` | the program under test; default `target/debug/mailwright` |
//! | `MAILWRIGHT_TEST_POSTGRES` | a server to create databases on, such as `postgres://postgres@127.0.0.1:5432` |
//! | `MAILWRIGHT_TEST_PYTHON` | an interpreter with `tests/requirements.txt` installed; default `.venv/bin/python` |
//! | `MAILWRIGHT_TEST_CHROMIUM` | the browser; default `chromium` |
//! | `MAILWRIGHT_TEST_LARGE` | set by `make test-large`: tests that have two sizes run at the larger one |
//! | `MAILWRIGHT_TEST_LOG` | the log filter of the servers under test; default `info` |

#![expect(
    clippy::unwrap_used,
    reason = "the harness serves tests: what cannot go wrong there may panic here"
)]

mod app;
pub mod chromium;
mod clock;
mod database;
pub mod database_proxy;
pub mod disk;
pub mod dns;
mod empty_database;
pub mod events;
mod http;
pub mod mail_in;
mod moto;
pub mod mta;
pub mod net;
pub mod payments;
pub mod policy;
pub mod postfix;
mod postgres_server;
mod prepared;
pub mod provider;
pub mod python;
pub mod receiver;
pub mod report_server;
mod rows;
pub mod s3;
pub mod ses;
pub mod smtp;
pub mod sns;
pub mod spamd;
pub mod tls;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

pub use app::{App, AppBuilder, OWNER, Project};
pub use database::Held;
pub use empty_database::EmptyDatabase;
pub use http::{Headers, Request, Response, TransportError};
pub use rows::Rows;
pub use serde_json::{Value, json};

/// The database a test runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// SQLite in the data directory.
    Sqlite,
    /// A database of its own on the server named by `MAILWRIGHT_TEST_POSTGRES`.
    Postgres,
}

/// Expands each `async fn name(engine: Engine) { ... }` to a module `name` with the tests `sqlite` and `postgres`.
#[macro_export]
macro_rules! both_engines {
    ($($(#[$meta:meta])* async fn $name:ident($engine:ident : $type:ty) $body:block)*) => {
        $(
            $(#[$meta])*
            mod $name {
                use super::*;

                async fn scenario($engine: $type) $body

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn sqlite() {
                    Box::pin(scenario($crate::Engine::Sqlite)).await;
                }

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn postgres() {
                    Box::pin(scenario($crate::Engine::Postgres)).await;
                }
            }
        )*
    };
}

/// A path segment or query value with everything encoded that is not unreserved.
pub fn encoded(raw: &str) -> String {
    const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(raw, &UNRESERVED).to_string()
}

/// Expands each `async fn name(engine: Engine) { ... }` to a module `name` with the test `sqlite` alone: for what the
/// database has no part in, such as malformed requests, which are refused before it is asked.
#[macro_export]
macro_rules! one_engine {
    ($($(#[$meta:meta])* async fn $name:ident($engine:ident : $type:ty) $body:block)*) => {
        $(
            $(#[$meta])*
            mod $name {
                use super::*;

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn sqlite() {
                    async fn scenario($engine: $type) $body

                    Box::pin(scenario($crate::Engine::Sqlite)).await;
                }
            }
        )*
    };
}

/// The root of the workspace, where scripts and the target folder are.
pub(crate) fn workspace_root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}
