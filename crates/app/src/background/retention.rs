//! Removing what is older than its period.
//!
//! Once an hour each project is looked at. What is old is removed in steps of some milliseconds, and after each step
//! nothing is done for nine times as long ([`SHARE`]), so that requests find the database as they do otherwise. Projects
//! take turns: what one has much of waits until the others were looked at. Two processes that do the same take different
//! rows on PostgreSQL.
//!
//! **Clocks.** A clock that jumps ahead would have everything removed. How far time was seen to pass is in the database:
//! time that passes while a process runs counts, and beside that a leap of 31 days a day at most.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mailwright_core::ids::ProjectNumber;
use mailwright_core::retention::{Kind, Periods};
use mailwright_core::time::Timestamp;
use mailwright_store::background::retention::{self as store, Cuts, Task};
use mailwright_store::{Error as StoreError, body, project};

use crate::App;
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::error::Result;

/// Time between two looks at all projects.
const PERIOD: Duration = Duration::from_hours(1);
/// When the clock is looked at again that was not right.
const SOON: Duration = Duration::from_mins(1);
/// Of how many parts of the time one is spent on removing.
const SHARE: u32 = 10;
/// The pause after a step, at least.
const PAUSE: Duration = Duration::from_millis(5);
/// A step is made smaller when it takes longer than this, and larger when it takes less than a half.
const STEP: Duration = Duration::from_millis(10);
/// Rows of the first step, and of the smallest and the largest.
const FIRST_ROWS: i64 = 200;
const FEWEST_ROWS: i64 = 100;
const MOST_ROWS: i64 = 2_000;
/// Steps of one kind in a project before others have their turn.
const TURN: u32 = 20;
/// Projects looked at together.
const PROJECTS: i64 = 500;
/// From which distance on it is said that the clock is ahead.
const FAR: Duration = Duration::from_hours(2);

/// Starts the removal.
pub(crate) fn start(app: &App, tasks: &Tasks) {
    let work = Retention { app: app.clone(), tasks: tasks.clone(), rows: FIRST_ROWS, seen: None };
    Runner::new(app, "retention", PERIOD).start(tasks, work);
}

/// What is left to do in a project.
#[derive(Debug, Clone, Copy)]
struct Piece {
    project: ProjectNumber,
    task: Task,
    before: Timestamp,
}

struct Retention {
    app: App,
    tasks: Tasks,
    /// Rows of the next step.
    rows: i64,
    /// Up to when time was seen to pass, and when that was.
    seen: Option<(Timestamp, Instant)>,
}

impl Work for Retention {
    async fn round(&mut self) -> Result<Next> {
        if !self.app.clock_is_right() {
            return Ok(Next::In(SOON));
        }
        let now = self.believed().await?;
        self.all(now).await?;
        let db = &self.app.0.db;
        db.write_in_background(body!(async |tx| store::note_size(tx, now).await)).await?;
        Ok(Next::Woken)
    }
}

impl Retention {
    /// The time by which things are old: that of the clock, unless it has leapt further than a clock should.
    async fn believed(&mut self) -> Result<Timestamp> {
        let (now, steady) = (self.app.0.clock.now(), self.app.0.clock.steady());
        let own = self.seen.map(|(seen, at)| seen.plus(steady.saturating_duration_since(at)));
        let db = &self.app.0.db;
        let believed = db.write_in_background(body!(async |tx| store::believe(tx, own, now).await)).await?;
        if now.since(believed) > FAR {
            tracing::warn!(clock = %now, %believed,
                "the clock is far ahead of the time that this instance has seen; what is old is removed in steps of a \
                 month a day, set the clock if it is wrong");
        }
        self.seen = Some((believed, steady));
        Ok(believed)
    }

