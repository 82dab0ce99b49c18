//! Projects.
//!
//! A change of keys, members or settings locks the project ([`lock`]) and goes on with the number that it has by then,
//! since a reset may have changed the number meanwhile.

pub mod api_key;
pub mod audit;
pub mod automation;
pub mod billing;
pub mod member;
pub mod purge;
pub mod rate_limit;
pub mod request_log;
mod settings;

use std::collections::{BTreeSet, HashMap};

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{ProjectId, ProjectNumber, TemplateId, UserId};
use mailwright_core::project::{self, Project, Tracking, Utm};
use mailwright_core::retention::Periods;
use mailwright_core::role::Role;
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use self::automation::Automation;
pub use self::settings::{Change, change};
use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;

pub(crate) const COLUMNS: &str = "p.number, p.id, p.name, p.language, p.disabled_at, p.tracking, \
     p.double_opt_in, p.consent_keeps_address";

/// How many columns [`COLUMNS`] has.
pub(crate) const WIDTH: usize = 8;

pub(crate) fn read(row: &Row<'_>) -> Result<Project> {
    read_at(row, 0)
}

/// Reads [`COLUMNS`] that begin at a column.
pub(crate) fn read_at(row: &Row<'_>, first: usize) -> Result<Project> {
    Ok(Project {
        number: row.get(first)?,
        id: row.get(first + 1)?,
        name: row.get(first + 2)?,
        language: row.get(first + 3)?,
        disabled: row.get::<Option<i64>>(first + 4)?.is_some(),
        tracking: row.named(first + 5, "projects.tracking", Tracking::from_name)?,
        double_opt_in: row.get(first + 6)?,
        consent_keeps_address: row.get(first + 7)?,
    })
}

/// The project with a number.
pub async fn get(rx: &mut Rx<'_>, number: ProjectNumber) -> Result<Option<Project>> {
    rx.optional(
        format!("select {COLUMNS} from projects p where p.number = $1 and p.retired_at is null"),
        args![number],
        read,
    )
    .await
}

/// The project with an id.
pub async fn by_id(rx: &mut Rx<'_>, id: ProjectId) -> Result<Option<Project>> {
    rx.optional(
        format!("select {COLUMNS} from projects p where p.id = $1 and p.retired_at is null"),
        args![id],
        read,
    )
    .await
}

/// A project that a name may mean.
#[derive(Debug, Clone)]
pub struct Named {
    /// The project.
    pub project: Project,
    /// Whether `bootstrap` made it with that very name. Anybody with an account can give a project any name.
    pub by_operator: bool,
    /// The address of an owner, if it has one.
    pub owner: Option<EmailAddress>,
    /// When it was created.
    pub created_at: Timestamp,
}

/// The projects with a name, and those that `bootstrap` made with it, oldest first, at most `limit` projects.
pub async fn named(rx: &mut Rx<'_>, name: &str, limit: i64) -> Result<Vec<Named>> {
    rx.all(
        format!(
            "select {COLUMNS}, coalesce(p.bootstrap_name = $1, false), \
             (select min(u.email) from memberships m join users u on u.id = m.user_id \
             where m.project_id = p.number and m.role = 'OWNER'), p.created_at from projects p \
             where (p.name = $1 or p.bootstrap_name = $1) and p.retired_at is null and p.id <> $2 \
             order by p.number limit $3"
        ),
        args![name, project::system(), limit],
        |r| {
            Ok(Named {
                project: read(r)?,
                by_operator: r.get(WIDTH)?,
                owner: r.get(WIDTH + 1)?,
                created_at: r.get(WIDTH + 2)?,
            })
        },
    )
    .await
}

/// The projects that `bootstrap` made with a name and that a user owns, at most two.
pub async fn bootstrapped(rx: &mut Rx<'_>, name: &str, owner: UserId) -> Result<Vec<Project>> {
    rx.all(
        format!(
            "select {COLUMNS} from projects p join memberships m on m.project_id = p.number \
             where p.bootstrap_name = $1 and p.retired_at is null and m.user_id = $2 and m.role = 'OWNER' \
             order by p.number limit 2"
        ),
        args![name, owner],
        read,
    )
    .await
}

