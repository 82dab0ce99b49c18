//! Messages after the shapes of real ones, hostile ones, and damaged ones.

mod corpus;
mod damaged;
mod hostile;
mod notices;
