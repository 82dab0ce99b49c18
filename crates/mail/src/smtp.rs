//! Our own SMTP client (RFC 5321), for a relay or for another domain's mail servers.
//!
//! It speaks PIPELINING (RFC 2920), STARTTLS (RFC 3207), implicit TLS (RFC 8314), AUTH PLAIN and LOGIN (RFC 4954) and
//! SIZE (RFC 1870). A message costs three writes and two waits: the envelope, the content, the final dot.
//!
//! What happened to a message is told apart exactly, because a message must be neither lost nor sent twice: refused,
//! certainly not accepted, or in doubt ([`ContentError`]). Every wait and every reply has a limit. A future of this
//! module that is dropped before it ends leaves a connection that says it is not reusable.

mod auth;
mod config;
mod open;
mod reply;
mod session;
mod stuffing;
mod tls;
mod url;
mod wire;

pub use config::{ConfigError, Credentials, RelayConfig, Security, Timeouts};
pub use open::{OpenError, OpenStage};
pub use reply::Reply;
pub use session::{Connection, ContentError, EnvelopeError, Stage};
