//! Single mails, and lists of them.

use std::collections::BTreeMap;

use mailwright_core::bounce::BounceClass;
use mailwright_core::email::EmailStatus;
use mailwright_core::ids::{ContactId, EmailId, ExecutionId, ProjectNumber, StepId, TopicId, WorkflowId};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use serde_json::{Map, Value as Json};

use super::count;
use super::record::{COLUMNS, Email, Illegible, read, read_listed};
use crate::args;
use crate::audience::suppression;
use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::database::value::Arg;

/// Whether there is a mail to a contact, however much of it can be read.
pub async fn is_to(rx: &mut Rx<'_>, project: ProjectNumber, id: EmailId, contact: ContactId) -> Result<bool> {
    rx.exists(
        "select 1 from emails where project_id = $1 and id = $2 and contact_id = $3",
        args![project, id, contact],
    )
    .await
}

/// The topic of a mail, if it was sent to a contact and has one.
pub async fn topic_of(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    id: EmailId,
    contact: ContactId,
) -> Result<Option<TopicId>> {
    let sql = "select topic_id from emails where project_id = $1 and id = $2 and contact_id = $3";
    let found = rx.optional(sql, args![project, id, contact], |r| r.get::<Option<TopicId>>(0)).await?;
    Ok(found.flatten())
}

/// One mail.
pub async fn get(rx: &mut Rx<'_>, project: ProjectNumber, id: EmailId) -> Result<Option<Email>> {
    rx.optional(
        format!("select {COLUMNS} from emails where project_id = $1 and id = $2"),
        args![project, id],
        read,
    )
    .await
}

/// A page of a list.
#[derive(Debug, Clone, Copy)]
pub struct List {
    /// Most rows.
    pub limit: usize,
    /// The last row of the page before.
    pub after: Option<EmailId>,
    /// Only mails with this status.
    pub status: Option<EmailStatus>,
    /// Only mails to this contact.
    pub contact: Option<ContactId>,
}

/// Reads a page of mails, newest first.
pub async fn list(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    list: List,
) -> Result<Vec<Result<Email, Illegible>>> {
    if list.status == Some(EmailStatus::Suppressed) && list.contact.is_none() {
        return suppressed(rx, project, list.after, list.limit).await;
    }
    let mut args: Vec<Arg<'_>> = vec![project.into(), list.limit.into()];
    let mut filter = String::new();
    if let Some(after) = list.after {
        args.push(after.into());
        filter += &format!(" and id < ${}", args.len());
    }
    if let Some(contact) = list.contact {
        args.push(contact.into());
        filter += &format!(" and contact_id = ${}", args.len());
    }
    if let Some(status) = list.status {
        // in the text, so that the partial index applies
        filter += &format!(" and status = '{}'", status.as_str());
    }
    rx.all(
        format!("select {COLUMNS} from emails where project_id = $1{filter} order by id desc limit $2"),
        &args,
        read_listed,
    )
    .await
}

/// Reads a page of the mails that were held back, newest first.
pub async fn suppressed(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    after: Option<EmailId>,
    limit: usize,
) -> Result<Vec<Result<Email, Illegible>>> {
    let ids = suppression::mail::page(rx, project, after, limit).await?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    rx.all(
        format!("select {COLUMNS} from emails where project_id = $1 and id {{in $2}} order by id desc"),
        &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
        read_listed,
    )
    .await
}

/// What a mail is made of.
#[derive(Debug, Clone)]
pub struct Source {
    /// The mail.
    pub id: EmailId,
    /// SHA-256 of its content.
    pub content_hash: Vec<u8>,
    /// Values its variables have.
    pub variables: Map<String, Json>,
    /// Which kind of mail it is; `None` for one that this program does not know.
    pub kind: Option<TemplateType>,
}

/// What some mails are made of, as far as that can be read.
pub async fn sources(rx: &Rx<'_>, project: ProjectNumber, ids: &[EmailId]) -> Result<Vec<Source>> {
    rx.all(
        "select id, content_hash, {json_out variables}, type from emails where project_id = $1 and id {in $2}",
        &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
        |r| {
            Ok(Source {
                id: r.get(0)?,
                content_hash: r.get(1)?,
                variables: r.get(2)?,
                kind: TemplateType::from_name(&r.get::<String>(3)?),
            })
        },
    )
    .await
}

/// The mails in doubt that are as old as `from` or newer, the oldest first, at most `most`. Held mails are among them.
pub async fn in_doubt(
    rx: &Rx<'_>,
    project: ProjectNumber,
    from: Timestamp,
    most: i64,
) -> Result<Vec<EmailId>> {
    rx.all(
        "select id from emails where project_id = $1 and status = 'IN_DOUBT' and id >= $2 order by id limit $3",
        args![project, EmailId::first_of(from), most],
        |r| r.get(0),
    )
    .await
}

