//! Saved templates.

use std::collections::BTreeSet;

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{ProjectNumber, TemplateId};
use mailwright_core::template::{Template, TemplateType};

use super::source::Owner;
use super::version;
use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;

const COLUMNS: &str = "id, name, description, subject, body, from_address, from_name, reply_to, type, created_at, updated_at, tracking, topic_id";

fn read(row: &Row<'_>) -> Result<Template> {
    let kind: String = row.get(8)?;
    Ok(Template {
        id: row.get(0)?,
        name: row.get(1)?,
        description: row.get(2)?,
        subject: row.get(3)?,
        body: row.get(4)?,
        from: row.get(5)?,
        from_name: row.get(6)?,
        reply_to: row.get(7)?,
        kind: TemplateType::from_name(&kind).ok_or(Error::Corrupt {
            column: 8,
            expected: "a template type",
            detail: format!("templates.type is {kind:?}"),
        })?,
        created_at: row.get(9)?,
        updated_at: row.get(10)?,
        tracking: row.get(11)?,
        topic: row.get(12)?,
    })
}

/// The text that a search looks at, lower-cased in Rust, since the engines lower-case differently.
fn search_text(template: &Template) -> String {
    let description = template.description.as_deref().unwrap_or_default();
    format!("{}\n{}\n{}", template.name, description, template.subject).to_lowercase()
}

/// One template.
pub async fn get(rx: &mut Rx<'_>, project: ProjectNumber, id: TemplateId) -> Result<Option<Template>> {
    rx.optional(
        format!("select {COLUMNS} from templates where project_id = $1 and id = $2"),
        args![project, id],
        read,
    )
    .await
}

/// One template, which nobody else changes before the transaction ends.
pub async fn get_for_update(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: TemplateId,
) -> Result<Option<Template>> {
    tx.optional(
        format!("select {COLUMNS} from templates where project_id = $1 and id = $2 {{for_update}}"),
        args![project, id],
        read,
    )
    .await
}

/// What a mail of a template is, as far as its content does not matter.
#[derive(Debug, Clone)]
pub struct Head {
    /// Identifier.
    pub id: TemplateId,
    /// The kind of mail.
    pub kind: TemplateType,
    /// The sender.
    pub from: EmailAddress,
}

/// Several templates without their content, as far as they exist.
pub async fn heads(rx: &Rx<'_>, project: ProjectNumber, ids: &BTreeSet<TemplateId>) -> Result<Vec<Head>> {
    rx.all(
        "select id, type, from_address from templates where project_id = $1 and id {in $2}",
        &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
        |r| {
            let kind = r.named(1, "templates.type", TemplateType::from_name)?;
            Ok(Head { id: r.get(0)?, kind, from: r.get(2)? })
        },
    )
    .await
}

