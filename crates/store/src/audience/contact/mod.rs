//! Contacts: upserts in groups, single changes, lists, deletion.

mod change;
mod delete;
mod list;
pub(crate) mod record;
mod upsert;

pub use self::change::{Change, Found, change, subscribe};
pub use self::delete::{Deleted, delete};
pub use self::list::{List, Sort, Total, list, total};
pub use self::record::{existing, get, is_id_told, project_of};
pub use self::upsert::{Contacts, Upsert, Upserted};
