//! Mail that came in for sender domains: one row for each recipient. What is the same for all of them is stored once, by the
//! hash of the message: its text and HTML, and for some time the message as it came.

use mailwright_core::activity::{Place, Source};
use mailwright_core::billing::Category;
use mailwright_core::email::{EmailSource, EmailStatus};
use mailwright_core::ids::{ContactId, EmailId, EventId, ProjectNumber};
use mailwright_core::rollup::Metric;
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::audience::event_counts;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;
use crate::insight::counter::Counter;
use crate::insight::deltas::Deltas;
use crate::insight::rollup;
use crate::project::billing::usage;
use crate::sending::email::count;
use crate::sending::email::record::Email;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// A mail that came in, to one recipient.
#[derive(Debug, Clone)]
pub struct Inbound {
    /// Identifier; its time is `at`.
    pub id: EmailId,
    /// Who wrote it, if that is a contact.
    pub contact: Option<ContactId>,
    /// The recipient.
    pub recipient: String,
    /// All recipients of the project: a JSON array.
    pub recipients: Json,
    /// The address that it says it is from; empty when it says none.
    pub from: String,
    /// The name before it.
    pub from_name: Option<String>,
    /// `From` in one line.
    pub from_header: String,
    /// The subject.
    pub subject: String,
    /// `Message-ID` without angle brackets; empty when it has none.
    pub message_id: String,
    /// The mail of the project that it answers.
    pub in_reply_to: Option<EmailId>,
    /// Whether a machine wrote it.
    pub is_automatic: bool,
    /// What is attached: a JSON array.
    pub attachments: Json,
    /// What was found out of its sender: a JSON object.
    pub verdicts: Json,
    /// SHA-256 of the message.
    pub raw_hash: Vec<u8>,
    /// Bytes of the message.
    pub size: i64,
    /// When it came in.
    pub at: Timestamp,
}

/// What people read of a message.
#[derive(Debug, Clone)]
pub struct Contents {
    /// Its text.
    pub text: Option<String>,
    /// Its HTML, made harmless.
    pub html: Option<String>,
}

/// What came in for a project on a day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Volume {
    /// Mails, one for each recipient.
    pub mails: i64,
    /// Bytes of messages, and of the bodies that events tell.
    pub bytes: i64,
}

/// The columns that lists need.
const LISTED: &str = "id, contact_id, recipient, from_address, from_name, subject, message_id, created_at";

fn read_listed(row: &Row<'_>) -> Result<Email> {
    let at = row.get(7)?;
    Ok(Email {
        id: row.get(0)?,
        contact: row.get(1)?,
        recipient: row.get(2)?,
        recipient_name: None,
        subject: row.get(5)?,
        from: row.get(3)?,
        from_name: row.get(4)?,
        reply_to: None,
        source: EmailSource::Inbound,
        template: None,
        campaign: None,
        message_id: row.get(6)?,
        status: EmailStatus::Received,
        attempts: 0,
        in_doubt: 0,
        due_at: None,
        error: None,
        reason: None,
        recipient_state: None,
        log: Json::Array(Vec::new()),
        opens: 0,
        clicks: 0,
        machines: (0, 0),
        bounce_class: None,
        suppression: None,
        times: [None; 6],
        created_at: at,
        updated_at: at,
    })
}

/// A page of the mails that came in, those of a contact if given, newest first, as lists of all mails show them. `after` is
/// the last row of the page before.
pub async fn list(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contact: Option<ContactId>,
    after: Option<EmailId>,
    limit: usize,
) -> Result<Vec<Email>> {
    let mut args: Vec<Arg<'_>> = vec![project.into(), limit.into()];
    let mut filter = String::new();
    if let Some(after) = after {
        args.push(after.into());
        filter += &format!(" and id < ${}", args.len());
    }
    if let Some(contact) = contact {
        args.push(contact.into());
        filter += &format!(" and contact_id = ${}", args.len());
    }
    rx.all(
        format!("select {LISTED} from inbound_mails where project_id = $1{filter} order by id desc limit $2"),
        &args,
        read_listed,
    )
    .await
}

/// A mail that came in, as the list shows it, and whole.
pub async fn get(
    rx: &Rx<'_>,
    project: ProjectNumber,
    id: EmailId,
) -> Result<Option<(Email, Inbound, Contents)>> {
    rx.optional(
        format!(
            "select {LISTED}, {{json_out recipients}}, from_header, in_reply_to, is_automatic, {{json_out attachments}}, \
             {{json_out verdicts}}, raw_hash, size, body_text, body_html from inbound_mails \
             left join (select hash, body_text, body_html from inbound_contents where project_id = $1) c \
             on c.hash = raw_hash where project_id = $1 and id = $2"
        ),
        args![project, id],
        |r| {
            let listed = read_listed(r)?;
            let inbound = Inbound {
                id: listed.id,
                contact: listed.contact,
                recipient: listed.recipient.clone().unwrap_or_default(),
                recipients: r.get(8)?,
                from: listed.from.clone(),
                from_name: listed.from_name.clone(),
                from_header: r.get(9)?,
                subject: listed.subject.clone(),
                message_id: listed.message_id.clone(),
                in_reply_to: r.get(10)?,
                is_automatic: r.get(11)?,
                attachments: r.get(12)?,
                verdicts: r.get(13)?,
                raw_hash: r.get(14)?,
                size: r.get(15)?,
                at: listed.created_at,
            };
            Ok((listed, inbound, Contents { text: r.get(16)?, html: r.get(17)? }))
        },
    )
    .await
}

