//! Looking remembered keys up again, in the transaction of what they are used for.

use mailwright_core::ids::ProjectNumber;
use mailwright_store::Rx;
use mailwright_store::project::api_key::{self, Found, KeyHash, KeyKind};

use crate::error::Error;

/// Why a remembered key does not open its project any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stale {
    Revoked,
    ProjectDisabled,
    /// The project was reset meanwhile: the request holds its old number.
    ProjectReset,
}

impl From<Stale> for Error {
    fn from(stale: Stale) -> Self {
        match stale {
            Stale::Revoked => Self::KeyRevoked,
            Stale::ProjectDisabled => Self::ProjectDisabled,
            Stale::ProjectReset => Self::ProjectReset,
        }
    }
}

/// What the caller of an operation may do, and what its project wants now: what was remembered of both may be old.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rechecked {
    /// Subscribe a contact again that is not subscribed.
    pub(crate) may_resubscribe: bool,
    /// Whether anybody may be behind it: it has the public key.
    pub(crate) is_public: bool,
    /// Whether contacts that it would subscribe have to confirm; `None` for a person, whose request has read that.
    pub(crate) double_opt_in: Option<bool>,
}

/// Looks the keys of a group of operations up again: whether each still opens its project for writing.
pub(crate) async fn recheck(
    rx: &Rx<'_>,
    callers: Vec<(Option<KeyHash>, ProjectNumber)>,
) -> mailwright_store::Result<Vec<std::result::Result<Rechecked, Stale>>> {
    let hashes: Vec<KeyHash> = callers.iter().filter_map(|(hash, _)| *hash).collect();
    let found = find(rx, &hashes).await?;
    let person = Rechecked { may_resubscribe: true, is_public: false, double_opt_in: None };
    let checked = |hash: &KeyHash, number| match found.iter().find(|found| found.hash == hash) {
        None => Err(Stale::Revoked),
        Some(found) if found.project.disabled => Err(Stale::ProjectDisabled),
        Some(found) if found.project.number != number => Err(Stale::ProjectReset),
        Some(found) => Ok(Rechecked {
            may_resubscribe: found.may_resubscribe,
            is_public: found.kind == KeyKind::Public,
            double_opt_in: Some(found.project.double_opt_in),
        }),
    };
    Ok(callers.iter().map(|(hash, number)| hash.map_or(Ok(person), |hash| checked(&hash, *number))).collect())
}

pub(super) async fn find(rx: &Rx<'_>, hashes: &[KeyHash]) -> mailwright_store::Result<Vec<Found>> {
    let mut distinct = hashes.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.is_empty() { Ok(Vec::new()) } else { api_key::find(rx, &distinct).await }
}
