//! The audience of a campaign: how many contacts it has, and which.

use std::sync::Arc;

use mailwright_core::campaign::{Audience, Recipient, excluded};
use mailwright_core::email::Reason;
use mailwright_core::filter::Filter;
use mailwright_core::ids::{ContactId, ProjectNumber, SegmentId};
use mailwright_core::segment::{Segment, SegmentType};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use mailwright_core::topic::Topic;
use serde_json::Value as Json;

use crate::args;
use crate::audience::filter::{self, Segments};
use crate::audience::segment;
use crate::audience::suppression::address::holding;
use crate::database::error::{Error, Result};
use crate::database::tx::Rx;
use crate::database::value::Arg;
use crate::insight::counter::{self, Counter};

/// An audience with all that its segments mean.
#[derive(Debug, Clone)]
pub enum Members {
    /// Every contact.
    All,
    /// The stored members of a segment.
    Stored(SegmentId),
    /// The contacts that a filter finds.
    Found(Arc<Filter>, Segments),
}

/// Looks up what an audience means. A segment that is gone has no members; one whose members are not all stored yet is
/// judged by its filter.
pub async fn resolve(rx: &mut Rx<'_>, project: ProjectNumber, audience: &Audience) -> Result<Members> {
    let tree = match audience {
        Audience::All => return Ok(Members::All),
        Audience::Segment(id) => match segment::get(rx, project, *id).await? {
            Some(found) if found.kind == SegmentType::Dynamic && !is_stored(rx, project, &found).await? => {
                segment::tree_of(&found)?
            }
            Some(_) | None => return Ok(Members::Stored(*id)),
        },
        Audience::Filtered(tree) => parse(tree)?,
    };
    let segments = segment::resolve(rx, project, &tree).await?;
    Ok(Members::Found(Arc::new(tree), segments))
}

/// Whether all members of a dynamic segment are stored.
async fn is_stored(rx: &mut Rx<'_>, project: ProjectNumber, segment: &Segment) -> Result<bool> {
    let state = segment::state(rx, project, segment.id).await?;
    Ok(segment.track_membership && state.is_some_and(|state| state.settled))
}

fn parse(tree: &Json) -> Result<Filter> {
    Filter::parse(tree).map_err(|issues| Error::Corrupt {
        column: 0,
        expected: "a filter",
        detail: issues
            .first()
            .map_or_else(String::new, |issue| format!("{}: {}", issue.field, issue.message)),
    })
}

/// `from contacts c ... where` with what makes a contact one of the audience.
struct Source {
    tables: &'static str,
    condition: String,
    args: Vec<Arg<'static>>,
    /// The column that pages go by.
    id: &'static str,
}

async fn source(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    members: &Members,
    now: Timestamp,
) -> Result<Source> {
    let mut args: Vec<Arg<'static>> = vec![project.into()];
    match members {
        Members::All => {
            Ok(Source { tables: "contacts c", condition: "c.project_id = $1".into(), args, id: "c.id" })
        }
        Members::Stored(segment) => {
            args.push((*segment).into());
            Ok(Source {
                tables: "segment_members m join contacts c on c.project_id = m.project_id and c.id = m.contact_id",
                condition: "m.project_id = $1 and m.segment_id = $2 and m.exited_at is null".into(),
                args,
                id: "m.contact_id",
            })
        }
        Members::Found(tree, segments) => {
            let counts = filter::event_counts(rx, project, &segments.references(tree).events).await?;
            let condition = filter::condition(tree, segments, &counts, now, rx.is_postgres(), &mut args)?;
            Ok(Source {
                tables: "contacts c",
                condition: format!("c.project_id = $1 and {condition}"),
                args,
                id: "c.id",
            })
        }
    }
}

/// Whether an audience can be looked up: its filter may have too many conditions by now, with those of its segments.
pub async fn can_be_found(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    audience: &Audience,
    now: Timestamp,
) -> Result<bool> {
    let members = resolve(rx, project, audience).await?;
    match source(rx, project, &members, now).await {
        Ok(_) => Ok(true),
        Err(Error::TooManyConditions) => Ok(false),
        Err(error) => Err(error),
    }
}

/// How many contacts of an audience get a mail, and how many do not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// All of them.
    pub audience: i64,
    /// Contacts that get no mail because they are not subscribed.
    pub unsubscribed: i64,
    /// Contacts that get no mail because they are not in the topic.
    pub not_in_topic: i64,
    /// Contacts that get no mail because their address is suppressed.
    pub suppressed: i64,
}

impl Counted {
    /// Contacts that get a mail.
    pub fn recipients(self) -> i64 {
        self.audience - self.unsubscribed - self.not_in_topic - self.suppressed
    }

