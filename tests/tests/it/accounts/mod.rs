//! Accounts: sessions, projects and their members, keys, the audit log, and who may do what.

mod access;
mod audit;
mod held;
mod hygiene;
mod keys;
mod meanwhile;
mod members;
mod operator;
mod projects;
mod sessions;
mod suspension;
