//! Members, invitations and ownership.

mod invitations;
mod joining;
mod keys;
mod roles;
mod team;
