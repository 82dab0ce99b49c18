//! Tests of the server: dialogues, properties, random sessions, and real connections.

mod connection;
mod dialogues;
mod network;
mod player;
mod properties;
mod stages;
