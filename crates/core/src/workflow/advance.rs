//! The engine: what becomes of an execution when something happens to it.
//!
//! [`advance`] is a function of its arguments alone. It handles one step: the step begins, or what it waited for came.
//! The next step is due at the same instant, and is another call. So the effects of a step can be seen by the next one:
//! whoever calls applies them in between, and writes all of it in one transaction.
//!
//! Time is counted, not taken from a clock: a step begins at the instant at which the one before ended, and a wait ends
//! at the instant it was to end, also where the service looks a little later ([`Execution::counted_now`]). So a
//! rehearsal and the real thing come to the same log.

use std::time::Duration;

use serde_json::{Value, json};

use crate::contact::Contact;
use crate::custom_data::{self, DataPatch};
use crate::filter::{Filter, Resolved, Seen};
use crate::time::Timestamp;
use crate::workflow::action::{self, Action, SendEmail, Share};
use crate::workflow::execution::{Execution, StepRecord, mixed};
use crate::workflow::goal::Goal;
use crate::workflow::kind::{ExecutionStatus, OverCap, StepStatus, WaitOutcome};
use crate::workflow::limits::MAX_TEXT;
use crate::workflow::scope::Scope;
use crate::workflow::version::{Place, Planned, Version};
use crate::workflow::wait_until::Until;
use crate::workflow::world::{Answered, Effect, Happening, Input, Sending, WithContext, World};

/// The reason of an execution that ended because the contact reached the goal.
pub const GOAL_REASON: &str = "goal";

/// The shortest wait for another mail to be allowed, so that a step never waits for the present.
const LEAST_WAIT: Duration = Duration::from_secs(1);
/// The longest time until a step that waits for another mail to be allowed looks at the cap again.
const LONGEST_CAP_WAIT: Duration = Duration::from_hours(1);

/// The most bytes of a contact's data that an update tells of.
const MAX_TOLD: usize = 2000;

/// An execution after something happened to it, and what has to be done about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Advance {
    /// The execution.
    pub execution: Execution,
    /// What its step does.
    pub effects: Vec<Effect>,
}

/// What becomes of an execution at `now`, which is the time of the event or the [counted](Execution::counted_now) one.
/// An input that it does not wait for changes nothing.
pub fn advance(
    version: &Version,
    execution: &Execution,
    input: Input<'_>,
    world: &impl World,
    now: Timestamp,
) -> Advance {
    let mut turn = Turn { version, execution: execution.clone(), effects: Vec::new(), world, now };
    if execution.status.is_active() {
        match input {
            Input::Due if execution.is_due(now) => turn.due(),
            Input::Due => {}
            Input::Changed => drop(turn.has_converted()),
            Input::Event(event) => turn.event(event),
            Input::Answered(answered) => turn.answered(answered),
        }
    }
    Advance { execution: turn.execution, effects: turn.effects }
}

fn go_to(execution: &mut Execution, next: Option<Place>, now: Timestamp) {
    execution.current = next;
    if next.is_some() {
        (execution.status, execution.due_at) = (ExecutionStatus::Running, Some(now));
    } else {
        execution.end(ExecutionStatus::Completed, None, now);
    }
}

/// One call of [`advance`].
struct Turn<'a, W> {
    version: &'a Version,
    execution: Execution,
    effects: Vec<Effect>,
    world: &'a W,
    now: Timestamp,
}

