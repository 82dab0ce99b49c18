//! API keys: a secret key is stored as its hash only.

use mailwright_core::ids::{ApiKeyId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::error::Result;
use crate::project;
use crate::tx::{Rx, Tx};
use crate::value::Arg;

/// Which endpoints a key opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// `sk_`: everything.
    Secret,
    /// `pk_`: `/v1/track` alone.
    Public,
}

impl KeyKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Public => "public",
        }
    }
}

/// SHA-256 of a token.
pub type KeyHash = [u8; 32];

/// The projects that keys open, by the hash of the token; revoked keys are absent.
pub async fn find(rx: &Rx<'_>, hashes: &[KeyHash]) -> Result<Vec<(Vec<u8>, KeyKind, Project)>> {
    rx.all(
        format!(
            "select {}, k.hash, k.kind from api_keys k join projects p on p.number = k.project_id \
             where k.hash {{in $1}} and k.revoked_at is null",
            project::COLUMNS
        ),
        &[Arg::Blobs(hashes.iter().map(|h| Some(h.as_slice().into())).collect())],
        |r| {
            let kind = if r.get::<String>(6)? == "secret" { KeyKind::Secret } else { KeyKind::Public };
            Ok((r.get(5)?, kind, project::read(r)?))
        },
    )
    .await
}

/// Stores a key. `token` is given for public keys only.
pub async fn create(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    kind: KeyKind,
    hash: KeyHash,
    token: Option<&str>,
    now: Timestamp,
) -> Result<()> {
    tx.execute_one(
        "insert into api_keys (hash, id, project_id, kind, token, created_at) values ($1, $2, $3, $4, $5, $6)",
        args![hash.as_slice(), ApiKeyId::new(now), project, kind.as_str(), token, now],
    )
    .await
}

/// The public key of a project.
pub async fn public_key(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Option<String>> {
    rx.optional(
        "select token from api_keys where project_id = $1 and kind = 'public' and revoked_at is null order by created_at limit 1",
        args![project],
        |r| r.get(0),
    )
    .await
}
