//! Putting mails into the outbox.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use mailwright_core::address::EmailAddress;
use mailwright_core::billing::Category;
use mailwright_core::email::{EmailSource, EmailStatus, Lane, Reason};
use mailwright_core::ids::{
    ContactId, EmailId, ExecutionId, ProjectNumber, StepId, TemplateId, TopicId, WorkflowId,
};
use mailwright_core::rollup::Metric;
use mailwright_core::suppression::Match;
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::figures::Figure;

use super::count;
use crate::audience::suppression;
use crate::automation::figures;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;
use crate::insight::counter::Counter;
use crate::insight::deltas::Deltas;
use crate::insight::rollup;
use crate::project::billing::usage;
use crate::sending::held::note as held;

/// A mail to put into the outbox, of no campaign.
#[derive(Debug, Clone)]
pub struct NewEmail {
    /// Project.
    pub project: ProjectNumber,
    /// Identifier; its time is `at`.
    pub id: EmailId,
    /// The contact that the mail is for.
    pub contact: ContactId,
    /// Address it goes to.
    pub recipient: EmailAddress,
    /// Name shown with that address.
    pub recipient_name: Option<String>,
    /// Sender address.
    pub from: EmailAddress,
    /// Sender name.
    pub from_name: Option<String>,
    /// Reply address.
    pub reply_to: Option<EmailAddress>,
    /// Subject before rendering.
    pub subject: String,
    /// SHA-256 of its content.
    pub content_hash: [u8; 32],
    /// Values its variables have, as JSON text.
    pub variables: String,
    /// The origin of the mail.
    pub source: EmailSource,
    /// Which kind of mail it is.
    pub kind: TemplateType,
    /// Queue.
    pub lane: Lane,
    /// Template it came from.
    pub template: Option<TemplateId>,
    /// The topic that it belongs to.
    pub topic: Option<TopicId>,
    /// The step of a workflow that it came from.
    pub step: Option<Origin>,
    /// Whether it has attachments.
    pub has_attachments: bool,
    /// `Message-ID` without angle brackets.
    pub message_id: String,
    /// What holds it back; `None` for a mail that is to be sent.
    pub suppression: Option<Match>,
    /// Whether a restore holds it: it may have been made, and sent, before.
    pub is_held: bool,
    /// When it was accepted.
    pub at: Timestamp,
}

/// The step of a workflow that a mail came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The workflow.
    pub workflow: WorkflowId,
    /// The step.
    pub step: StepId,
    /// The execution.
    pub execution: ExecutionId,
}

/// `deadline_at` of every mail, in milliseconds: never. Only nodes of an earlier version read it, until when they may
/// try a mail.
pub(crate) const NO_DEADLINE: i64 = i64::MAX;

impl NewEmail {
    /// What it counts for.
    pub fn category(&self) -> Category {
        Category::of(self.source, self.kind)
    }

    fn status(&self) -> EmailStatus {
        match (&self.suppression, self.is_held) {
            (Some(_), _) => EmailStatus::Suppressed,
            (None, true) => EmailStatus::InDoubt,
            (None, false) => EmailStatus::Pending,
        }
    }
}

/// Puts mails into the outbox, due at once. Those that are held back are stored beside it, and never due. They are counted
/// at once, and written when the future is awaited.
pub fn enqueue<'t>(tx: &'t Tx<'_>, emails: &'t [NewEmail], deltas: &mut Deltas) -> BoxFuture<'t, Result<()>> {
    for email in emails {
        count::add(deltas, email.project, email.status(), 1);
        let mail = (email.id, email.recipient.as_str());
        rollup::count_mail(deltas.sums(), email.project, Metric::Emails, mail, 1);
        if email.suppression.is_none() {
            let (category, mails) = (email.category(), (1, i64::from(email.has_attachments)));
            usage::count(deltas.sums(), email.project, category, email.at, mails);
        }
        if let Some(Origin { workflow, step, .. }) = email.step {
            figures::add_mail(deltas.sums(), email.project, (workflow, step), Figure::Emails, 1);
            if email.status() != EmailStatus::Pending {
                figures::add_mail(deltas.sums(), email.project, (workflow, step), Figure::Unsent, 1);
            }
        }
        if let Some(template) = email.template {
            deltas.add(email.project, Counter::Template, &template.to_string(), 1);
        }
    }
    Box::pin(insert(tx, emails))
}