    fn new(kind: TemplateType, all: Split, suppressed: Split) -> Self {
        let unsubscribed =
            if kind.needs_subscription() { all.unsubscribed - suppressed.unsubscribed } else { 0 };
        Self {
            audience: all.subscribed + all.unsubscribed,
            unsubscribed,
            not_in_topic: 0,
            suppressed: suppressed.subscribed + suppressed.unsubscribed,
        }
    }
}

/// Contacts by their subscription.
#[derive(Debug, Clone, Copy)]
pub struct Split {
    /// Those that are subscribed.
    pub subscribed: i64,
    /// Those that are not.
    pub unsubscribed: i64,
}

/// What decides who of an audience gets a mail.
#[derive(Debug, Clone)]
pub struct Mailing {
    /// The kind of mail.
    pub kind: TemplateType,
    /// The topic that it belongs to.
    pub topic: Option<Topic>,
}

impl Mailing {
    /// The topic, where it matters.
    fn topic(&self) -> Option<&Topic> {
        self.topic.as_ref().filter(|_| self.kind.needs_subscription())
    }
}

/// SQL that joins the choices of contacts that differ from the default of a topic.
fn joined_choices(topic: &Topic, args: &mut Vec<Arg<'static>>) -> String {
    args.extend([topic.id.into(), (!topic.default_subscribed).into()]);
    let (id, subscribed) = (args.len() - 1, args.len());
    format!(
        " join topic_choices t on t.project_id = c.project_id and t.topic_id = ${id} and t.contact_id = c.id \
         and t.subscribed = ${subscribed}"
    )
}

/// A condition on `contacts c` for those whose address the project's list does not hold back; the instant is the argument
/// `$n`.
fn not_suppressed(kind: TemplateType, n: usize) -> String {
    format!(
        "not exists (select 1 from suppressions s where s.project_id = c.project_id and s.email = c.email and {})",
        holding(kind, n)
    )
}

/// Counts the contacts of an audience who would get a mail but for their choice about its topic: those who chose
/// otherwise than its default.
async fn count_choices(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    members: &Members,
    (kind, topic): (TemplateType, &Topic),
    now: Timestamp,
) -> Result<i64> {
    let mut source = source(rx, project, members, now).await?;
    let choices = joined_choices(topic, &mut source.args);
    source.args.push(now.into());
    let sql = format!(
        "select count(*) from {}{choices} where {} and c.subscribed and {}",
        source.tables,
        source.condition,
        not_suppressed(kind, source.args.len())
    );
    let counted = rx.query_with_seqscan(sql, &source.args, |r| r.get::<i64>(0)).await?;
    counted.into_iter().next().ok_or(Error::NotFound)
}

/// Counts the contacts of an audience for a mail. Of what holds back mail, the project's list of addresses is counted; its
/// rules, and the list of the instance, are looked at when a contact is frozen. How many contacts there are in all may be
/// `known` already.
pub async fn count(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    members: &Members,
    known: Option<Split>,
    mailing: &Mailing,
    now: Timestamp,
) -> Result<Counted> {
    let mut counted = count_subscribed(rx, project, (members, known), mailing.kind, now).await?;
    if let Some(topic) = mailing.topic() {
        let others = count_choices(rx, project, members, (mailing.kind, topic), now).await?;
        let left = counted.recipients();
        counted.not_in_topic = if topic.default_subscribed { others } else { left - others };
    }
    Ok(counted)
}

async fn count_subscribed(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    (members, known): (&Members, Option<Split>),
    kind: TemplateType,
    now: Timestamp,
) -> Result<Counted> {
    let source = source(rx, project, members, now).await?;
    let all = match (members, known) {
        (Members::All, _) => everybody(rx, project).await?,
        (_, Some(known)) => known,
        (Members::Stored(_) | Members::Found(..), None) => {
            split(rx, &source, source.tables.to_owned()).await?
        }
    };
    let any = rx
        .optional("select 1 from suppressions where project_id = $1 limit 1", args![project], |_| Ok(()))
        .await?;
    let suppressed = if any.is_some() {
        let mut args = source.args.clone();
        args.push(now.into());
        let tables = format!(
            "{} join suppressions s on s.project_id = c.project_id and s.email = c.email and {}",
            source.tables,
            holding(kind, args.len())
        );
        split(rx, &Source { args, ..source }, tables).await?
    } else {
        Split { subscribed: 0, unsubscribed: 0 }
    };
    Ok(Counted::new(kind, all, suppressed))
}

/// Most suppressed addresses that are looked up one by one.
const FEW: i64 = 1_000;

