//! Bodies of requests on their way in: how long they may take, how many bytes of them are in memory at once, and what
//! happens to the rest of a body that nobody reads.
//!
//! A client that showed a secret key or a session before the body is read is known. Strangers share an eighth of the
//! room, and have little time. A client with a public key counts as a stranger, because everybody can read that key in
//! a web page. Strangers cannot keep out known clients.
//!
//! One client, or one project with many clients, has a share of the room for small bodies and a share of the room for
//! large ones; the two together leave room for others. Many clients together leave some too: a client or a project may
//! hold a quarter of the free room of its kind, and four times as much for large bodies. So the more clients there are,
//! the less each may hold, and something is left for one more.
//!
//! Room is taken for the bytes that came, not for the announced length; otherwise a few bytes would keep many away.
//! Large bodies of one project are an exception. They must find room in its share for their announced length, so that
//! as many are read as fit, instead of all of them by halves. A client that announces much and sends nothing takes that
//! room from its own project. If room is short between others, or for bodies without a length, a body that has waited
//! too long makes room for those that still wait.

mod bodies;
mod failure;
mod room;
mod source;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use self::bodies::Bodies;
pub(crate) use self::failure::{Refused, failure};
pub(crate) use self::room::Standing;
pub(crate) use self::source::vouch;
pub(crate) use self::watch::{length, watch};