async fn insert(tx: &Tx<'_>, emails: &[NewEmail]) -> Result<()> {
    fn texts<'a>(emails: &'a [NewEmail], text: impl Fn(&'a NewEmail) -> Option<&'a str>) -> Arg<'a> {
        Arg::Texts(emails.iter().map(|e| text(e).map(Into::into)).collect())
    }
    fn ints<'a>(emails: &[NewEmail], int: impl Fn(&NewEmail) -> i64) -> Arg<'a> {
        Arg::Ints(emails.iter().map(|e| Some(int(e))).collect())
    }
    tx.each(
        "insert into emails (project_id, id, contact_id, recipient, recipient_name, from_address, from_name, reply_to, \
         subject, content_hash, variables, source, type, lane, template_id, message_id, created_at, workflow_id, \
         step_id, execution_id, topic_id, status, reason, suppression, due_at, deadline_at, updated_at, claim, attempts, in_doubt, error, log, opens, clicks) \
         select r.project_id, r.id, r.contact_id, r.recipient, r.recipient_name, r.from_address, r.from_name, r.reply_to, \
         r.subject, r.content_hash, r.variables, r.source, r.type, r.lane, r.template_id, r.message_id, \
         r.created_at, r.workflow_id, r.step_id, r.execution_id, r.topic_id, r.status, r.reason, r.suppression, r.due_at, $28, \
         r.created_at, 0, 0, r.in_doubt, r.error, {json '[]'}, 0, 0 \
         from {rows r: project_id int, id id, contact_id id, recipient text, recipient_name text, from_address text, \
         from_name text, reply_to text, subject text, content_hash bytes, variables json, source text, type text, \
         lane int, template_id id, message_id text, created_at int, workflow_id id, step_id id, execution_id id, \
         topic_id id, status text, reason text, suppression json, due_at int, in_doubt int, error text}",
        &[
            ints(emails, |e| e.project.0),
            Arg::Ids(emails.iter().map(|e| Some(e.id.into())).collect()),
            Arg::Ids(emails.iter().map(|e| Some(e.contact.into())).collect()),
            texts(emails, |e| Some(e.recipient.as_str())),
            texts(emails, |e| e.recipient_name.as_deref()),
            texts(emails, |e| Some(e.from.as_str())),
            texts(emails, |e| e.from_name.as_deref()),
            texts(emails, |e| e.reply_to.as_ref().map(EmailAddress::as_str)),
            texts(emails, |e| Some(&e.subject)),
            Arg::Blobs(emails.iter().map(|e| Some(e.content_hash.as_slice().into())).collect()),
            Arg::Jsons(emails.iter().map(|e| Some(e.variables.as_str().into())).collect()),
            texts(emails, |e| Some(e.source.as_str())),
            texts(emails, |e| Some(e.kind.as_str())),
            ints(emails, |e| e.lane.number()),
            Arg::Ids(emails.iter().map(|e| e.template.map(Into::into)).collect()),
            texts(emails, |e| Some(&e.message_id)),
            ints(emails, |e| e.at.0),
            Arg::Ids(emails.iter().map(|e| e.step.map(|step| step.workflow.into())).collect()),
            Arg::Ids(emails.iter().map(|e| e.step.map(|step| step.step.into())).collect()),
            Arg::Ids(emails.iter().map(|e| e.step.map(|step| step.execution.into())).collect()),
            Arg::Ids(emails.iter().map(|e| e.topic.map(Into::into)).collect()),
            texts(emails, |e| Some(e.status().as_str())),
            texts(emails, |e| e.suppression.as_ref().map(|_| Reason::Suppressed.as_str())),
            Arg::Jsons(emails.iter().map(|e| e.suppression.as_ref().map(|by| by.to_text().into())).collect()),
            Arg::Ints(emails.iter().map(|e| (e.status() == EmailStatus::Pending).then_some(e.at.0)).collect()),
            ints(emails, |e| i64::from(e.status() == EmailStatus::InDoubt)),
            texts(emails, |e| (e.status() == EmailStatus::InDoubt).then_some(held::WHY)),
            NO_DEADLINE.into(),
        ],
    )
    .await?;
    for (project, ids) in by_project(emails, EmailStatus::Suppressed) {
        suppression::mail::note(tx, project, &ids).await?;
    }
    for (project, ids) in by_project(emails, EmailStatus::InDoubt) {
        held::note(tx, project, &ids.into_iter().map(|id| (id, None)).collect::<Vec<_>>()).await?;
    }
    Ok(())
}

/// The mails with a status, by project.
fn by_project(emails: &[NewEmail], status: EmailStatus) -> BTreeMap<ProjectNumber, Vec<EmailId>> {
    let mut found: BTreeMap<ProjectNumber, Vec<EmailId>> = BTreeMap::new();
    for email in emails.iter().filter(|email| email.status() == status) {
        found.entry(email.project).or_default().push(email.id);
    }
    found
}
