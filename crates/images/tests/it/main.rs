//! Pictures that are whole, odd and hostile, all made by code.

mod child;
mod hostile;
mod kept;
mod made;
mod payload;
mod properties;