/// Notes that `bootstrap` made a project, and with what name.
pub async fn mark_bootstrapped(tx: &mut Tx<'_>, number: ProjectNumber, name: &str) -> Result<()> {
    tx.execute_one("update projects set bootstrap_name = $2 where number = $1", args![number, name]).await
}

/// How many projects there are, without that of the instance's own mails.
pub async fn count(rx: &mut Rx<'_>) -> Result<i64> {
    rx.one(
        "select count(*) from projects where retired_at is null and id <> $1",
        args![project::system()],
        |r| r.get(0),
    )
    .await
}

/// The next `limit` numbers of projects after `after`, in order: for work that goes from project to project.
pub async fn numbers(rx: &mut Rx<'_>, after: ProjectNumber, limit: i64) -> Result<Vec<ProjectNumber>> {
    rx.all(
        "select number from projects where number > $1 and retired_at is null order by number limit $2",
        args![after, limit],
        |r| r.get(0),
    )
    .await
}

/// The number of the project with an id.
pub(crate) async fn number(rx: &mut Rx<'_>, id: ProjectId) -> Result<Option<ProjectNumber>> {
    rx.optional("select number from projects where id = $1 and retired_at is null", args![id], |r| r.get(0))
        .await
}

/// Whether a number is that of a project, which was neither reset nor deleted.
pub(crate) async fn is_current(rx: &mut Rx<'_>, number: ProjectNumber) -> Result<bool> {
    rx.exists("select 1 from projects where number = $1 and retired_at is null", args![number]).await
}

/// What some projects add to the targets of their links. Those that were reset or deleted are left out.
pub(crate) async fn utm(
    rx: &mut Rx<'_>,
    numbers: BTreeSet<ProjectNumber>,
) -> Result<HashMap<ProjectNumber, Option<Utm>>> {
    let set = Arg::Ints(numbers.into_iter().map(|number| Some(number.0)).collect());
    let found = rx
        .all(
            "select number, {json_out utm} from projects where retired_at is null and number {in $1}",
            &[set],
            |r| Ok((r.get(0)?, r.get::<Option<Json>>(1)?.as_ref().map(Utm::from_json))),
        )
        .await?;
    Ok(found.into_iter().collect())
}

/// Those of some projects that were not removed, in their order.
pub(crate) async fn existing(rx: &mut Rx<'_>, mut numbers: Vec<ProjectNumber>) -> Result<Vec<ProjectNumber>> {
    if numbers.is_empty() {
        return Ok(numbers);
    }
    let set = [Arg::Ints(numbers.iter().map(|number| Some(number.0)).collect())];
    let sql = "select p.number from projects p where p.retired_at is null and p.number {in $1}";
    let found: Vec<ProjectNumber> = rx.all(sql, &set, |r| r.get(0)).await?;
    let found: BTreeSet<ProjectNumber> = found.into_iter().collect();
    numbers.retain(|number| found.contains(number));
    Ok(numbers)
}

/// Those of some projects that may send.
pub(crate) async fn enabled(rx: &mut Rx<'_>, numbers: Vec<ProjectNumber>) -> Result<Vec<ProjectNumber>> {
    if numbers.is_empty() {
        return Ok(numbers);
    }
    let set = Arg::Ints(numbers.into_iter().map(|number| Some(number.0)).collect());
    rx.all("select p.number from projects p where p.disabled_at is null and p.number {in $1}", &[set], |r| {
        r.get(0)
    })
    .await
}

/// The settings of a project that sending needs.
#[derive(Debug, Clone)]
pub struct Sending {
    /// The project.
    pub project: Project,
    /// Most mails a second; `None` for the instance's setting.
    pub per_second: Option<i64>,
    /// Whether answers come back to an address that names the mail.
    pub reply_tracking: bool,
}

