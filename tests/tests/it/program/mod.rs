//! The program itself: its commands, what it says about a bad configuration, and what it keeps out of its log.

mod backups;
mod commands;
mod databases;
mod files;
mod log;
mod process;
mod settings;
