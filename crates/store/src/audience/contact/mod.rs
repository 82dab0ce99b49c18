//! Contacts: upserts in groups, single changes, lists, deletion.

mod change;
mod delete;
pub(crate) mod list;
pub(crate) mod record;
mod upsert;

pub use self::change::{Change, Found, Wish, change, subscribe};
pub(crate) use self::delete::remove;
pub use self::delete::{Deleted, delete};
pub use self::list::{List, Sort, Total, list, total};
pub(crate) use self::record::get_for_update;
pub use self::record::{
    existing, get, hold, hold_all, hold_free, is_id_told, keep_all, next_ids, project_of, some,
};
pub use self::upsert::{Contacts, Upsert, Upserted};