/// The message of a mail that came in; `None` once it is not kept any longer.
pub async fn raw(rx: &Rx<'_>, project: ProjectNumber, id: EmailId) -> Result<Option<Vec<u8>>> {
    rx.optional(
        "select w.raw from inbound_mails m join inbound_raw w on w.project_id = $1 and w.hash = m.raw_hash \
         where m.project_id = $1 and m.id = $2",
        args![project, id],
        |r| r.get(0),
    )
    .await
}

/// What came in for a project on the day of `now`.
pub async fn taken(rx: &Rx<'_>, project: ProjectNumber, now: Timestamp) -> Result<Volume> {
    let day = now.0.div_euclid(DAY);
    let sql = "select mails, bytes from inbound_days where project_id = $1 and day = $2";
    Ok(rx.optional(sql, args![project, day], read_volume).await?.unwrap_or_default())
}

/// Counts what comes in on the day of `now`. Nobody else counts some of the project before the transaction ends; how much
/// there is with it.
pub async fn count_taken(
    tx: &Tx<'_>,
    project: ProjectNumber,
    more: Volume,
    now: Timestamp,
) -> Result<Volume> {
    tx.one(
        "insert into inbound_days (project_id, day, mails, bytes) values ($1, $2, $3, $4) \
         on conflict (project_id, day) do update set mails = inbound_days.mails + excluded.mails, \
         bytes = inbound_days.bytes + excluded.bytes returning mails, bytes",
        args![project, now.0.div_euclid(DAY), more.mails, more.bytes],
        read_volume,
    )
    .await
}

fn read_volume(row: &Row<'_>) -> Result<Volume> {
    Ok(Volume { mails: row.get(0)?, bytes: row.get(1)? })
}

/// Keeps a message from now on. Who keeps the same one waits until the transaction ends.
pub async fn keep_raw(
    tx: &Tx<'_>,
    project: ProjectNumber,
    hash: &[u8],
    raw: &[u8],
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "insert into inbound_raw (project_id, hash, raw, created_at) values ($1, $2, $3, $4) \
         on conflict (project_id, hash) do update set created_at = excluded.created_at",
        args![project, hash, raw, now],
    )
    .await?;
    Ok(())
}

/// Stores what people read of a message, unless it is there.
pub async fn keep_contents(
    tx: &Tx<'_>,
    project: ProjectNumber,
    hash: &[u8],
    text: Option<&str>,
    html: Option<&str>,
) -> Result<()> {
    tx.execute(
        "insert into inbound_contents (project_id, hash, body_text, body_html) values ($1, $2, $3, $4) \
         on conflict (project_id, hash) do nothing",
        args![project, hash, text, html],
    )
    .await?;
    Ok(())
}

/// The recipients that have a message already, since a time.
pub async fn recipients_of(
    rx: &Rx<'_>,
    project: ProjectNumber,
    hash: &[u8],
    since: Timestamp,
) -> Result<Vec<String>> {
    rx.all(
        "select recipient from inbound_mails where project_id = $1 and raw_hash = $2 and created_at >= $3",
        args![project, hash, since],
        |r| r.get(0),
    )
    .await
}

/// Stores a mail that came in.
pub async fn add(tx: &Tx<'_>, project: ProjectNumber, mail: &Inbound, deltas: &mut Deltas) -> Result<()> {
    count::add(deltas, project, EmailStatus::Received, 1);
    rollup::count(deltas.sums(), project, Metric::Received, mail.id.instant(), 1);
    usage::count(deltas.sums(), project, Category::Inbound, mail.at, (1, 0));
    tx.execute_one(
        "insert into inbound_mails (project_id, id, contact_id, recipient, recipients, from_address, from_name, \
         from_header, subject, message_id, in_reply_to, is_automatic, attachments, verdicts, raw_hash, size, created_at) \
         values ($1, $2, $3, $4, {json $5}, $6, $7, $8, $9, $10, $11, $12, {json $13}, {json $14}, $15, $16, $17)",
        args![
            project,
            mail.id,
            mail.contact,
            &mail.recipient,
            &mail.recipients,
            &mail.from,
            mail.from_name.as_deref(),
            &mail.from_header,
            &mail.subject,
            &mail.message_id,
            mail.in_reply_to,
            mail.is_automatic,
            &mail.attachments,
            &mail.verdicts,
            &mail.raw_hash[..],
            mail.size,
            mail.at,
        ],
    )
    .await
}

/// Appends an event of a mail whose sender is no contact: no workflow hears of it.
pub async fn append_event(
    tx: &Tx<'_>,
    project: ProjectNumber,
    name: &str,
    (email, data): (EmailId, &Json),
    at: Timestamp,
    deltas: &mut Deltas,
) -> Result<()> {
    deltas.add(project, Counter::Event, name, 1);
    event_counts::count(deltas, project, name, at, 1);
    let id = EventId::new(at, rand::random());
    deltas.sums().note(project, Place { at, id: id.into(), source: Source::Event });
    tx.execute_one(
        "insert into events (project_id, id, name, contact_id, email_id, data, created_at) \
         values ($1, $2, $3, null, $4, {json $5}, $6)",
        args![project, id, name, email, data, at],
    )
    .await
}

/// Forgets messages that were kept before a time, some at a time, and old counts of days; how many.
pub async fn forget(tx: &mut Tx<'_>, project: ProjectNumber, before: Timestamp, limit: i64) -> Result<u64> {
    let messages = tx
        .execute(
            "delete from inbound_raw where project_id = $1 and hash in (select w.hash from inbound_raw w \
             where w.project_id = $1 and w.created_at < $2 order by w.created_at limit $3)",
            args![project, before, limit],
        )
        .await?;
    let days = tx
        .execute(
            "delete from inbound_days where project_id = $1 and day < $2",
            args![project, before.0.div_euclid(DAY)],
        )
        .await?;
    Ok(messages + days)
}
