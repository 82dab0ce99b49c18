//! Looking events up by their names: the indexes on what events are about have them by name, and of each name in the order
//! of time.

use mailwright_core::ids::{EventId, ProjectNumber};

use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::database::value::Arg;

/// The names of the events of a contact (`$2`) of a project (`$1`), as the table `names`, with a null at the end: from name
/// to name in the index.
pub(crate) const NAMES_OF_CONTACT: &str = "with recursive names (name) as (\
     select (select e.name from events e where e.project_id = $1 and e.contact_id = $2 order by e.name limit 1) \
     union all select (select e.name from events e where e.project_id = $1 and e.contact_id = $2 and e.name > n.name \
     order by e.name limit 1) from names n where n.name is not null)";

/// Ids of events of some names, from one id on and before another, among them the newest `limit` of all. They are in no
/// order, and there may be more: at most `limit` of each name. `about` are a column and its value: what they are about.
pub(crate) async fn newest_of_names(
    rx: &Rx<'_>,
    project: ProjectNumber,
    names: &[String],
    about: Option<(&'static str, Arg<'_>)>,
    (from, before): (EventId, EventId),
    limit: i64,
) -> Result<Vec<EventId>> {
    let (is_about, of) = match about {
        Some((column, of)) => (format!("and e.{column} = $6"), of),
        None => ("and cast($6 as {id}) is null".to_owned(), Arg::Null),
    };
    let newest = |name| {
        format!(
            "select e.id from events e where e.project_id = $2 and e.name = {name} and e.id >= $3 and e.id < $4 \
             {is_about} order by e.id desc limit $5"
        )
    };
    // differs because SQLite has no lateral joins, and looks up name by name anyway
    let sql = if rx.is_postgres() {
        format!(
            "select n.id from {{rows r: name text}} cross join lateral ({}) n order by n.id desc limit $5",
            newest("r.name")
        )
    } else {
        newest("$1")
    };
    let args = [
        Arg::Texts(names.iter().map(|name| Some(name.as_str().into())).collect()),
        project.into(),
        from.into(),
        before.into(),
        limit.into(),
        of,
    ];
    rx.each_returning(sql, &args, |r| r.get(0)).await
}
