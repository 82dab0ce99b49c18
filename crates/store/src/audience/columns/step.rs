//! What is read in one go through the contacts of a project: their own columns, and some fields of custom data.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use mailwright_core::filter::DataPath;
use mailwright_core::filter::columns::{Aspect, Columns, Fact};
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::database::error::Result;
use crate::database::tx::{Row, Rx};
use crate::database::value::Arg;

/// Contacts of a part.
pub(super) const CONTACTS: usize = 5_000;
/// Characters of JSON above which a value is long.
const LONG: usize = 1_024;
/// So many contacts of a part may have long values. They are read apart; columns in which more are long are given up.
const MOST_LONG: usize = 100;
/// Keys of custom data that are read together.
const KEYS: usize = 6;

/// The contacts that are read.
pub(super) enum Which {
    /// The first ones after this one.
    After(ContactId),
    These(Vec<ContactId>),
}

/// What is read in one go through the contacts.
#[derive(Debug)]
pub(super) struct Step {
    email: bool,
    subscribed: bool,
    updated_at: bool,
    paths: Vec<DataPath>,
    /// The keys of custom data that the paths lead through.
    keys: Vec<String>,
}

/// A contact that was read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) id: ContactId,
    email: Option<String>,
    subscribed: bool,
    updated_at: Timestamp,
    values: [Option<String>; KEYS],
    /// Long values are cut off.
    is_cut: bool,
}

impl Read {
    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        let texts: usize = self.values.iter().chain([&self.email]).flatten().map(String::len).sum();
        size_of_val(self) + texts
    }

    fn has_long(&self) -> bool {
        self.values.iter().flatten().any(|value| is_long(value))
    }
}

fn is_long(value: &str) -> bool {
    value.len() > LONG && value.chars().nth(LONG).is_some()
}

fn read(row: &Row<'_>) -> Result<Read> {
    let mut values: [Option<String>; KEYS] = Default::default();
    for (at, value) in values.iter_mut().enumerate() {
        *value = row.get(4 + at)?;
    }
    Ok(Read {
        id: row.get(0)?,
        email: row.get(1)?,
        subscribed: row.get(2)?,
        updated_at: row.get(3)?,
        values,
        is_cut: true,
    })
}

impl Step {
    /// The steps in which columns are read.
    pub(super) fn all(aspects: &BTreeSet<Aspect>) -> Vec<Arc<Self>> {
        let path = |aspect: &Aspect| if let Aspect::Data(path) = aspect { Some(path.clone()) } else { None };
        let paths: Vec<DataPath> = aspects.iter().filter_map(path).collect();
        let mut steps: Vec<Self> = paths.chunks(KEYS / 2).map(|paths| Self::of(paths.to_vec())).collect();
        if steps.is_empty() {
            steps.push(Self::of(Vec::new()));
        }
        if let Some(first) = steps.first_mut() {
            first.email = aspects.contains(&Aspect::Email);
            first.subscribed = aspects.contains(&Aspect::Subscribed);
            first.updated_at = aspects.contains(&Aspect::UpdatedAt);
        }
        steps.into_iter().map(Arc::new).collect()
    }

    fn of(paths: Vec<DataPath>) -> Self {
        let keys: BTreeSet<&str> = paths.iter().flat_map(keys).collect();
        let keys = keys.into_iter().map(str::to_owned).collect();
        Self { email: false, subscribed: false, updated_at: false, paths, keys }
    }

    /// Whether more is read than who is there.
    pub(super) fn reads_something(&self) -> bool {
        self.email || self.subscribed || self.updated_at || !self.paths.is_empty()
    }

    pub(super) async fn read(&self, rx: &Rx<'_>, project: ProjectNumber, which: &Which) -> Result<Vec<Read>> {
        let mut found = self.select(rx, project, which, true).await?;
        let long: Vec<ContactId> = found.iter().filter(|read| read.has_long()).map(|read| read.id).collect();
        if !long.is_empty() && long.len() <= MOST_LONG {
            let whole = self.select(rx, project, &Which::These(long), false).await?;
            let mut whole: BTreeMap<ContactId, Read> =
                whole.into_iter().map(|read| (read.id, read)).collect();
            for read in &mut found {
                if let Some(whole) = whole.remove(&read.id) {
                    *read = Read { is_cut: false, ..whole };
                }
            }
        }
        Ok(found)
    }

    async fn select(
        &self,
        rx: &Rx<'_>,
        project: ProjectNumber,
        which: &Which,
        is_cut: bool,
    ) -> Result<Vec<Read>> {
        let mut args: Vec<Arg<'static>> = vec![project.into()];
        let which = match which {
            Which::After(after) => {
                args.extend([(*after).into(), CONTACTS.into()]);
                "c.id > $2 order by c.id limit $3"
            }
            Which::These(ids) => {
                args.push(Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect()));
                "c.id {in $2}"
            }
        };
        let email = if self.email { "c.email" } else { "null" };
        let mut columns = format!("c.id, {email}, c.subscribed, c.updated_at");
        for at in 0..KEYS {
            let Some(key) = self.keys.get(at) else {
                columns += ", null";
                continue;
            };
            args.push(key.clone().into());
            let _ = if is_cut {
                write!(columns, ", substr({{json_of c.data ${}}}, 1, {})", args.len(), LONG + 1)
            } else {
                write!(columns, ", {{json_of c.data ${}}}", args.len())
            };
        }
        rx.all(format!("select {columns} from contacts c where c.project_id = $1 and {which}"), &args, read)
            .await
    }

    /// Sets what was read of a contact. Columns in which it has a value that was cut off are given up.
    pub(super) fn put(&self, contact: Read, columns: &mut Columns) {
        let id = contact.id;
        columns.add(id);
        if let Some(email) = &contact.email {
            columns.set(id, &Aspect::Email, Fact::Text(email));
        }
        if self.subscribed {
            columns.set(id, &Aspect::Subscribed, Fact::Flag(contact.subscribed));
        }
        if self.updated_at {
            columns.set(id, &Aspect::UpdatedAt, Fact::Time(Some(contact.updated_at)));
        }
        if self.paths.is_empty() {
            return;
        }
        let (mut data, mut cut) = (serde_json::Map::new(), BTreeSet::new());
        for (key, value) in self.keys.iter().zip(&contact.values) {
            match value.as_deref() {
                Some(value) if contact.is_cut && is_long(value) => drop(cut.insert(key.as_str())),
                Some(value) => {
                    if let Ok(value) = serde_json::from_str::<Json>(value) {
                        data.insert(key.clone(), value);
                    }
                }
                None => {}
            }
        }
        for path in &self.paths {
            let aspect = Aspect::Data(path.clone());
            if keys(path).any(|key| cut.contains(key)) {
                columns.give_up(&aspect);
            } else {
                columns.set(id, &aspect, Fact::Value(path.find(&data)));
            }
        }
    }
}

/// The keys of custom data that a path leads through first: one with dots may be a key by itself.
fn keys(path: &DataPath) -> impl Iterator<Item = &str> {
    [Some(path.as_str()), path.keys().next()].into_iter().flatten()
}