/// The settings of a project that sending needs.
pub async fn sending(rx: &mut Rx<'_>, number: ProjectNumber) -> Result<Option<Sending>> {
    rx.optional(
        format!(
            "select {COLUMNS}, p.sending_per_second, p.reply_tracking from projects p where p.number = $1"
        ),
        args![number],
        |r| Ok(Sending { project: read(r)?, per_second: r.get(WIDTH)?, reply_tracking: r.get(WIDTH + 1)? }),
    )
    .await
}

/// The template of the mails in which a project asks to confirm; `None` for the service's own text.
pub async fn confirmation_template(rx: &mut Rx<'_>, number: ProjectNumber) -> Result<Option<TemplateId>> {
    let sql = "select confirmation_template_id from projects where number = $1";
    Ok(rx.optional(sql, args![number], |r| r.get::<Option<TemplateId>>(0)).await?.flatten())
}

/// A project as its settings show it.
#[derive(Debug, Clone)]
pub struct Details {
    /// The project.
    pub project: Project,
    /// The public key of its own pair.
    pub public_key: Option<String>,
    /// Most mails a second; `None` for the instance's setting.
    pub sending_per_second: Option<i64>,
    /// Whether an event with the public key may subscribe a contact again that is not subscribed.
    pub public_key_may_resubscribe: bool,
    /// What is added to the targets of tracked links.
    pub utm: Option<Utm>,
    /// The template of the mails that ask to confirm; `None` for the service's own text.
    pub confirmation_template: Option<TemplateId>,
    /// Whether answers come back to an address that names the mail.
    pub reply_tracking: bool,
    /// The periods for which things are kept, where it has its own.
    pub retention: Periods,
    /// What its workflows need.
    pub automation: Automation,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its settings last changed.
    pub updated_at: Timestamp,
}

const DETAILS: &str = "p.created_at, p.updated_at, (select k.token from api_keys k \
     where k.project_id = p.number and k.kind = 'public' and k.name is null and k.revoked_at is null \
     order by k.created_at limit 1), p.sending_per_second, p.public_key_may_resubscribe, \
     p.timezone, p.marketing_cap, p.marketing_cap_hours, {json_out p.utm}, \
     p.confirmation_template_id, p.reply_tracking, {json_out p.retention}";

fn read_details(row: &Row<'_>) -> Result<Details> {
    Ok(Details {
        project: read(row)?,
        created_at: row.get(WIDTH)?,
        updated_at: row.get(WIDTH + 1)?,
        public_key: row.get(WIDTH + 2)?,
        sending_per_second: row.get(WIDTH + 3)?,
        public_key_may_resubscribe: row.get(WIDTH + 4)?,
        automation: automation::read(row, WIDTH + 5)?,
        utm: row.get::<Option<Json>>(WIDTH + 8)?.as_ref().map(Utm::from_json),
        confirmation_template: row.get(WIDTH + 9)?,
        reply_tracking: row.get(WIDTH + 10)?,
        retention: row.get::<Option<Json>>(WIDTH + 11)?.as_ref().map(Periods::from_json).unwrap_or_default(),
    })
}

/// A project with its settings.
pub async fn details(rx: &mut Rx<'_>, number: ProjectNumber) -> Result<Option<Details>> {
    rx.optional(
        format!("select {COLUMNS}, {DETAILS} from projects p where p.number = $1 and p.retired_at is null"),
        args![number],
        read_details,
    )
    .await
}

