//! What is read in one go through the contacts of a project: their own columns, and some fields of custom data.

use std::collections::BTreeSet;
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
/// Characters of JSON that a value may have. Columns in which one has more take too much memory.
const MAX_VALUE: usize = 1_024;
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
    /// The keys of custom data that the paths lead through: one with dots may be a key by itself.
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
}

fn read(row: &Row<'_>) -> Result<Read> {
    let mut values: [Option<String>; KEYS] = Default::default();
    for (at, value) in values.iter_mut().enumerate() {
        *value = row.get(4 + at)?;
    }
    Ok(Read { id: row.get(0)?, email: row.get(1)?, subscribed: row.get(2)?, updated_at: row.get(3)?, values })
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
        let keys: BTreeSet<&str> =
            paths.iter().flat_map(|path| [Some(path.as_str()), path.keys().next()]).flatten().collect();
        let keys = keys.into_iter().map(str::to_owned).collect();
        Self { email: false, subscribed: false, updated_at: false, paths, keys }
    }

    /// Whether more is read than who is there.
    pub(super) fn reads_something(&self) -> bool {
        self.email || self.subscribed || self.updated_at || !self.paths.is_empty()
    }

    pub(super) async fn read(&self, rx: &Rx<'_>, project: ProjectNumber, which: &Which) -> Result<Vec<Read>> {
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
            match self.keys.get(at) {
                Some(key) => {
                    args.push(key.clone().into());
                    let most = MAX_VALUE + 1;
                    let _ = write!(columns, ", substr({{json_of c.data ${}}}, 1, {most})", args.len());
                }
                None => columns += ", null",
            }
        }
        rx.all(format!("select {columns} from contacts c where c.project_id = $1 and {which}"), &args, read)
            .await
    }

    /// Sets what was read of a contact. Returns whether it fits in.
    pub(super) fn put(&self, contact: Read, columns: &mut Columns) -> bool {
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
            return true;
        }
        if contact.values.iter().flatten().any(|value| value.chars().nth(MAX_VALUE).is_some()) {
            return false;
        }
        let values = self.keys.iter().zip(&contact.values).filter_map(|(key, value)| {
            let value: Json = serde_json::from_str(value.as_deref()?).ok()?;
            Some((key.clone(), value))
        });
        let data = values.collect();
        for path in &self.paths {
            columns.set(id, &Aspect::Data(path.clone()), Fact::Value(path.find(&data)));
        }
        true
    }
}
