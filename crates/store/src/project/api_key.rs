//! API keys: a secret key is stored as its hash only.

use mailwright_core::ids::{ApiKeyId, ProjectNumber};
use mailwright_core::names;
use mailwright_core::project::Project;
use mailwright_core::role::Scopes;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::project::{self, WIDTH};

names! {
    /// Which endpoints a key opens.
    pub enum KeyKind {
        /// `sk_`: what its scopes name.
        Secret = "secret",
        /// `pk_`: `/v1/track` alone.
        Public = "public",
    }
}

/// SHA-256 of a token.
pub type KeyHash = [u8; 32];

/// A key that was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// SHA-256 of the key, by which it was found.
    pub hash: Vec<u8>,
    /// Identifier.
    pub id: ApiKeyId,
    /// Which endpoints it opens.
    pub kind: KeyKind,
    /// Its name; the project's own pair has none.
    pub name: Option<String>,
    /// The scopes that limit it.
    pub scopes: Scopes,
    /// Its project.
    pub project: Project,
    /// Whether an event with the key may subscribe a contact again that is not subscribed.
    pub may_resubscribe: bool,
}

/// The keys with these hashes; revoked keys are absent.
pub async fn find(rx: &Rx<'_>, hashes: &[KeyHash]) -> Result<Vec<Found>> {
    rx.all(
        format!(
            "select {}, k.hash, k.id, k.kind, k.name, k.scopes, p.public_key_may_resubscribe from api_keys k join projects p on p.number = k.project_id \
             where k.hash {{in $1}} and k.revoked_at is null",
            project::COLUMNS
        ),
        &[Arg::Blobs(hashes.iter().map(|h| Some(h.as_slice().into())).collect())],
        |r| {
            let kind = kind(&r.get::<String>(WIDTH + 2)?);
            Ok(Found {
                project: project::read(r)?,
                hash: r.get(WIDTH)?,
                id: r.get(WIDTH + 1)?,
                may_resubscribe: kind == KeyKind::Secret || r.get(WIDTH + 5)?,
                kind,
                name: r.get(WIDTH + 3)?,
                scopes: scopes(r.get(WIDTH + 4)?),
            })
        },
    )
    .await
}

fn kind(text: &str) -> KeyKind {
    if text == "secret" { KeyKind::Secret } else { KeyKind::Public }
}

fn scopes(text: Option<String>) -> Scopes {
    text.map_or_else(Scopes::everything, |text| Scopes::from_text(&text))
}

/// A key to store.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// Identifier.
    pub id: ApiKeyId,
    /// Which endpoints it opens.
    pub kind: KeyKind,
    /// SHA-256 of the key.
    pub hash: KeyHash,
    /// The key itself, for public keys only.
    pub token: Option<String>,
    /// Its last characters, by which people recognise it.
    pub hint: String,
    /// Name and scopes; `None` for a key of the project's own pair.
    pub named: Option<(String, Scopes)>,
}

/// Stores a key.
pub async fn create(tx: &mut Tx<'_>, project: ProjectNumber, key: &NewKey, now: Timestamp) -> Result<()> {
    let (name, scopes) = match &key.named {
        Some((name, scopes)) => (Some(name.as_str()), Some(scopes.to_text())),
        None => (None, None),
    };
    tx.execute_one(
        "insert into api_keys (hash, id, project_id, kind, token, hint, name, scopes, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        args![
            key.hash.as_slice(),
            key.id,
            project,
            key.kind.as_str(),
            key.token.as_deref(),
            &key.hint,
            name,
            scopes,
            now,
        ],
    )
    .await
}

/// The public key of a project's own pair.
pub async fn public_key(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Option<String>> {
    rx.optional(
        "select token from api_keys where project_id = $1 and kind = 'public' and name is null \
         and revoked_at is null order by created_at limit 1",
        args![project],
        |r| r.get(0),
    )
    .await
}

/// A key as lists show it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Identifier.
    pub id: ApiKeyId,
    /// Which endpoints it opens.
    pub kind: KeyKind,
    /// Its name; the project's own pair has none.
    pub name: Option<String>,
    /// The scopes that limit it.
    pub scopes: Scopes,
    /// The key itself, for public keys only.
    pub token: Option<String>,
    /// Its last characters.
    pub hint: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
}

/// The keys of a project that were not revoked, oldest first, at most `limit` keys.
pub async fn list(rx: &mut Rx<'_>, project: ProjectNumber, limit: i64) -> Result<Vec<Listed>> {
    rx.all(
        "select id, kind, name, scopes, token, hint, created_at, last_used_at from api_keys \
         where project_id = $1 and revoked_at is null order by created_at, id limit $2",
        args![project, limit],
        |r| {
            Ok(Listed {
                id: r.get(0)?,
                kind: kind(&r.get::<String>(1)?),
                name: r.get(2)?,
                scopes: scopes(r.get(3)?),
                token: r.get(4)?,
                hint: r.get(5)?,
                created_at: r.get(6)?,
                last_used_at: r.get(7)?,
            })
        },
    )
    .await
}

/// How many keys of a project were not revoked.
pub async fn count(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<i64> {
    rx.one(
        "select count(*) from api_keys where project_id = $1 and revoked_at is null",
        args![project],
        |r| r.get(0),
    )
    .await
}

/// Revokes a key; its name, if it has one, when there was such a key.
pub async fn revoke(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: ApiKeyId,
    now: Timestamp,
) -> Result<Option<Option<String>>> {
    tx.optional(
        "update api_keys set revoked_at = $3 where project_id = $1 and id = $2 and revoked_at is null returning name",
        args![project, id, now],
        |r| r.get(0),
    )
    .await
}

/// Whether a key of a project is not revoked.
pub async fn is_live(rx: &mut Rx<'_>, project: ProjectNumber, id: ApiKeyId) -> Result<bool> {
    rx.exists(
        "select 1 from api_keys where project_id = $1 and id = $2 and revoked_at is null",
        args![project, id],
    )
    .await
}

/// Revokes the public and the secret key that every project has. Named keys stay. Returns how many were revoked.
pub async fn revoke_pair(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<u64> {
    tx.execute(
        "update api_keys set revoked_at = $2 where project_id = $1 and name is null and revoked_at is null",
        args![project, now],
    )
    .await
}

/// How often a use is noted, over all nodes.
const NOTED_EVERY_MS: i64 = 60_000;

/// Notes when keys were used, once a minute at most.
pub async fn used(tx: &mut Tx<'_>, uses: &[(KeyHash, Timestamp)]) -> Result<()> {
    tx.each(
        "update api_keys set last_used_at = r.at from {rows r: used bytes, at int} \
         where hash = r.used and coalesce(last_used_at, 0) <= r.at - $3",
        &[
            Arg::Blobs(uses.iter().map(|(hash, _)| Some(hash.as_slice().into())).collect()),
            Arg::Ints(uses.iter().map(|(_, at)| Some(at.0)).collect()),
            NOTED_EVERY_MS.into(),
        ],
    )
    .await?;
    Ok(())
}
