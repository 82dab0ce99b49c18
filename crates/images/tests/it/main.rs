//! Pictures that are whole, odd and hostile, all made by code.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "these are tests, in functions that they share"
)]

mod child;
mod hostile;
mod kept;
mod made;
mod payload;
mod properties;
