//! The audit log: who did what in a project. Entries are only appended, in the transaction of the action.

use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ApiKeyId, AuditId, ProjectNumber, UserId};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;
use uuid::Uuid;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// Something that was done.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The action.
    pub action: Action,
    /// The target: an id, an address, a name.
    pub target: Option<String>,
    /// More about it: an object without secrets.
    pub details: Json,
}

impl Entry {
    /// An action on something.
    pub fn new(action: Action, target: impl Into<String>) -> Self {
        Self { action, target: Some(target.into()), details: Json::Object(serde_json::Map::new()) }
    }

    /// An action on the project itself.
    pub fn of_project(action: Action) -> Self {
        Self { action, target: None, details: Json::Object(serde_json::Map::new()) }
    }

    /// The same with more about it.
    #[must_use]
    pub fn with(mut self, details: Json) -> Self {
        self.details = details;
        self
    }
}

/// Appends an entry.
pub async fn record(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    actor: &Actor,
    entry: &Entry,
    now: Timestamp,
) -> Result<()> {
    let (kind, id, name) = stored(actor);
    let last = tx
        .optional(
            "select id from audit where project_id = $1 order by id desc limit 1",
            args![project],
            |r| r.get::<AuditId>(0),
        )
        .await?;
    tx.execute_one(
        "insert into audit (project_id, id, actor_type, actor_id, actor_name, action, target, details, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, {json $8}, $9)",
        args![
            project,
            AuditId::after(last, now, rand::random()),
            kind,
            id,
            name,
            entry.action.as_str(),
            entry.target.as_deref(),
            &entry.details,
            now,
        ],
    )
    .await
}

/// How often an action was recorded of a project since a time, counted up to a number.
pub async fn count_since(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    action: Action,
    since: Timestamp,
    most: i64,
) -> Result<i64> {
    rx.one(
        "select count(*) from (select 1 from audit where project_id = $1 and id >= $2 and action = $3 limit $4) as found",
        args![project, AuditId::first_of(since), action.as_str(), most],
        |r| r.get(0),
    )
    .await
}

/// An actor as three columns: type, id and name.
pub(crate) fn stored(actor: &Actor) -> (&'static str, Arg<'static>, Option<&str>) {
    match actor {
        Actor::User { id, email } => ("user", Arg::Id((*id).into()), Some(email)),
        Actor::Key { id, name } => ("key", Arg::Id((*id).into()), name.as_deref()),
        Actor::Operator => ("operator", Arg::Null, None),
        Actor::Service => ("service", Arg::Null, None),
    }
}

/// The actor of three columns.
pub(crate) fn read(kind: &str, id: Option<Uuid>, name: Option<String>) -> Actor {
    match (kind, id) {
        ("user", Some(id)) => Actor::User { id: UserId::from(id), email: name.unwrap_or_default() },
        ("key", Some(id)) => Actor::Key { id: ApiKeyId::from(id), name },
        ("service", _) => Actor::Service,
        _ => Actor::Operator,
    }
}

/// An entry as lists show it.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Identifier.
    pub id: AuditId,
    /// Who did it.
    pub actor: Actor,
    /// What was done.
    pub action: String,
    /// The target.
    pub target: Option<String>,
    /// More about it.
    pub details: Json,
    /// When.
    pub created_at: Timestamp,
}

/// A page of the log, newest first.
pub async fn list(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    after: Option<AuditId>,
    limit: usize,
) -> Result<Vec<Recorded>> {
    let mut args: Vec<Arg<'_>> = vec![project.into(), limit.into()];
    let mut filter = "";
    if let Some(after) = after {
        args.push(after.into());
        filter = " and id < $3";
    }
    rx.all(
        format!(
            "select id, actor_type, actor_id, actor_name, action, target, {{json_out details}}, created_at \
             from audit where project_id = $1{filter} order by id desc limit $2"
        ),
        &args,
        |r| {
            let (kind, id, name): (String, Option<Uuid>, Option<String>) = (r.get(1)?, r.get(2)?, r.get(3)?);
            Ok(Recorded {
                id: r.get(0)?,
                actor: read(&kind, id, name),
                action: r.get(4)?,
                target: r.get(5)?,
                details: r.get(6)?,
                created_at: r.get(7)?,
            })
        },
    )
    .await
}

/// Most entries that [`count`] counts.
const COUNTED: i64 = 10_000;

/// How many entries a log has, counted up to 10,000.
pub async fn count(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<i64> {
    rx.one(
        "select count(*) from (select 1 from audit where project_id = $1 limit $2) as counted",
        args![project, COUNTED],
        |r| r.get(0),
    )
    .await
}
