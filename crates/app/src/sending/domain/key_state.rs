//! What each key of a domain does now, for whoever looks after them.

use mailwright_core::domain::KeyRole;
use mailwright_core::time::Timestamp;

use super::records::{DomainWithRecords, has_key};

/// What a key of a domain does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// Mail is signed with it.
    Signs,
    /// It signs once a check has found its record.
    Waits,
    /// It was replaced. Its record should stay until then.
    Replaced(Option<Timestamp>),
}

impl DomainWithRecords {
    /// What each key does, by its selector; the one that proves the domain first.
    pub fn key_states(&self) -> Vec<(&str, KeyState)> {
        let signs = |does: bool| if self.domain.verified && does { KeyState::Signs } else { KeyState::Waits };
        let mut states = vec![(self.domain.selector.as_str(), signs(true))];
        states.extend(self.keys.iter().map(|key| {
            let state = match key.role {
                KeyRole::Second => signs(has_key(&self.domain.last_check, &key.selector)),
                KeyRole::Next => KeyState::Waits,
                KeyRole::Former => KeyState::Replaced(key.remove_after),
            };
            (key.selector.as_str(), state)
        }));
        states
    }
}
