//! Tells whether a secret is the one that the stored data was encrypted with: it tries to open one stored piece.

use mailwright_core::ids::{DomainId, ProjectNumber, UserId};

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// Something that only the right secret opens.
#[derive(Debug, Clone)]
pub enum Sealed {
    /// A value that is stored only as a check, since the secret was first used or was replaced.
    Check(Vec<u8>),
    /// The private DKIM key of a domain.
    Dkim(Vec<u8>),
    /// The seed of an account's second factor.
    Seed(UserId, Vec<u8>),
}

/// The check of the secret, or else what was encrypted last, of any project: a DKIM key, or else a seed. `None` when
/// nothing is encrypted yet.
pub async fn sample(rx: &mut Rx<'_>) -> Result<Option<Sealed>> {
    let check = rx
        .optional("select sealed from secret_check where id = 1", &[], |r| Ok(Sealed::Check(r.get(0)?)))
        .await?;
    if check.is_some() {
        return Ok(check);
    }
    let key = rx
        .optional(
            "select private_key from domains where project_id in (select number from projects) \
             order by created_at desc, id desc limit 1",
            &[],
            |r| Ok(Sealed::Dkim(r.get(0)?)),
        )
        .await?;
    if key.is_some() {
        return Ok(key);
    }
    rx.optional("select user_id, seed from totp order by created_at desc limit 1", &[], |r| {
        Ok(Sealed::Seed(r.get(0)?, r.get(1)?))
    })
    .await
}

/// Keeps a check of the secret where there is none yet.
pub async fn keep_check(tx: &mut Tx<'_>, sealed: &[u8]) -> Result<()> {
    tx.execute(
        "insert into secret_check (id, sealed) values (1, $1) on conflict (id) do nothing",
        args![sealed],
    )
    .await?;
    Ok(())
}

/// Keeps a check of another secret from now on.
pub async fn replace_check(tx: &mut Tx<'_>, sealed: &[u8]) -> Result<()> {
    tx.execute(
        "insert into secret_check (id, sealed) values (1, $1) \
         on conflict (id) do update set sealed = excluded.sealed",
        args![sealed],
    )
    .await?;
    Ok(())
}

/// The encrypted seeds of the second factors that accounts have to give, up to `most` of those that come after an
/// account.
pub async fn seeds(rx: &mut Rx<'_>, after: UserId, most: i64) -> Result<Vec<(UserId, Vec<u8>)>> {
    rx.all(
        "select user_id, seed from totp where user_id > $1 and confirmed_at is not null order by user_id limit $2",
        args![after, most],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// The encrypted private key of a domain.
#[derive(Debug, Clone)]
pub struct DomainKey {
    /// The project of the domain.
    pub project: ProjectNumber,
    /// The domain.
    pub domain: DomainId,
    /// Its name.
    pub name: String,
    /// The private key, encrypted.
    pub private_key: Vec<u8>,
}

/// The keys of the domains of all projects, up to `most` of those that come after a domain.
pub async fn domain_keys(
    rx: &mut Rx<'_>,
    after: Option<(ProjectNumber, DomainId)>,
    most: i64,
) -> Result<Vec<DomainKey>> {
    let (project, domain) = after.unwrap_or((ProjectNumber(-1), DomainId::from_bytes([0; 16])));
    rx.all(
        "select project_id, id, name, private_key from domains where (project_id, id) > ($1, $2) \
         and project_id in (select number from projects) order by project_id, id limit $3",
        args![project, domain, most],
        |r| Ok(DomainKey { project: r.get(0)?, domain: r.get(1)?, name: r.get(2)?, private_key: r.get(3)? }),
    )
    .await
}
