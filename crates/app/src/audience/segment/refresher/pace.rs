//! How often the background work for segments looks, and how much it does at a time.

use std::time::Duration;

/// How often contacts that other processes changed are looked for.
pub(super) const LOOK: Duration = Duration::from_millis(250);
/// The least time between two looks, however many hints there are.
pub(super) const LEAST: Duration = Duration::from_millis(20);
/// How often windows that passed are looked for.
pub(super) const SWEEP: Duration = Duration::from_secs(1);
/// How far behind the time the sweep stays where several processes have clocks of their own.
pub(super) const MARGIN: Duration = Duration::from_millis(250);
/// How long a stretch of time in which nothing passed may become before that is noted.
pub(super) const NOTE: Duration = Duration::from_mins(1);
/// Contacts found by one look at a stretch of time.
pub(super) const PAGE: usize = 500;
/// Projects looked at together.
pub(super) const PROJECTS: i64 = 500;
/// Projects worked on at the same time.
pub(super) const TOGETHER: usize = 4;
/// Batches of one project before the others have their turn.
pub(super) const TURN: usize = 50;
/// How often one transaction asks whether a contact is in a segment, about; it holds up others on SQLite meanwhile.
pub(super) const MOST_JUDGED: usize = 20_000;
/// The fewest contacts of a batch, however many segments there are.
pub(super) const LEAST_BATCH: usize = 20;
/// A count may take up to one part in so many of the time.
pub(super) const SHARE: u32 = 50;
