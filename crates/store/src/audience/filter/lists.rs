//! The list of contacts, narrowed down by a filter: in any order, and by address and subscription as well.

use mailwright_core::contact::Contact;
use mailwright_core::filter::Filter;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use super::values::Values;
use super::{FEW, FEW_OF_ALL, Query, Segments, count};
use crate::audience::contact::List;
use crate::audience::contact::list::{beginning, narrowed, order};
use crate::audience::contact::record::{COLUMNS, read};
use crate::database::error::{Error, Result};
use crate::database::tx::Rx;
use crate::database::value::Arg;

/// A page of those contacts of a list that a filter finds. Fails with [`Error::ForeignCursor`] as the list does.
pub async fn list(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    tree: &Filter,
    segments: &Segments,
    now: Timestamp,
    list: &List,
) -> Result<Vec<Contact>> {
    let query = Query::new(rx, project, tree, segments, now, FEW).await?;
    let mut args: Vec<Arg<'static>> = vec![project.into()];
    let searched = narrowed(rx, project, list, &mut args).await?;
    let beginning = beginning(rx, project, list).await?;
    let ([column, beyond, direction], plus) = (order(list), searched.plus);
    let mut values = Values::new(&mut args, rx.is_postgres());
    let (tables, condition) = query.contacts(None, plus, &mut values)?;
    let beginning =
        beginning.map(|at| format!(" and {plus}{column} {beyond} {}", values.bind(at))).unwrap_or_default();
    let limit = values.bind(list.limit);
    let narrowed = searched.condition;
    let sql = format!(
        "select {COLUMNS} from {tables} where {condition}{narrowed}{beginning} \
         order by {plus}{column} {direction} limit {limit}"
    );
    rx.query_uncached(sql, &args, read).await
}

/// How many contacts of a list a filter finds.
pub async fn total(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    tree: &Filter,
    segments: &Segments,
    now: Timestamp,
    list: &List,
) -> Result<i64> {
    if list.search.is_none() && list.subscribed.is_none() {
        return count(rx, project, tree, segments, now).await;
    }
    let query = Query::new(rx, project, tree, segments, now, FEW_OF_ALL).await?;
    let mut args: Vec<Arg<'static>> = vec![project.into()];
    let searched = narrowed(rx, project, list, &mut args).await?;
    let (plus, narrowed) = (searched.plus, searched.condition);
    let mut values = Values::new(&mut args, rx.is_postgres());
    let within = query.within(&format!("{plus}c.id"), None, &mut values);
    let condition = query.condition(None, &mut values)?;
    let sql = format!(
        "select count(*) from contacts c where {plus}c.project_id = $1{within} and {condition}{narrowed}"
    );
    let counted = rx.query_with_seqscan(sql, &args, |r| r.get::<i64>(0)).await?;
    counted.into_iter().next().ok_or(Error::NotFound)
}
