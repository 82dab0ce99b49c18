//! Reads the configuration of a step from JSON, and finds everything that is wrong with it (reference 1.3).

mod branches;
mod mail;
mod waiting;
mod webhook;

use std::sync::Arc;

use serde_json::Value;

use crate::custom_data::{self, DataPatch};
use crate::ids::TemplateId;
use crate::issue::Issue;
use crate::reading::{Issues, Noted, Object, join, member, missing, unknown, wrong_type};
use crate::workflow::action::Action;
use crate::workflow::kind::StepType;
use crate::workflow::limits::{MAX_CONFIG, MAX_REASON};

/// The path of a configuration in a request.
const AT: &str = "config";

/// The reason of an EXIT that names none.
pub const EXIT_REASON: &str = "exit_step";

impl Action {
    /// Reads what a step does from its configuration. `template` is the template that the step refers to itself, which
    /// takes precedence over one in the configuration. Every issue names its path, from `config` on.
    pub fn parse(kind: StepType, config: &Value, template: Option<TemplateId>) -> Result<Self, Vec<Issue>> {
        let mut reader = Reader { issues: Issues::default() };
        let action = reader.action(kind, config, template);
        reader.issues.finish_within(action, config, AT, MAX_CONFIG)
    }
}

/// Reads a configuration. `None` means that an issue was noted; the reading goes on all the same.
struct Reader {
    issues: Issues,
}

fn at(name: &str) -> String {
    join(AT, name)
}

impl Reader {
    fn action(&mut self, kind: StepType, config: &Value, template: Option<TemplateId>) -> Option<Action> {
        let object = self.issues.object(config, AT)?;
        match kind {
            StepType::Trigger => Some(Action::Trigger),
            StepType::SendEmail => self.send_email(object, template),
            StepType::Delay => self.delay(object),
            StepType::WaitForEvent => self.wait_for_event(object),
            StepType::WaitUntil => self.wait_until(object),
            StepType::Condition => self.condition(object),
            StepType::RandomSplit => self.split(object),
            StepType::Webhook => self.webhook(object),
            StepType::UpdateContact => self.update(object),
            StepType::AddToSegment => self.segment(object, true),
            StepType::RemoveFromSegment => self.segment(object, false),
            StepType::Exit => self.exit(object),
        }
    }

    fn update(&mut self, object: &Object) -> Option<Action> {
        let updates = match member(object, "updates") {
            None => Some(Object::new()),
            Some(Value::Object(updates)) => {
                for issue in custom_data::check(updates, &at("updates")) {
                    self.issues.note::<()>(issue);
                }
                Some(updates.clone())
            }
            Some(other) => self.issues.note(wrong_type(&at("updates"), "an object", other)),
        };
        let subscribed = match self.optional_text(object, "subscriptionAction").ok()? {
            None | Some("none") => Some(None),
            Some("subscribe") => Some(Some(true)),
            Some("unsubscribe") => Some(Some(false)),
            Some(other) => {
                let message = "Must be one of none, subscribe, unsubscribe.";
                self.issues.note(unknown(&at("subscriptionAction"), message, other))
            }
        };
        let (updates, subscribed) = (updates?, subscribed?);
        if updates.is_empty() && subscribed.is_none() {
            let message = "Name at least one field, or a subscriptionAction.";
            return self.issues.note(missing(&at("updates"), message));
        }
        Some(Action::Update { patch: Arc::new(DataPatch::new(updates)), subscribed })
    }

    fn segment(&mut self, object: &Object, adds: bool) -> Option<Action> {
        let id = self.issues.id(member(object, "segmentId"), &at("segmentId"))?;
        Some(Action::Segment { id, adds })
    }

    fn exit(&mut self, object: &Object) -> Option<Action> {
        let reason = self.optional_text(object, "reason").ok()?.filter(|reason| !reason.trim().is_empty());
        let reason = reason.unwrap_or(EXIT_REASON);
        self.bounded(reason, &at("reason"), MAX_REASON)?;
        Some(Action::Exit { reason: reason.to_owned() })
    }

    /// A text that may be missing.
    fn optional_text<'j>(&mut self, object: &'j Object, name: &str) -> Result<Option<&'j str>, Noted> {
        self.issues.optional_text(member(object, name), &at(name))
    }

    fn bounded(&mut self, text: &str, at: &str, most: usize) -> Option<()> {
        if text.chars().count() > most {
            let message = format!("Must have at most {most} characters.");
            return self.issues.note(Issue::new(at, "too_big", message));
        }
        Some(())
    }
}
