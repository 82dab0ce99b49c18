//! Which contacts' subscriptions a bulk operation flipped, so that it can be undone.

use std::time::Duration;

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{ConsentId, ContactId, JobId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// A contact whose subscription flipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flip {
    /// The contact.
    pub contact: ContactId,
    /// When.
    pub at: Timestamp,
}

/// How many bytes one has.
const BYTES: usize = 24;

impl Flip {
    /// Writes some as bytes.
    pub fn write(flips: &[Self]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(flips.len() * BYTES);
        for flip in flips {
            bytes.extend_from_slice(flip.contact.as_uuid().as_bytes());
            bytes.extend_from_slice(&flip.at.0.to_be_bytes());
        }
        bytes
    }

    /// Reads what [`write`](Self::write) wrote.
    pub fn read(bytes: &[u8]) -> Vec<Self> {
        let one = |bytes: &[u8; BYTES]| {
            let (mut id, mut at) = ([0; 16], [0; 8]);
            id.copy_from_slice(&bytes[..16]);
            at.copy_from_slice(&bytes[16..]);
            Self { contact: ContactId::from_bytes(id), at: Timestamp(i64::from_be_bytes(at)) }
        };
        bytes.as_chunks::<BYTES>().0.iter().map(one).collect()
    }
}

/// Keeps what a step of a job flipped. `first` is the position of the step among the job's contacts.
pub async fn keep(tx: &Tx<'_>, project: ProjectNumber, job: JobId, first: u64, flips: &[Flip]) -> Result<()> {
    if flips.is_empty() {
        return Ok(());
    }
    let content = Flip::write(flips);
    tx.execute_one(
        "insert into job_flips (project_id, job_id, position, content) values ($1, $2, $3, $4)",
        args![project, job, first, &content[..]],
    )
    .await
}

/// What a job flipped, in the order in which it did.
pub async fn flips(rx: &Rx<'_>, project: ProjectNumber, job: JobId) -> Result<Vec<Flip>> {
    let steps = rx
        .all(
            "select content from job_flips where project_id = $1 and job_id = $2 order by position",
            args![project, job],
            |r| r.get::<Vec<u8>>(0),
        )
        .await?;
    Ok(steps.iter().flat_map(|content| Flip::read(content)).collect())
}

/// A contact whose subscription a job flipped, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flipped {
    /// The contact.
    pub id: ContactId,
    /// Its address.
    pub email: EmailAddress,
    /// Whether nothing changed its subscription since.
    pub is_as_left: bool,
}

/// Looks at contacts whose subscription became `subscribed`; those that exist.
pub async fn flipped(
    rx: &Rx<'_>,
    project: ProjectNumber,
    flips: &[Flip],
    subscribed: bool,
) -> Result<Vec<Flipped>> {
    let behind = |at: Timestamp| ConsentId::first_of(at.plus(Duration::from_millis(1)));
    rx.each_returning(
        "select c.id, c.email, c.subscribed = $4 and not exists (select 1 from consents k where k.project_id = $3 \
         and k.contact_id = c.id and k.id >= r.behind and k.topic_id is null) \
         from {rows r: contact_id id, behind id} join contacts c on c.project_id = $3 and c.id = r.contact_id",
        &[
            Arg::Ids(flips.iter().map(|flip| Some(flip.contact.into())).collect()),
            Arg::Ids(flips.iter().map(|flip| Some(behind(flip.at).into())).collect()),
            project.into(),
            subscribed.into(),
        ],
        |r| Ok(Flipped { id: r.get(0)?, email: r.get(1)?, is_as_left: r.get(2)? }),
    )
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flips_are_read_as_they_were_written() {
        let flips: Vec<_> = (0..3)
            .map(|n| Flip { contact: ContactId::new(Timestamp(n), rand::random()), at: Timestamp(n << 40) })
            .collect();
        assert_eq!(Flip::read(&Flip::write(&flips)), flips);
        assert_eq!(Flip::read(&[]), []);
    }
}
