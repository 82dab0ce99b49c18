//! An SMTP server that follows a script: it accepts, refuses, drops or stalls, and remembers what it received.

mod builder;
mod script;
mod server;
mod session;
mod shared;
#[cfg(test)]
mod tests;

pub use builder::ServerBuilder;
pub use script::{Answer, Attempt, Received};
pub use server::ScriptedServer;