impl<'a, W: World> Turn<'a, W> {
    /// The time of the step has come: it begins, or its wait is over.
    fn due(&mut self) {
        if self.has_converted() {
            return;
        }
        let Some(step) = self.step() else {
            let reason = "The step does not exist any more.";
            return self.execution.end(ExecutionStatus::Failed, Some(reason.to_owned()), self.now);
        };
        let is_open = self.execution.open().is_some();
        let action = match &step.action {
            Ok(action) => action,
            Err(error) => return self.fail(error.clone()),
        };
        match action {
            Action::Trigger => self.complete(Value::Null, step.next(None)),
            Action::SendEmail(mail) => self.send(step, mail),
            Action::Delay(_) | Action::WaitUntil(_) if is_open => self.complete(Value::Null, step.next(None)),
            Action::Delay(length) => self.wait(Some(self.now.plus(*length)), Value::Null),
            Action::WaitUntil(until) => self.wait_until(step, until),
            Action::WaitForEvent { .. } if is_open => {
                let output = json!({ "waitOutcome": WaitOutcome::Timeout });
                self.complete(output, step.next_after(WaitOutcome::Timeout));
            }
            Action::WaitForEvent { timeout, .. } => {
                self.wait(timeout.map(|timeout| self.now.plus(timeout)), Value::Null);
            }
            Action::Choose(choice) => {
                let scope = Scope { contact: self.world.contact(), context: &self.execution.context };
                let (branch, seen) = choice.decide(&scope);
                let output = json!({ "branch": branch, "value": seen });
                let next = step.next(Some(branch));
                self.complete(output, next);
            }
            Action::Filter(filter) => match self.holds(filter) {
                Some(holds) => {
                    let branch = if holds { action::YES } else { action::NO };
                    let seen = json!({ "branch": branch, "seen": self.seen(filter) });
                    self.complete(seen, step.next(Some(branch)));
                }
                None => self.fail(format!("The conditions look through more than {MAX_TEXT} bytes of text.")),
            },
            Action::Split(shares) => {
                let branch = drawn(shares, self.execution.seed, step);
                self.complete(json!({ "branch": branch }), step.next(Some(branch)));
            }
            Action::Webhook(webhook) => {
                let place = self.execution.current.unwrap_or_default();
                let webhook = webhook.clone();
                self.effects.push(Effect::Request { step: place, webhook, at: self.now });
                self.open(StepStatus::Running, None, Value::Null);
                (self.execution.status, self.execution.due_at) = (ExecutionStatus::Running, None);
            }
            Action::Update { patch, subscribed } => match self.world.fits(patch) {
                Ok(()) => {
                    let (patch, subscribed) = (patch.clone(), *subscribed);
                    let output = updated(self.world.contact(), &patch, subscribed);
                    self.effects.push(Effect::Contact { patch, subscribed, at: self.now });
                    self.complete(output, step.next(None));
                }
                Err(excess) => self.fail(excess.issue().message),
            },
            Action::Segment { id, adds } if self.world.has_static_segment(*id) => {
                self.effects.push(Effect::Segment { id: *id, adds: *adds, at: self.now });
                self.complete(Value::Null, step.next(None));
            }
            Action::Segment { id, .. } => {
                self.fail(format!("The project has no static segment with the id {id}."));
            }
            Action::Exit { reason } => {
                self.close(StepStatus::Completed, Value::Null, None);
                self.execution.end(ExecutionStatus::Exited, Some(reason.clone()), self.now);
            }
        }
    }

    /// Whether a filter holds for the contact and the context; `None` if it looks through too much text.
    fn holds(&self, filter: &Filter) -> Option<bool> {
        let known = WithContext { world: self.world, context: &self.execution.context };
        let resolved = Resolved::new(&known, self.world.untracked(), self.now).with_text(MAX_TEXT);
        let holds = filter.matches(&resolved, self.now);
        (!resolved.is_over()).then_some(holds)
    }

    /// What the conditions of a filter see.
    fn seen(&self, filter: &Filter) -> Vec<Seen> {
        let known = WithContext { world: self.world, context: &self.execution.context };
        filter.explain(&Resolved::new(&known, self.world.untracked(), self.now), self.now)
    }

    /// Ends the execution if the contact reached the goal. A goal that looks through too much text is not reached.
    fn has_converted(&mut self) -> bool {
        let is_reached =
            matches!(self.version.goal(), Some(Goal::Filter(filter)) if self.holds(filter) == Some(true));
        if is_reached {
            self.convert(json!({ "goal": true }));
        }
        is_reached
    }

