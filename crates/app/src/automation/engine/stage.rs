//! A contact of a batch, to which the effects of steps happen in memory, so that the next step sees them. What is to be
//! written is gathered on the way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use mailwright_core::billing::Category;
use mailwright_core::contact::Contact;
use mailwright_core::custom_data::DataPatch;
use mailwright_core::email::EmailSource;
use mailwright_core::event::Activity;
use mailwright_core::excess::Excess;
use mailwright_core::filter::{Facts, Filter};
use mailwright_core::ids::{ProjectNumber, SegmentId, TemplateId, WebhookId, WorkflowId};
use mailwright_core::suppression::Held;
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use mailwright_core::time_zone::Zone;
use mailwright_core::workflow::action::Webhook;
use mailwright_core::workflow::execution::Execution;
use mailwright_core::workflow::request::{Request, Sender};
use mailwright_core::workflow::run::Stage;
use mailwright_core::workflow::version::{Place, Version};
use mailwright_core::workflow::world::{Answered, Effect, Sending, World};
use mailwright_store::audience::filter::FactsOf;
use mailwright_store::automation::request::NewRequest;
use mailwright_store::project::billing::allowance::Allowances;
use mailwright_store::sending::email::Origin;
use serde_json::Value;

use super::effects::{Change, Mail, Move, Pending};
use super::people::Surroundings;
use crate::automation::webhook;

/// A contact of a batch.
pub(super) struct OnStage<'b> {
    pub(super) project: ProjectNumber,
    /// The workflow whose execution runs.
    pub(super) workflow: (WorkflowId, &'b str),
    pub(super) surroundings: &'b Surroundings,
    pub(super) facts: &'b mut FactsOf,
    /// Which mail to the contact's address is held back.
    pub(super) held: Held,
    /// When the contact got mails that the cap counts, the newest first.
    pub(super) got: &'b mut Vec<Timestamp>,
    /// What is left of the limits of the project.
    pub(super) allowances: &'b Mutex<Allowances>,
    pub(super) pending: &'b mut Pending,
    /// Whether the steps may have been taken in a stretch that a restore lost.
    pub(super) is_lost: bool,
    /// Whether there is time for another step.
    pub(super) has_time: &'b (dyn Fn() -> bool + Send + Sync),
}

impl Facts for OnStage<'_> {
    fn contact(&self) -> &Contact {
        self.facts.contact()
    }

    fn last_event(&self, name: &str) -> Option<Timestamp> {
        self.facts.last_event(name)
    }

    fn last_activity(&self, activity: Activity) -> Option<Timestamp> {
        self.facts.last_activity(activity)
    }

    fn is_member(&self, segment: SegmentId) -> bool {
        self.facts.is_member(segment)
    }
}

impl World for OnStage<'_> {
    fn template(&self, id: TemplateId) -> Sending {
        self.surroundings.templates.get(&id).copied().unwrap_or(Sending::NoTemplate)
    }

    fn untracked(&self) -> &BTreeMap<SegmentId, Arc<Filter>> {
        self.surroundings.segments.trees()
    }

    fn held(&self) -> Held {
        self.held
    }

    fn capped_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.surroundings.cap.and_then(|cap| cap.until(self.got, now))
    }

    fn has_allowance(&self, kind: TemplateType, now: Timestamp) -> bool {
        let category = Category::of(EmailSource::Workflow, kind);
        let mut allowances = self.allowances.lock().unwrap_or_else(PoisonError::into_inner);
        // taken at once: the mail follows, in the same step
        allowances.take(self.project, category, now, 1)
    }

    fn zone(&self) -> &Zone {
        &self.surroundings.zone
    }

    fn fits(&self, patch: &DataPatch) -> Result<(), Excess> {
        let contact = self.facts.contact();
        patch.fits(&contact.data)?;
        let mut names = self.surroundings.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.take(self.project, patch.names(), None, contact.updated_at)
    }

    fn has_static_segment(&self, id: SegmentId) -> bool {
        self.surroundings.static_segments.contains(&id)
    }
}

impl Stage for OnStage<'_> {
    fn has_time(&self) -> bool {
        (self.has_time)()
    }

    fn apply(&mut self, version: &Version, execution: &mut Execution, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Mail { step, template, to, at, .. } => {
                    let Some(planned) = version.steps().get(step) else { continue };
                    let origin =
                        Origin { workflow: self.workflow.0, step: planned.id, execution: execution.id };
                    if self.template(template).counts_for_cap(to.as_ref()) {
                        self.got.insert(0, at);
                    }
                    let (contact, context) = (self.facts.contact().clone(), execution.context.clone());
                    let is_held = self.is_lost;
                    self.pending.mails.push(Mail { contact, context, template, to, at, origin, is_held });
                }
                Effect::Contact { patch, subscribed, at } => self.change(patch, subscribed, at),
                Effect::Segment { id, adds, at } => {
                    self.facts.set_member(id, adds);
                    let contact = self.facts.contact().id;
                    self.pending.moves.push(Move { segment: id, adds, contact, at });
                }
                Effect::Request { step, webhook, at } => self.request(execution, step, &webhook, at),
            }
        }
    }
}

impl OnStage<'_> {
    fn change(&mut self, patch: Arc<DataPatch>, subscribed: Option<bool>, at: Timestamp) {
        let contact = self.facts.contact_mut();
        let before = contact.subscribed;
        contact.subscribed = subscribed.unwrap_or(before);
        if patch.apply(&mut contact.data) || contact.subscribed != before {
            contact.updated_at = at;
        }
        let email = contact.email.clone();
        self.pending.changes.push(Change { email, patch, subscribed, at });
    }

    fn request(&mut self, execution: &Execution, place: Place, webhook: &Webhook, at: Timestamp) {
        let (workflow, name) = self.workflow;
        let contact = self.facts.contact();
        match Request::new(webhook, contact, execution, Sender { workflow, name }) {
            Ok(request) => self.pending.requests.push(NewRequest {
                host: webhook::host(&request.url),
                id: WebhookId::new(at, rand::random()),
                workflow,
                execution: execution.id,
                contact: contact.id,
                place,
                request,
                at,
            }),
            Err(error) => {
                let answered = Answered { output: Value::Null, error: Some(error) };
                self.pending.answers.push((execution.id, contact.id, answered, at));
            }
        }
    }
}
