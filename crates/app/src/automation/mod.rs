//! Workflows: making and changing them, and the engine that takes contacts through them.

pub mod edit;
mod engine;
pub mod enrolment;
pub mod execution;
pub mod fields;
mod jobs;
mod known;
pub mod manage;
pub mod migration;
pub mod of_contact;
pub(crate) mod schedule;
mod sendings;
pub mod simulation;
mod starting;
pub mod stats;
pub mod usage;
pub mod webhook;
pub mod whom;
pub mod why;

use crate::App;
use crate::automation::webhook::{Breakers, UnderWay};
use crate::background::runner::Waker;
use crate::background::tasks::Tasks;
use crate::http_client::HttpClient;

/// What this process keeps for this area.
#[derive(Debug)]
pub(crate) struct State {
    steps: Waker,
    requests: Waker,
    http: HttpClient,
    breakers: Breakers,
    under_way: UnderWay,
}

impl State {
    pub(crate) fn new(http: HttpClient) -> Self {
        let (steps, requests) = (Waker::default(), Waker::default());
        Self { steps, requests, http, breakers: Breakers::default(), under_way: UnderWay::default() }
    }
}

/// Starts the engine, what makes the requests of WEBHOOK steps, and the schedules.
pub(crate) fn start(app: &App, tasks: &Tasks) {
    engine::start(app, tasks);
    webhook::start(app, tasks);
    schedule::start(app, tasks);
}

impl App {
    /// Says that something happened that executions may be told of. Without it the engine finds it a little later.
    pub(crate) fn wake_workflows(&self) {
        self.0.automation.steps.wake();
    }
}
