//! Mails that tell members of limits: which were told of, and which are to be sent.

use mailwright_core::billing::Category;
use mailwright_core::ids::{NoticeId, ProjectNumber};
use mailwright_core::month::Month;

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Rx, Tx};

/// A mail that members are to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Identifier.
    pub id: NoticeId,
    /// Project.
    pub project: ProjectNumber,
    /// The month that the limit is for.
    pub month: Month,
    /// What the limit is for; `None` for the allowance that all categories share.
    pub category: Option<Category>,
    /// Whether the limit is reached; otherwise it is nearly so.
    pub reached: bool,
    /// How many mails there were.
    pub used: i64,
    /// The limit.
    pub most: i64,
}

/// The bit by which it is noted that members were told.
pub(super) fn bit(category: Option<Category>, reached: bool) -> i64 {
    let place = category.map_or(Category::ALL.len(), Category::place);
    1 << (2 * place + usize::from(reached))
}

/// Both bits of a limit.
pub(super) fn bits(category: Option<Category>) -> i64 {
    bit(category, false) | bit(category, true)
}

pub(super) async fn add(tx: &Tx<'_>, notice: &Notice) -> Result<()> {
    tx.execute_one(
        "insert into billing_notices (project_id, id, month, category, reached, used, most) \
         values ($1, $2, $3, $4, $5, $6, $7)",
        args![
            notice.project,
            notice.id,
            notice.month.number(),
            notice.category.map(Category::as_str),
            notice.reached,
            notice.used,
            notice.most
        ],
    )
    .await
}

/// The mails that are to be sent, at most `limit` of them.
pub async fn waiting(rx: &Rx<'_>, limit: i64) -> Result<Vec<Notice>> {
    rx.all(
        "select project_id, id, month, category, reached, used, most from billing_notices order by id limit $1",
        args![limit],
        |r| {
            let category = r.get::<Option<String>>(3)?;
            let category = category.map(|name| {
                Category::from_name(&name).ok_or_else(|| Error::Corrupt {
                    column: 3,
                    expected: "a category",
                    detail: format!("billing_notices.category: {name}"),
                })
            });
            Ok(Notice {
                project: r.get(0)?,
                id: r.get(1)?,
                month: Month::from_number(r.get(2)?),
                category: category.transpose()?,
                reached: r.get(4)?,
                used: r.get(5)?,
                most: r.get(6)?,
            })
        },
    )
    .await
}

/// Takes a mail off those that are to be sent; false when another transaction did so.
pub async fn take(tx: &Tx<'_>, project: ProjectNumber, id: NoticeId) -> Result<bool> {
    let sql = "delete from billing_notices where project_id = $1 and id = $2";
    Ok(tx.execute(sql, args![project, id]).await? == 1)
}
