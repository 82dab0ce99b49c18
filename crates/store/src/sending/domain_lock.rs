//! The lock of the domains of a project.

use mailwright_core::ids::ProjectNumber;

use crate::database::error::Result;
use crate::database::tx::Tx;

/// Space of the locks of domains among PostgreSQL's advisory locks, whose keys are numbers of 64 bits.
const LOCKS: i64 = 0x646f_6d6e_0000_0000;

/// Locks the domains of a project: other transactions cannot add domains or keys of them until this one ends.
///
/// Where tables are divided, the lock is on the coordinator: most of these transactions change rows of the instance as
/// well, and what a worker has prepared keeps its locks until it is committed, which may be a minute later.
pub(super) async fn lock(tx: &Tx<'_>, project: ProjectNumber) -> Result<()> {
    tx.hold(LOCKS ^ project.0).await
}
