//! The contact endpoints: the list, single contacts, lookup, and the fields of custom data.

mod fields;
mod list;
mod lookup;
mod search;
mod single;
mod whereabouts;