/// How many mails a list has in all.
pub async fn total(rx: &mut Rx<'_>, project: ProjectNumber, list: List) -> Result<i64> {
    let Some(contact) = list.contact else {
        let counts = count::read(rx, project).await?;
        let of = |wanted| counts.iter().find(|(status, _)| *status == wanted).map_or(0, |(_, count)| *count);
        return Ok(match list.status {
            None => counts.iter().map(|(_, count)| count).sum(),
            Some(EmailStatus::Pending) => of(EmailStatus::Pending) - sending(rx, project).await?,
            Some(EmailStatus::Sending) => sending(rx, project).await?,
            Some(status) => of(status),
        });
    };
    let filter = list.status.map(|s| format!(" and status = '{}'", s.as_str())).unwrap_or_default();
    let text = format!("select count(*) from emails where project_id = $1 and contact_id = $2{filter}");
    let sent: i64 = rx.one(text, args![project, contact], |r| r.get(0)).await?;
    let received = if list.status.is_none_or(|status| status == EmailStatus::Received) {
        let text = "select count(*) from inbound_mails where project_id = $1 and contact_id = $2";
        rx.one(text, args![project, contact], |r| r.get(0)).await?
    } else {
        0
    };
    Ok(sent + received)
}

async fn sending(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<i64> {
    rx.one("select count(*) from emails where project_id = $1 and status = 'SENDING'", args![project], |r| {
        r.get(0)
    })
    .await
}

/// The mail of a step of an execution.
#[derive(Debug, Clone)]
pub struct OfStep {
    /// The step.
    pub step: StepId,
    /// The mail.
    pub id: EmailId,
    /// Its recipient; `None` once the contact is gone.
    pub recipient: Option<String>,
    /// What became of it.
    pub status: EmailStatus,
    /// Why it is not sent, or not yet.
    pub error: Option<String>,
    /// The same in short.
    pub reason: Option<String>,
}

/// The mails of an execution.
pub async fn of_execution(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    execution: ExecutionId,
) -> Result<Vec<OfStep>> {
    rx.all(
        "select step_id, id, recipient, status, error, reason from emails where project_id = $1 and contact_id = $2 \
         and execution_id = $3",
        args![project, contact, execution],
        |r| {
            Ok(OfStep {
                step: r.get(0)?,
                id: r.get(1)?,
                recipient: Some(r.get::<String>(2)?).filter(|address| !address.is_empty()),
                status: r.named(3, "emails.status", EmailStatus::from_name)?,
                error: r.get(4)?,
                reason: r.get(5)?,
            })
        },
    )
    .await
}

/// A mail to a contact that bounced, or that was called spam.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The mail.
    pub id: EmailId,
    /// When it was refused for good.
    pub bounced_at: Option<Timestamp>,
    /// When the recipient called it spam.
    pub complained_at: Option<Timestamp>,
    /// Why it bounced.
    pub class: Option<BounceClass>,
    /// What the recipient's host said.
    pub error: Option<String>,
}

/// The newest mails of a contact that bounced or were called spam.
pub async fn troubles(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    limit: i64,
) -> Result<Vec<Trouble>> {
    rx.all(
        "select id, bounced_at, complained_at, bounce_class, error from emails \
         where project_id = $1 and contact_id = $2 and (bounced_at is not null or complained_at is not null) \
         order by id desc limit $3",
        args![project, contact, limit],
        |r| {
            Ok(Trouble {
                id: r.get(0)?,
                bounced_at: r.get(1)?,
                complained_at: r.get(2)?,
                class: r.get::<Option<String>>(3)?.and_then(|name| BounceClass::from_name(&name)),
                error: r.get(4)?,
            })
        },
    )
    .await
}

/// A mail that a cap on marketing mails counts.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// Who got it.
    pub contact: ContactId,
    /// When it was made.
    pub at: Timestamp,
    /// The workflow that made it.
    pub workflow: Option<WorkflowId>,
}

/// When some contacts got mails that a cap on marketing mails counts, since an instant; the newest first. Contacts that got
/// none are missing.
pub async fn times_counted_by_cap(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contacts: &[ContactId],
    since: Timestamp,
) -> Result<BTreeMap<ContactId, Vec<Timestamp>>> {
    let mut times: BTreeMap<ContactId, Vec<Timestamp>> = BTreeMap::new();
    for mail in counted_by_cap(rx, project, contacts, since).await? {
        times.entry(mail.contact).or_default().push(mail.at);
    }
    Ok(times)
}

/// The mails of some contacts that a cap on marketing mails counts, since an instant; the newest first. What a workflow
/// sends to somebody else does not count.
pub async fn counted_by_cap(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contacts: &[ContactId],
    since: Timestamp,
) -> Result<Vec<Counted>> {
    rx.each_returning(
        "select e.contact_id, e.created_at, e.workflow_id from {rows r: contact_id id} join emails e on e.project_id = $2 \
         and e.contact_id = r.contact_id and e.id >= $3 \
         left join contacts c on c.project_id = $2 and c.id = e.contact_id where e.type <> 'TRANSACTIONAL' \
         and e.source in ('CAMPAIGN', 'WORKFLOW') and e.status not in ('SKIPPED', 'SUPPRESSED', 'FAILED') \
         and (e.source = 'CAMPAIGN' or e.recipient = c.email) order by e.id desc",
        &[
            Arg::Ids(contacts.iter().map(|id| Some((*id).into())).collect()),
            project.into(),
            EmailId::first_of(since).into(),
        ],
        |r| Ok(Counted { contact: r.get(0)?, at: r.get(1)?, workflow: r.get(2)? }),
    )
    .await
}