/// Counts every contact of a project, as [`count`] does, by a few rows; `None` where too many addresses are suppressed
/// for that.
pub async fn count_all(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    kind: TemplateType,
    now: Timestamp,
) -> Result<Option<Counted>> {
    let (addresses, subscribed, found) = rx
        .one(
            format!(
                "select count(*), cast(coalesce(sum(case when c.subscribed then 1 else 0 end), 0) as {{int}}), count(c.id) \
                 from (select email, reason, expires_at from suppressions where project_id = $1 limit $2) s \
                 left join contacts c on c.project_id = $1 and c.email = s.email and {}",
                holding(kind, 3)
            ),
            args![project, FEW + 1, now],
            |r| Ok((r.get::<i64>(0)?, r.get::<i64>(1)?, r.get::<i64>(2)?)),
        )
        .await?;
    if addresses > FEW {
        return Ok(None);
    }
    let suppressed = Split { subscribed, unsubscribed: found - subscribed };
    Ok(Some(Counted::new(kind, everybody(rx, project).await?, suppressed)))
}

async fn everybody(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Split> {
    let subscribed = counter::value(rx, project, Counter::Subscribed, "").await?;
    let contacts = counter::value(rx, project, Counter::Contacts, "").await?;
    Ok(Split { subscribed, unsubscribed: contacts - subscribed })
}

async fn split(rx: &mut Rx<'_>, source: &Source, tables: String) -> Result<Split> {
    let sql = format!(
        "select cast(coalesce(sum(case when c.subscribed then 1 else 0 end), 0) as {{int}}), count(*) from {tables} where {}",
        source.condition
    );
    let counted =
        rx.query_with_seqscan(sql, &source.args, |r| Ok((r.get::<i64>(0)?, r.get::<i64>(1)?))).await?;
    let (subscribed, all) = counted.into_iter().next().ok_or(Error::NotFound)?;
    Ok(Split { subscribed, unsubscribed: all - subscribed })
}

/// Whether anybody of an audience gets a mail.
pub async fn has_recipients(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    members: &Members,
    mailing: &Mailing,
    now: Timestamp,
) -> Result<bool> {
    let Source { tables, condition, mut args, .. } = source(rx, project, members, now).await?;
    let unsubscribed = Recipient { subscribed: false, in_topic: true, suppressed: false };
    let mut conditions = String::new();
    if excluded(mailing.kind, unsubscribed) == Some(Reason::Unsubscribed) {
        conditions += " and c.subscribed";
    }
    if let Some(topic) = mailing.topic() {
        args.extend([topic.id.into(), (!topic.default_subscribed).into()]);
        let (id, subscribed) = (args.len() - 1, args.len());
        let not = if topic.default_subscribed { "not " } else { "" };
        conditions += &format!(
            " and {not}exists (select 1 from topic_choices t where t.project_id = c.project_id and t.topic_id = ${id} \
             and t.contact_id = c.id and t.subscribed = ${subscribed})"
        );
    }
    args.push(now.into());
    let sql = format!(
        "select 1 from {tables} where {condition}{conditions} and {} limit 1",
        not_suppressed(mailing.kind, args.len())
    );
    Ok(!rx.query_uncached(sql, &args, |_| Ok(())).await?.is_empty())
}

/// The next contacts of an audience in the order of their ids, those before `beyond`.
pub async fn page(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    members: &Members,
    (after, beyond): (Option<ContactId>, ContactId),
    limit: usize,
    now: Timestamp,
) -> Result<Vec<ContactId>> {
    let Source { tables, condition, mut args, id } = source(rx, project, members, now).await?;
    args.extend([Arg::from(limit), beyond.into()]);
    let mut range = format!(" and {id} < ${}", args.len());
    let limit = args.len() - 1;
    if let Some(after) = after {
        args.push(after.into());
        range += &format!(" and {id} > ${}", args.len());
    }
    let sql = format!("select c.id from {tables} where {condition}{range} order by {id} limit ${limit}");
    rx.query_uncached(sql, &args, |r| r.get(0)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suppressed_contact_is_counted_once() {
        let all = Split { subscribed: 6, unsubscribed: 4 };
        let suppressed = Split { subscribed: 1, unsubscribed: 2 };
        let marketing = Counted::new(TemplateType::Marketing, all, suppressed);
        assert_eq!(marketing, Counted { audience: 10, unsubscribed: 2, not_in_topic: 0, suppressed: 3 });
        assert_eq!(marketing.recipients(), 5);
        let transactional = Counted::new(TemplateType::Transactional, all, suppressed);
        assert_eq!(transactional, Counted { audience: 10, unsubscribed: 0, not_in_topic: 0, suppressed: 3 });
    }
}
