//! Our own SMTP client (RFC 5321), for a relay or for another domain's mail servers.
//!
//! It speaks PIPELINING (RFC 2920), STARTTLS (RFC 3207), implicit TLS (RFC 8314), certificates that DNS names (RFC 7672),
//! AUTH PLAIN and LOGIN (RFC 4954), SIZE (RFC 1870) and CHUNKING (RFC 3030). A message costs three writes and two waits: the
//! envelope, the content, and its last bytes. Where the server offers CHUNKING, the first message on a connection costs
//! one write and one wait more.
//!
//! A message must be neither lost nor sent twice. So the result says exactly what is known: refused, certainly not
//! accepted, or in doubt ([`ContentError`]). Every wait and every reply has a limit. If a future of this module is
//! dropped before it ends, the connection says that it cannot be used again.

mod auth;
mod config;
mod content;
mod open;
mod opening;
mod outcome;
mod reply;
mod session;
mod url;
mod wire;

pub use config::{ConfigError, Credentials, RelayConfig, Security, Timeouts};
pub use open::{OpenError, OpenStage};
pub use opening::{Ends, TlsFailure};
pub use outcome::{ContentError, EnvelopeError, Stage};
pub use reply::Reply;
pub use session::Connection;