/// The names of several templates, as far as they exist.
pub async fn names(
    rx: &Rx<'_>,
    project: ProjectNumber,
    ids: &BTreeSet<TemplateId>,
) -> Result<Vec<(TemplateId, String)>> {
    rx.all(
        "select id, name from templates where project_id = $1 and id {in $2}",
        &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// Keeps a template from being removed before the transaction ends; whether it exists.
pub async fn hold(tx: &Tx<'_>, project: ProjectNumber, id: TemplateId) -> Result<bool> {
    tx.exists("select 1 from templates where project_id = $1 and id = $2 {for_key_share}", args![project, id])
        .await
}

/// Several templates, as far as they exist.
pub async fn some(rx: &Rx<'_>, project: ProjectNumber, ids: &BTreeSet<TemplateId>) -> Result<Vec<Template>> {
    rx.all(
        format!("select {COLUMNS} from templates where project_id = $1 and id {{in $2}}"),
        &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
        read,
    )
    .await
}

/// Stores a new template.
pub async fn create(tx: &mut Tx<'_>, project: ProjectNumber, template: &Template) -> Result<()> {
    tx.execute_one(
        format!(
            "insert into templates (project_id, search, {COLUMNS}) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
        ),
        args![
            project,
            search_text(template),
            template.id,
            &template.name,
            template.description.as_deref(),
            &template.subject,
            &template.body,
            &template.from,
            template.from_name.as_deref(),
            template.reply_to.as_ref().map(EmailAddress::as_str),
            template.kind.as_str(),
            template.created_at,
            template.updated_at,
            template.tracking,
            template.topic,
        ],
    )
    .await
}

/// Stores a changed template.
pub async fn update(tx: &mut Tx<'_>, project: ProjectNumber, template: &Template) -> Result<()> {
    tx.execute_one(
        "update templates set search = $3, name = $4, description = $5, subject = $6, body = $7, from_address = $8, \
         from_name = $9, reply_to = $10, type = $11, updated_at = $12, tracking = $13, \
         topic_id = $14 where project_id = $1 and id = $2",
        args![
            project,
            template.id,
            search_text(template),
            &template.name,
            template.description.as_deref(),
            &template.subject,
            &template.body,
            &template.from,
            template.from_name.as_deref(),
            template.reply_to.as_ref().map(EmailAddress::as_str),
            template.kind.as_str(),
            template.updated_at,
            template.tracking,
            template.topic,
        ],
    )
    .await
}

/// Removes a template with its versions; whether there was one. Mails made from it keep their content.
pub async fn delete(tx: &mut Tx<'_>, project: ProjectNumber, id: TemplateId) -> Result<bool> {
    // the template first, which whoever changes it has locked before its versions
    let gone =
        tx.execute("delete from templates where project_id = $1 and id = $2", args![project, id]).await?;
    version::delete_all(tx, project, Owner::Template(id)).await?;
    Ok(gone > 0)
}

/// How many mails were made from a template.
pub async fn emails_sent(rx: &mut Rx<'_>, project: ProjectNumber, id: TemplateId) -> Result<i64> {
    crate::insight::counter::value(rx, project, crate::insight::counter::Counter::Template, &id.to_string())
        .await
}

/// Whether a template of the project sends from a domain.
pub async fn uses_domain(rx: &mut Rx<'_>, project: ProjectNumber, domain: &str) -> Result<bool> {
    let found = rx
        .all("select from_address from templates where project_id = $1", args![project], |r| {
            r.get::<EmailAddress>(0)
        })
        .await?;
    Ok(found.iter().any(|from| from.domain().eq_ignore_ascii_case(domain)))
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// By name.
    Name,
    /// By creation.
    CreatedAt,
    /// By last change.
    UpdatedAt,
}

/// A page of a list.
#[derive(Debug, Clone)]
pub struct List {
    /// Rows to skip.
    pub offset: i64,
    /// Most rows.
    pub limit: i64,
    /// Only templates of this type.
    pub kind: Option<TemplateType>,
    /// Substring of name, description or subject, lower-cased, taken literally.
    pub search: Option<String>,
    /// Order.
    pub sort: Sort,
    /// Whether the order is reversed.
    pub descending: bool,
}

/// Reads a page of templates and how many there are in all.
pub async fn list(rx: &mut Rx<'_>, project: ProjectNumber, list: &List) -> Result<(Vec<Template>, i64)> {
    let mut args: Vec<Arg<'_>> = vec![project.into()];
    let mut filter = String::new();
    if let Some(kind) = list.kind {
        args.push(kind.as_str().into());
        filter += &format!(" and type = ${}", args.len());
    }
    if let Some(search) = &list.search {
        args.push(search.into());
        filter += &format!(" and {{contains search ${}}}", args.len());
    }
    let total = rx
        .one(format!("select count(*) from templates where project_id = $1{filter}"), &args, |r| r.get(0))
        .await?;
    let column = match list.sort {
        Sort::Name => "name",
        Sort::CreatedAt => "created_at",
        Sort::UpdatedAt => "updated_at",
    };
    let direction = if list.descending { "desc" } else { "asc" };
    args.extend([list.limit.into(), list.offset.into()]);
    let (limit, offset) = (args.len() - 1, args.len());
    let page = rx
        .all(
            format!(
                "select {COLUMNS} from templates where project_id = $1{filter} \
                 order by {column} {direction}, id {direction} limit ${limit} offset ${offset}"
            ),
            &args,
            read,
        )
        .await?;
    Ok((page, total))
}

#[cfg(test)]
mod tests {
    use mailwright_core::time::Timestamp;

    use super::*;
    use crate::body;
    use crate::database::db::Db;
    use crate::database::location::Location;
    use crate::database::metrics::StoreMetrics;
    use crate::database::migrate::migrate;
    use crate::database::migrate::tests::Database;

    const ONE: ProjectNumber = ProjectNumber(1);
    const NOW: Timestamp = Timestamp(1_741_608_000_000);

    #[tokio::test]
    async fn addresses_that_are_refused_today_are_read_as_they_were_stored() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("template.sqlite"));
        let sqlite = Db::open(&location, StoreMetrics::default()).unwrap();
        let database = Database::create("templates");
        for db in [sqlite, database.open()] {
            migrate(&db, NOW).await.unwrap();
            let id = TemplateId::new(NOW, rand::random());
            let read = db.write(body!(async |tx| {
                tx.execute_one(
                    "insert into templates (project_id, id, name, subject, body, from_address, reply_to, type, search, \
                     created_at, updated_at) values ($1, $2, '', '', '', '-a@b.co', 'Ada', 'MARKETING', '', 0, 0)",
                    args![ONE, id],
                )
                .await?;
                get(tx, ONE, id).await
            }));
            let template = read.await.unwrap().unwrap();
            assert_eq!(template.from.as_str(), "-a@b.co");
            assert_eq!(template.reply_to.as_ref().map(EmailAddress::as_str), Some("Ada"));
        }
    }
}
