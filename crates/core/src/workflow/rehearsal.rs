//! Rehearsing a workflow: what becomes of a contact that goes through it, on a time that is counted and not waited for.
//!
//! It is [`run`] that takes the steps, with the contact's events given to it in their order and each step taken when it is
//! due. So a rehearsal of events that then really happen comes to the same log.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::json;

use crate::custom_data::{self, Data};
use crate::filter::{Facts as _, Resolved};
use crate::ids::{ContactId, EventId, ExecutionId, WorkflowId};
use crate::time::Timestamp;
use crate::workflow::execution::Execution;
use crate::workflow::goal::Goal;
use crate::workflow::kind::{Refused, StepStatus};
use crate::workflow::lifecycle::{Beginning, begin};
use crate::workflow::limits::{MAX_CONTEXT, MAX_STARTS_PER_HOUR, MAX_TEXT_OF_EVENT};
use crate::workflow::run::{Stage, Told, run};
use crate::workflow::trigger::Trigger;
use crate::workflow::version::Version;
use crate::workflow::world::{Answered, Happening, Input, WithContext};

/// The most executions of a contact that a rehearsal begins; the events after them count as too many.
pub const MAX_EXECUTIONS: usize = 1000;

/// What is rehearsed.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The workflow.
    pub workflow: WorkflowId,
    /// The version.
    pub version: &'a Version,
    /// What starts executions.
    pub trigger: &'a Trigger,
    /// When a schedule starts them for the members of its segment, the earliest first.
    pub starts: &'a [Timestamp],
    /// Whether a contact may go through it again.
    pub allow_reentry: bool,
}

/// A contact to whom events happen in memory.
pub trait Actor: Stage {
    /// Takes an event in: what it carries becomes part of the contact.
    fn take_in(&mut self, event: &Happening);
    /// The events that the steps taken since the last call caused, in order.
    fn caused(&mut self) -> Vec<Happening>;
}

/// Who is told what becomes of a contact. It is told as it happens, so that nobody has to remember all of it.
pub trait Audience {
    /// An execution is over, or the rehearsal is; the oldest come first.
    fn see(&mut self, execution: Execution);
    /// An execution did not begin. A schedule has no event.
    fn miss(&mut self, event: Option<EventId>, why: Refused);
}

/// A rehearsal ended early, because there was no time for it ([`Stage::has_time`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokenOff;

/// Rehearses a workflow with a contact. `events` are in order; `until` is when the rehearsal ends.
pub fn rehearse(
    piece: Piece<'_>,
    contact: ContactId,
    events: Vec<Happening>,
    (actor, audience): (&mut impl Actor, &mut impl Audience),
    until: Timestamp,
) -> Result<(), BrokenOff> {
    let (active, begun, lately) = (None, 0, VecDeque::new());
    let mut play = Play { piece, contact, actor, audience, active, begun, lately };
    let mut events: VecDeque<Happening> = events.into();
    let mut starts = piece.starts.iter().copied().take_while(|at| *at <= until).peekable();
    loop {
        if !play.actor.has_time() {
            return Err(BrokenOff);
        }
        let next_event = events.front().map(|event| event.at).filter(|at| *at <= until);
        let next = next_event.into_iter().chain(starts.peek().copied()).min();
        // what is due at the instant of an event comes after it, as it does when both are looked at together
        let before = next.map_or(until, |at| Timestamp(at.0 - 1));
        if let Some(due) = play.due().filter(|due| *due <= before) {
            play.go_on(due);
        } else if let Some(event) = events.pop_front_if(|event| Some(event.at) == next) {
            play.happen(&event);
        } else if let Some(at) = starts.next() {
            play.start(at);
        } else {
            break;
        }
        for event in play.actor.caused().into_iter().rev() {
            events.push_front(event);
        }
    }
    if let Some(active) = play.active {
        play.audience.see(active);
    }
    Ok(())
}

/// When the request was made that an execution waits for.
fn asked_at(execution: &Execution) -> Option<Timestamp> {
    execution.open().filter(|record| record.status == StepStatus::Running).map(|record| record.started_at)
}

struct Play<'a, 'p, A, B> {
    piece: Piece<'p>,
    contact: ContactId,
    actor: &'a mut A,
    audience: &'a mut B,
    active: Option<Execution>,
    /// How many executions began.
    begun: usize,
    /// When the last ones did, as many as may within an hour.
    lately: VecDeque<Timestamp>,
}

