//! What has to be known of addresses that were erased, without the addresses: hashes that are keyed with a key of the
//! project. They tell whether an address is kept out of the project, and whether its owner had complained.
//!
//! A project in which nobody was ever erased has no key, and nothing is looked up for it but that.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{ContactId, ErasureId, ProjectNumber};
use ring::hmac;

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// The key of a project's hashes.
#[derive(Debug)]
pub(crate) struct Key(hmac::Key);

impl Key {
    fn of(bytes: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// The hash of an address.
    pub(crate) fn address(&self, email: &EmailAddress) -> Vec<u8> {
        hmac::sign(&self.0, email.as_str().as_bytes()).as_ref().to_vec()
    }

    /// The hash of a contact's id, which no address has: ids are 16 bytes with a zero before them.
    pub(crate) fn contact(&self, id: ContactId) -> Vec<u8> {
        let mut bytes = vec![0];
        bytes.extend_from_slice(id.as_uuid().as_bytes());
        hmac::sign(&self.0, &bytes).as_ref().to_vec()
    }
}

/// The key of a project; `None` where nobody was erased.
pub(crate) async fn key(rx: &Rx<'_>, project: ProjectNumber) -> Result<Option<Key>> {
    Ok(keys(rx, BTreeSet::from([project])).await?.remove(&project))
}

async fn keys(rx: &Rx<'_>, projects: BTreeSet<ProjectNumber>) -> Result<BTreeMap<ProjectNumber, Key>> {
    let found = rx
        .all(
            "select number, erasure_key from projects where number {in $1} and erasure_key is not null",
            &[Arg::Ints(projects.into_iter().map(|project| Some(project.0)).collect())],
            |r| Ok((r.get::<ProjectNumber>(0)?, r.get::<Vec<u8>>(1)?)),
        )
        .await?;
    Ok(found.into_iter().map(|(project, bytes)| (project, Key::of(&bytes))).collect())
}

/// The key of a project, which gets one if it has none.
pub(crate) async fn key_for_erasing(tx: &Tx<'_>, project: ProjectNumber) -> Result<Key> {
    if let Some(key) = key(tx, project).await? {
        return Ok(key);
    }
    let new: [u8; 32] = rand::random();
    tx.execute(
        "update projects set erasure_key = $2 where number = $1 and erasure_key is null",
        args![project, &new[..]],
    )
    .await?;
    key(tx, project).await?.ok_or(Error::NotFound)
}

/// What is known of an address that was erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erased {
    /// Whether it is kept out of the project.
    pub kept_out: bool,
    /// Whether its owner had complained about a mail.
    pub complained: bool,
    /// Whether the erasure is under way.
    pub is_under_way: bool,
    pub(crate) hash: Vec<u8>,
}

/// What is known of those of some addresses that were erased.
pub(crate) async fn among(
    rx: &Rx<'_>,
    addresses: &[(ProjectNumber, &EmailAddress)],
) -> Result<BTreeMap<(ProjectNumber, EmailAddress), Erased>> {
    if addresses.is_empty() {
        return Ok(BTreeMap::new());
    }
    let keys = keys(rx, addresses.iter().map(|(project, _)| *project).collect()).await?;
    let mut by_hash = BTreeMap::new();
    for (project, email) in addresses {
        if let Some(key) = keys.get(project) {
            by_hash.insert((*project, key.address(email)), *email);
        }
    }
    if by_hash.is_empty() {
        return Ok(BTreeMap::new());
    }
    let found = rx
        .each_returning(
            "select e.project_id, e.hash, e.kept_out, e.complained, e.erasure_id is not null \
             from {rows r: project_id int, hash bytes} \
             join erased_addresses e on e.project_id = r.project_id and e.hash = r.hash",
            &[
                Arg::Ints(by_hash.keys().map(|(project, _)| Some(project.0)).collect()),
                Arg::Blobs(by_hash.keys().map(|(_, hash)| Some(hash.as_slice().into())).collect()),
            ],
            |r| {
                let (project, hash): (ProjectNumber, Vec<u8>) = (r.get(0)?, r.get(1)?);
                let (kept_out, complained, is_under_way) = (r.get(2)?, r.get(3)?, r.get(4)?);
                Ok((project, Erased { kept_out, complained, is_under_way, hash }))
            },
        )
        .await?;
    let named = found.into_iter().filter_map(|(project, erased)| {
        let email = by_hash.get(&(project, erased.hash.clone()))?;
        Some(((project, (*email).clone()), erased))
    });
    Ok(named.collect())
}