/// The projects of a user with the user's role in each, oldest first: at most `limit` of them after the first `offset`.
pub async fn of_user(rx: &mut Rx<'_>, user: UserId, limit: i64, offset: i64) -> Result<Vec<(Details, Role)>> {
    rx.all(
        format!(
            "select {COLUMNS}, {DETAILS}, m.role from memberships m join projects p on p.number = m.project_id \
             where m.user_id = $1 and p.retired_at is null order by p.created_at, p.id limit $2 offset $3"
        ),
        args![user, limit, offset],
        |r| {
            const ROLE: usize = WIDTH + 12;
            Ok((read_details(r)?, role(&r.get::<String>(ROLE)?, ROLE)?))
        },
    )
    .await
}

/// How many projects a user owns, and whether one of them is disabled, or one that the user left while it was.
pub async fn standing(rx: &mut Rx<'_>, user: UserId) -> Result<(i64, bool)> {
    let left = rx
        .exists(
            "select 1 from departures d join projects p on p.number = d.project_id \
             where d.user_id = $1 and p.disabled_at is not null and p.retired_at is null",
            args![user],
        )
        .await?;
    let (owned, disabled) = rx
        .one(
            "select count(case when m.role = 'OWNER' then 1 end), \
             count(case when m.role = 'OWNER' then p.disabled_at end) \
             from memberships m join projects p on p.number = m.project_id where m.user_id = $1",
            args![user],
            |r| Ok((r.get::<i64>(0)?, r.get::<i64>(1)?)),
        )
        .await?;
    Ok((owned, left || disabled > 0))
}

/// Creates a project. `language` is that of its public pages and footers.
pub async fn create(tx: &mut Tx<'_>, name: &str, language: &str, now: Timestamp) -> Result<Project> {
    let id = ProjectId::new(now, rand::random());
    tx.execute_one(
        "insert into projects (id, name, language, tracking, created_at, updated_at) values ($1, $2, $3, 'ENABLED', $4, $4)",
        args![id, name, language, now],
    )
    .await?;
    tx.one(format!("select {COLUMNS} from projects p where p.id = $1"), args![id], read).await
}

/// The project of the instance's own mails, created if need be.
pub async fn system(tx: &mut Tx<'_>, name: &str, now: Timestamp) -> Result<Project> {
    tx.execute(
        "insert into projects (id, name, language, tracking, created_at, updated_at) \
         values ($1, $2, 'en', 'DISABLED', $3, $3) on conflict (id) do nothing",
        args![project::system(), name, now],
    )
    .await?;
    tx.one(format!("select {COLUMNS} from projects p where p.id = $1"), args![project::system()], read).await
}

/// The current number of the project that had this number before it was reset; `None` if the project was deleted.
pub async fn current(rx: &mut Rx<'_>, number: ProjectNumber) -> Result<Option<ProjectNumber>> {
    let mut asked = number;
    loop {
        let found = rx
            .optional("select retired_at, successor from projects where number = $1", args![asked], |r| {
                Ok((r.get::<Option<i64>>(0)?.is_some(), r.get::<Option<ProjectNumber>>(1)?))
            })
            .await?;
        match found {
            Some((false, _)) => return Ok(Some(asked)),
            Some((true, Some(successor))) => asked = successor,
            Some((true, None)) | None => return Ok(None),
        }
    }
}

/// Locks a project: waits for other transactions that change its members or keys, and keeps others waiting until this
/// one ends. The number that has them: another one when the project was reset meanwhile. `None` when the project is
/// gone.
pub async fn lock(tx: &mut Tx<'_>, number: ProjectNumber) -> Result<Option<ProjectNumber>> {
    // the key is left to who becomes a member meanwhile
    let text = "select 1 from projects where number = $1 and retired_at is null {for_no_key_update}";
    let mut asked = number;
    while !tx.exists(text, args![asked]).await? {
        let Some(now) = current(tx, asked).await? else { return Ok(None) };
        asked = now;
    }
    Ok(Some(asked))
}

/// The role that a membership holds.
pub(crate) fn role(text: &str, column: usize) -> Result<Role> {
    Role::from_name(text).ok_or_else(|| Error::Corrupt {
        column,
        expected: "a role",
        detail: "memberships.role has an unknown name".into(),
    })
}