impl<A: Actor, B: Audience> Play<'_, '_, A, B> {
    fn due(&self) -> Option<Timestamp> {
        self.active.as_ref().and_then(|execution| execution.due_at)
    }

    /// Takes the steps that are due.
    fn go_on(&mut self, now: Timestamp) {
        self.tell(&[], now);
        self.look_at_goal(now);
    }

    fn happen(&mut self, event: &Happening) {
        self.actor.take_in(event);
        let begun = self.enrol(event);
        self.tell(&[(event.at, Input::Event(event))], event.at);
        self.look_at_goal(event.at);
        if let Some(execution) = begun {
            self.active = Some(execution);
            self.go_on(event.at);
        }
    }

    fn tell(&mut self, told: &[Told<'_>], now: Timestamp) {
        let Some(mut execution) = self.active.take() else { return };
        run(self.piece.version, &mut execution, told, self.actor, now);
        // nobody is asked: every request is answered at once
        while let Some(at) = asked_at(&execution).filter(|_| self.actor.has_time()) {
            let output = json!({ "success": true, "simulated": true });
            let answered = Answered { output, error: None };
            run(self.piece.version, &mut execution, &[(at, Input::Answered(&answered))], self.actor, now);
        }
        self.keep(execution);
    }

    /// A goal by filter is looked at whenever something happened to the contact.
    fn look_at_goal(&mut self, now: Timestamp) {
        if matches!(self.piece.version.goal(), Some(Goal::Filter(_))) {
            self.tell(&[(now, Input::Changed)], now);
        }
    }

    fn keep(&mut self, execution: Execution) {
        if execution.status.is_active() {
            self.active = Some(execution);
        } else {
            self.audience.see(execution);
        }
    }

    fn begins_too_often(&self, now: Timestamp) -> bool {
        let hour_ago = now.minus(Duration::from_hours(1));
        let lately = self.lately.iter().filter(|began| **began > hour_ago).count();
        lately >= MAX_STARTS_PER_HOUR || self.begun >= MAX_EXECUTIONS
    }

    /// The schedule starts the workflow for the members of its segment.
    fn start(&mut self, at: Timestamp) {
        let Trigger::Schedule { segment, .. } = self.piece.trigger else { return };
        let is_member = Resolved::new(&*self.actor, self.actor.untracked(), at).is_member(*segment);
        if !is_member || self.actor.contact().created_at > at {
            return;
        }
        if let Some(why) = self.why_not(at) {
            return self.audience.miss(None, why);
        }
        self.active = Some(self.begun(None, Data::new(), at));
        self.go_on(at);
    }

    /// Why the contact may not begin.
    fn why_not(&self, at: Timestamp) -> Option<Refused> {
        if self.active.is_some() {
            Some(Refused::Active)
        } else if !self.piece.allow_reentry && self.begun > 0 {
            Some(Refused::Reentry)
        } else {
            self.begins_too_often(at).then_some(Refused::TooMany)
        }
    }

    fn begun(&mut self, source: Option<EventId>, context: Data, at: Timestamp) -> Execution {
        self.begun += 1;
        self.lately.push_back(at);
        if self.lately.len() > MAX_STARTS_PER_HOUR {
            self.lately.pop_front();
        }
        let (id, workflow) = (ExecutionId::first_of(at), self.piece.workflow);
        begin(Beginning { id, workflow, contact: self.contact, source, context, at })
    }

    /// The execution that an event begins.
    fn enrol(&mut self, event: &Happening) -> Option<Execution> {
        let Trigger::Event { name, filter } = self.piece.trigger else { return None };
        if *name != event.name {
            return None;
        }
        let resolved =
            Resolved::new(&*self.actor, self.actor.untracked(), event.at).with_text(MAX_TEXT_OF_EVENT);
        let known = WithContext { world: &resolved, context: &event.data };
        let holds = filter.as_ref().is_none_or(|filter| filter.matches(&known, event.at));
        let why = if resolved.is_over() {
            Refused::TooMuchText
        } else if !holds {
            Refused::Filter
        } else if custom_data::size(&event.data) > MAX_CONTEXT {
            Refused::TooLarge
        } else if let Some(why) = self.why_not(event.at) {
            why
        } else {
            return Some(self.begun(Some(event.id), event.data.clone(), event.at));
        };
        self.audience.miss(Some(event.id), why);
        None
    }
}