/// What is known of an address, if it was erased.
pub async fn get(rx: &Rx<'_>, project: ProjectNumber, email: &EmailAddress) -> Result<Option<Erased>> {
    Ok(among(rx, &[(project, email)]).await?.into_values().next())
}

/// Those of some addresses whose owners had complained before they were erased.
pub(crate) async fn complained(
    rx: &Rx<'_>,
    project: ProjectNumber,
    emails: &BTreeSet<&EmailAddress>,
) -> Result<Vec<EmailAddress>> {
    let addresses: Vec<_> = emails.iter().map(|email| (project, *email)).collect();
    let found = among(rx, &addresses).await?;
    Ok(found.into_iter().filter(|(_, erased)| erased.complained).map(|((_, email), _)| email).collect())
}

/// Forgets that the owners of addresses had complained: they have subscribed again.
pub(crate) async fn forgive(
    tx: &Tx<'_>,
    project: ProjectNumber,
    emails: &BTreeSet<&EmailAddress>,
) -> Result<()> {
    let addresses: Vec<_> = emails.iter().map(|email| (project, *email)).collect();
    for erased in among(tx, &addresses).await?.into_values().filter(|erased| erased.complained) {
        tx.execute(
            "update erased_addresses set complained = false where project_id = $1 and hash = $2",
            args![project, &erased.hash[..]],
        )
        .await?;
        tidy(tx, project, &erased.hash).await?;
    }
    Ok(())
}

/// Lets addresses in again.
pub(crate) async fn readmit(tx: &Tx<'_>, addresses: &[(ProjectNumber, Vec<u8>)]) -> Result<()> {
    for (project, hash) in addresses {
        tx.execute(
            "update erased_addresses set kept_out = false where project_id = $1 and hash = $2 \
             and erasure_id is null",
            args![*project, &hash[..]],
        )
        .await?;
        tidy(tx, *project, hash).await?;
    }
    Ok(())
}

/// Notes that an address is being erased: it is kept out until that is done.
pub(crate) async fn begin(
    tx: &Tx<'_>,
    project: ProjectNumber,
    hash: &[u8],
    complained: bool,
    erasure: ErasureId,
) -> Result<()> {
    tx.execute_one(
        "insert into erased_addresses (project_id, hash, kept_out, complained, erasure_id) \
         values ($1, $2, true, $3, $4) on conflict (project_id, hash) do update set \
         kept_out = true, complained = erased_addresses.complained or excluded.complained, \
         erasure_id = excluded.erasure_id",
        args![project, hash, complained, erasure],
    )
    .await
}

/// Notes that the erasure of an address is done, and whether the address stays kept out.
pub(crate) async fn end(
    tx: &Tx<'_>,
    project: ProjectNumber,
    hash: &[u8],
    keep_out: bool,
    erasure: ErasureId,
) -> Result<()> {
    tx.execute(
        "update erased_addresses set kept_out = $3, erasure_id = null \
         where project_id = $1 and hash = $2 and erasure_id = $4",
        args![project, hash, keep_out, erasure],
    )
    .await?;
    tidy(tx, project, hash).await
}

/// Forgets an address of which nothing has to be known any more.
async fn tidy(tx: &Tx<'_>, project: ProjectNumber, hash: &[u8]) -> Result<()> {
    tx.execute(
        "delete from erased_addresses where project_id = $1 and hash = $2 and not kept_out and not complained \
         and erasure_id is null",
        args![project, hash],
    )
    .await?;
    Ok(())
}

/// Keeps an address out that was erased before.
pub(crate) async fn keep_out(tx: &Tx<'_>, project: ProjectNumber, hash: &[u8]) -> Result<()> {
    tx.execute_one(
        "insert into erased_addresses (project_id, hash, kept_out, complained) values ($1, $2, true, false) \
         on conflict (project_id, hash) do update set kept_out = true",
        args![project, hash],
    )
    .await
}
