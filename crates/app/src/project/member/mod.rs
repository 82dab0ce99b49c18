//! Members of projects, and invitations.
//!
//! A person whose account has a proven address is added at once. Others get an invitation ([`invitation`]), because
//! anybody can sign up with a stranger's address. The invited person redeems its token after signing up; a person who
//! proved the address needs no token ([`acceptance`]).

mod acceptance;
mod invitation;
mod mail_limit;
mod manager;
mod membership;
mod role;
mod withdrawal;

pub use mailwright_store::project::member::{Invitation, Member, Opened};

pub(crate) use acceptance::{accept_all, redeem, room};
pub use invitation::Invited;
pub use manager::Manager;
pub(crate) use manager::still_may;
pub use membership::MOST;
pub(crate) use withdrawal::withdraw_of_revoked;