    /// Goes through all projects.
    async fn all(&mut self, now: Timestamp) -> Result<()> {
        let mut left = VecDeque::new();
        let mut after = ProjectNumber(i64::MIN);
        loop {
            let numbers =
                self.app.read(body!(async |rx| project::numbers(rx, after, PROJECTS).await)).await?;
            let Some(last) = numbers.last() else { break };
            after = *last;
            for number in numbers {
                let pieces = match self.pieces(number, now).await {
                    Ok(pieces) => pieces,
                    Err(error) => {
                        self.failed(number, &error).await?;
                        continue;
                    }
                };
                for piece in pieces {
                    left.extend(self.turn(piece).await?);
                    if self.tasks.is_stopping() {
                        return Ok(());
                    }
                }
            }
        }
        while let Some(piece) = left.pop_front() {
            left.extend(self.turn(piece).await?);
            if self.tasks.is_stopping() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// What a project has that may be too old.
    async fn pieces(&self, project: ProjectNumber, now: Timestamp) -> mailwright_store::Result<Vec<Piece>> {
        let instance = self.app.settings().retention;
        let db = &self.app.0.db;
        let (own, cap) = db.read(body!(async |rx| store::own(rx, project).await)).await?;
        let periods = instance.shortened(&own);
        let cut = |kind| periods.before(kind, now);
        // who got how many mails lately is what the cap goes by
        let counted = cap.map(|cap| now.minus(cap.period()));
        let cuts = Cuts {
            events: cut(Kind::Events),
            captured: cut(Kind::CapturedMail),
            audit: cut(Kind::AuditLog),
            executions: cut(Kind::Executions),
            mails: cut(Kind::Mails).map(|before| counted.map_or(before, |counted| before.min(counted))),
        };
        let old = db.read(body!(async |rx| store::old(rx, project, cuts).await)).await?;
        let all = [
            (old.events, cuts.events, Task::Events),
            (old.captured, cuts.captured, Task::Captured),
            (old.audit, cuts.audit, Task::Audit),
            (old.executions, cuts.executions, Task::Executions(None)),
            (old.mails, cuts.mails, Task::Mails(None)),
            (old.received, cuts.mails, Task::Received),
        ];
        let wanted = all.into_iter().filter(|(is_there, ..)| *is_there);
        Ok(wanted.filter_map(|(_, before, task)| Some(Piece { project, task, before: before? })).collect())
    }

    /// Does some steps of a piece. Returns what is left of it.
    async fn turn(&mut self, mut piece: Piece) -> Result<Option<Piece>> {
        for _ in 0..TURN {
            let began = Instant::now();
            match self.step(piece).await {
                Ok(Some(task)) => piece.task = task,
                Ok(None) => return Ok(None),
                Err(error) => {
                    self.failed(piece.project, &error).await?;
                    return Ok(None);
                }
            }
            let took = began.elapsed();
            if took > STEP {
                self.rows = (self.rows / 2).max(FEWEST_ROWS);
            } else if took < STEP / 2 {
                self.rows = (self.rows * 3 / 2).min(MOST_ROWS);
            }
            if !self.tasks.pause((took * (SHARE - 1)).max(PAUSE)).await {
                return Ok(None);
            }
        }
        Ok(Some(piece))
    }

    /// Does one step. Returns how it goes on; `None` at the end.
    async fn step(&self, piece: Piece) -> mailwright_store::Result<Option<Task>> {
        let Piece { project, task, before } = piece;
        let (rows, now) = (self.rows, self.app.0.clock.now());
        let db = &self.app.0.db;
        let step = db.write_in_background_of(
            project,
            body!(async |tx| store::step(tx, project, (task, before), rows, now).await),
        );
        let step = step.await?;
        self.app.metrics().removed(task.kind(), step.removed);
        Ok(step.next)
    }

    /// What failed in a project waits for the next look, unless the database is away.
    async fn failed(&self, project: ProjectNumber, error: &StoreError) -> Result<()> {
        tracing::warn!(%error, project = project.0, "what is too old could not be removed, it is tried again in an hour");
        Ok(self.app.0.db.ping().await?)
    }
}

impl App {
    /// How long things of a project are kept.
    pub(crate) async fn periods(&self, project: ProjectNumber) -> Result<Periods> {
        let (own, _) = self.read(body!(async |rx| store::own(rx, project).await)).await?;
        Ok(self.settings().retention.shortened(&own))
    }
}