    fn step(&self) -> Option<&'a Planned> {
        self.version.steps().get(self.execution.current?)
    }

    fn wait_until(&mut self, step: &Planned, until: &Until) {
        let scope = Scope { contact: self.world.contact(), context: &self.execution.context };
        let wait = until.wait(&scope, self.world.zone(), self.now);
        let mut output = json!({ "timeZone": wait.zone.name() });
        if let Some(seen) = wait.seen {
            output["value"] = custom_data::shortened(&seen);
        }
        match wait.until {
            Some(until) if until > self.now => self.wait(Some(until), output),
            Some(_) => self.complete(output, step.next(None)),
            None => {
                output["skipped"] = "no_date".into();
                self.skip(output, step.next(None));
            }
        }
    }

    fn send(&mut self, step: &Planned, mail: &SendEmail) {
        let Some(template) = mail.template else { return self.fail("The step has no template.".to_owned()) };
        let kind = match self.world.template(template) {
            Sending::Ready(kind) => kind,
            Sending::NoDomain => {
                return self
                    .fail("The project does not have the domain of the template's sender.".to_owned());
            }
            Sending::NoTemplate => {
                return self.fail(format!("The project has no template with the id {template}."));
            }
        };
        if mail.to.is_none() && self.world.held().holds(kind) {
            return self.skip(json!({ "skipped": "suppressed" }), step.next(None));
        }
        if kind.needs_subscription() && mail.to.is_none() {
            if !self.world.contact().subscribed {
                return self.skip(json!({ "skipped": "unsubscribed" }), step.next(None));
            }
            if let Some(until) = self.world.capped_until(self.now) {
                return match mail.over_cap {
                    OverCap::Skip => self.skip(json!({ "skipped": "capped" }), step.next(None)),
                    OverCap::Wait => {
                        let until = until.max(self.now.plus(LEAST_WAIT));
                        self.wait(Some(until), json!({ "waitsFor": "cap" }));
                        // the cap may be raised or taken away before
                        self.execution.due_at = Some(until.min(self.now.plus(LONGEST_CAP_WAIT)));
                    }
                };
            }
        }
        if !self.world.has_allowance(kind, self.now) {
            return self.skip(json!({ "skipped": "billing_limit" }), step.next(None));
        }
        let place = self.execution.current.unwrap_or_default();
        self.complete(Value::Null, step.next(None));
        let record = self.execution.log.len() - 1;
        let to = mail.to.clone();
        self.effects.push(Effect::Mail { step: place, record, template, to, at: self.now });
    }

    /// An event of the contact: the goal, or what is waited for.
    fn event(&mut self, event: &Happening) {
        // an event does not end a wait, or reach a goal, of the execution that it begins
        if self.execution.source == Some(event.id) {
            return;
        }
        if matches!(self.version.goal(), Some(Goal::Event(name)) if *name == event.name) {
            return self.convert(json!({ "goal": true, "event": event.id }));
        }
        let Some(step) = self.step() else { return };
        let waits = matches!(&step.action, Ok(Action::WaitForEvent { name, .. }) if *name == event.name);
        let is_in_time = self.execution.due_at.is_none_or(|until| event.at <= until);
        if !waits || !is_in_time || self.execution.open().is_none() {
            return;
        }
        self.execution.add_to_context(&event.data);
        let output = json!({ "waitOutcome": WaitOutcome::Event, "event": event.id });
        self.complete(output, step.next_after(WaitOutcome::Event));
    }

    /// The request of a WEBHOOK step came to an end.
    fn answered(&mut self, answered: &Answered) {
        let Some(step) = self.step() else { return };
        if !matches!(step.action, Ok(Action::Webhook(_))) || self.execution.open().is_none() {
            return;
        }
        match &answered.error {
            None => self.complete(answered.output.clone(), step.next(None)),
            Some(error) => {
                self.close(StepStatus::Failed, answered.output.clone(), Some(error.clone()));
                self.execution.end(ExecutionStatus::Failed, None, self.now);
            }
        }
    }

    /// The contact reached the goal.
    fn convert(&mut self, output: Value) {
        if self.execution.open().is_some() {
            self.close(StepStatus::Skipped, output, None);
        }
        self.execution.is_converted = true;
        self.execution.end(ExecutionStatus::Exited, Some(GOAL_REASON.to_owned()), self.now);
    }

    fn complete(&mut self, output: Value, next: Option<Place>) {
        self.close(StepStatus::Completed, output, None);
        go_to(&mut self.execution, next, self.now);
    }

    fn skip(&mut self, output: Value, next: Option<Place>) {
        self.close(StepStatus::Skipped, output, None);
        go_to(&mut self.execution, next, self.now);
    }

    fn fail(&mut self, error: String) {
        self.close(StepStatus::Failed, Value::Null, Some(error));
        self.execution.end(ExecutionStatus::Failed, None, self.now);
    }

    fn wait(&mut self, until: Option<Timestamp>, output: Value) {
        self.open(StepStatus::Waiting, until, output);
        (self.execution.status, self.execution.due_at) = (ExecutionStatus::Waiting, until);
    }

    /// Notes that the step began and goes on.
    fn open(&mut self, status: StepStatus, until: Option<Timestamp>, output: Value) {
        if let Some(record) = self.execution.open_mut() {
            (record.status, record.until, record.output) = (status, until, output);
            return;
        }
        let step = self.execution.current.unwrap_or_default();
        let started_at = self.now;
        let record =
            StepRecord { step, of: None, status, started_at, until, completed_at: None, output, error: None };
        self.execution.log.push(record);
    }

    /// Notes that the step ended.
    fn close(&mut self, status: StepStatus, output: Value, error: Option<String>) {
        let now = self.now;
        if self.execution.open().is_none() {
            self.open(status, None, Value::Null);
        }
        if let Some(record) = self.execution.open_mut() {
            (record.status, record.completed_at, record.error) = (status, Some(now), error);
            // what was noted when the wait began stays
            match (&mut record.output, output) {
                (Value::Object(noted), Value::Object(more)) => noted.extend(more),
                (_, Value::Null) => {}
                (noted, output) => *noted = output,
            }
        }
    }
}

/// What an update tells of the contact as it is afterwards: data that is large is told of as far as it was written.
fn updated(contact: &Contact, patch: &DataPatch, subscribed: Option<bool>) -> Value {
    let mut data = contact.data.clone();
    patch.apply(&mut data);
    if custom_data::size(&data) > MAX_TOLD {
        data =
            patch.stored.iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.clone(), v.clone())).collect();
    }
    json!({ "newData": data, "subscribed": subscribed.unwrap_or(contact.subscribed) })
}

/// The branch that chance takes: the same for the same seed and step, whatever else happens.
fn drawn<'s>(shares: &'s [Share], seed: u64, step: &Planned) -> &'s str {
    let total: u64 = shares.iter().map(|share| u64::from(share.weight)).sum();
    let mut left = mixed(&[&seed.to_be_bytes(), step.id.as_uuid().as_bytes()]) % total.max(1);
    for share in shares {
        let weight = u64::from(share.weight);
        if left < weight {
            return &share.branch;
        }
        left -= weight;
    }
    shares.last().map_or("", |share| share.branch.as_str())
}
