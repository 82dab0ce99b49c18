//! `POST /v1/send`: accept a mail for each recipient, all of them or none.
//!
//! The way to the transaction is that of [`track`]. [`run`] also checks the sender's domain
//! and, for marketing templates, the subscription of every recipient, before it writes anything. It stores the content
//! once, by its hash, and one row of `emails` for each recipient with the values that its variables have now. From 1 KB
//! on, values that all recipients of the request share are part of the content. Then the feeder of the lane is woken;
//! the answer does not wait for delivery.

mod acceptance;
mod filled;
mod operation;
mod request;

use mailwright_core::email::Lane;
use mailwright_core::header::HeaderError;
use mailwright_core::issue::Issue;
use mailwright_core::time::Timestamp;
use mailwright_store::Load;

use crate::App;
use crate::audience::locale::check_locale;
use crate::audience::track;
use crate::error::{Error, Result};
use crate::project::billing::refusal::limit_reached;
use crate::project::key::Identity;
use crate::sending::idempotency::{IdempotencyKey, reused};
use acceptance::Refusal;
pub(crate) use acceptance::{Outcome, run};
pub(crate) use filled::Filled;
pub(crate) use operation::{Operation, OwnMail};
pub use request::{Accepted, Recipient, Send};

impl App {
    /// Accepts a mail for each recipient. Once this returns, they are on disk and will be handed over.
    pub async fn send(
        &self,
        caller: &Identity,
        send: Send,
        key: Option<IdempotencyKey>,
    ) -> Result<(Vec<Accepted>, Timestamp)> {
        let project = &caller.project;
        let at = self.0.clock.now();
        check_locale(&send.data)?;
        self.check_headers(&send.headers)?;
        let template = match send.template {
            Some(id) => Some(self.template(project, id).await?),
            None => None,
        };
        let used_key = key.as_ref().map(|k| k.key.clone());
        let operation = self.operation(caller, send, template, key, at)?;
        if operation.recipients.is_empty() {
            return Ok((Vec::new(), at));
        }
        let route = track::route(project.number, &operation.recipients[0].0.email);
        let domain = operation.from.domain().to_owned();
        let load = Load { project: project.number, rows: operation.recipients.len(), bytes: operation.bytes };
        match self.0.sending.sends.call_sized(route, load, operation).await? {
            Ok(accepted) => {
                self.dispatcher().wake(Lane::Transactional, project.number);
                Ok((accepted, at))
            }
            Err(Refusal::Used(used)) => Err(reused(used_key.unwrap_or_default(), used)),
            Err(Refusal::Stale(stale)) => Err(self.stale(caller, stale)),
            Err(Refusal::Excess(excess)) => Err(Error::Invalid(vec![excess.issue()])),
            Err(Refusal::Limit(category)) => {
                self.0.project.billing.notices.wake();
                Err(limit_reached(category, at))
            }
            Err(Refusal::DomainUnknown) => Err(Error::SenderRefused(format!(
                "The domain {domain} is not registered for this project. Add it and verify it before sending from it."
            ))),
            Err(Refusal::DomainUnverified) => Err(Error::SenderRefused(format!(
                "The domain {domain} is not verified. Create its DNS records and verify it before sending from it."
            ))),
            Err(Refusal::NotInTopic(email)) => Err(Error::BadRequest(format!(
                "{email} is not in the topic of the template. Put the contact into the topic when the recipient has agreed, or use a template without a topic."
            ))),
            Err(Refusal::Unsubscribed(email)) if project.double_opt_in => Err(Error::BadRequest(format!(
                "{email} has not confirmed the subscription, and the template is of type MARKETING. Use a TRANSACTIONAL template, or create the contact with POST /contacts first, which asks for a confirmation."
            ))),
            Err(Refusal::Unsubscribed(email)) => Err(Error::BadRequest(format!(
                "{email} is not subscribed, and the template is of type MARKETING. Use a TRANSACTIONAL template, or pass subscribed: true when the recipient has agreed."
            ))),
        }
    }

    /// Refuses headers that the operator keeps to the service.
    pub(crate) fn check_headers(&self, headers: &[(String, String)]) -> Result<()> {
        let reserved = headers.iter().filter(|(name, _)| self.0.settings.reserved_headers.has(name));
        let issues: Vec<_> = reserved
            .map(|(name, _)| {
                Issue::new(format!("headers.{name}"), "custom", HeaderError::Reserved.to_string())
            })
            .collect();
        if issues.is_empty() { Ok(()) } else { Err(Error::Invalid(issues)) }
    }
}
