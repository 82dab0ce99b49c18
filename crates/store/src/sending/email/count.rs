//! The sums of mails by status.

use mailwright_core::email::EmailStatus;
use mailwright_core::ids::ProjectNumber;

use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::insight::counter::{self, Counter};
use crate::insight::deltas::Deltas;

/// The name of the counter of a status. The sums tell waiting from finished; whether a waiting mail is on the wire
/// changes too fast to count.
fn name(status: EmailStatus) -> &'static str {
    let counted = if status == EmailStatus::Sending { EmailStatus::Pending } else { status };
    counted.as_str()
}

/// Counts mails with a status.
pub(crate) fn add(deltas: &mut Deltas, project: ProjectNumber, status: EmailStatus, delta: i64) {
    deltas.add(project, Counter::Email, name(status), delta);
}

/// Counts a mail under another status.
pub(crate) fn move_count(deltas: &mut Deltas, project: ProjectNumber, from: EmailStatus, to: EmailStatus) {
    add(deltas, project, from, -1);
    add(deltas, project, to, 1);
}

/// Takes a mail out of the sums that had this status as it is stored. One that is no status has a counter of its own.
pub(crate) fn forget(deltas: &mut Deltas, project: ProjectNumber, stored: &str) {
    let name = if let Some(status) = EmailStatus::from_name(stored) { name(status) } else { stored };
    deltas.add(project, Counter::Email, name, -1);
}

/// How many mails of a project have each status, those on the wire counted as waiting.
pub(super) async fn read(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Vec<(EmailStatus, i64)>> {
    let counts = counter::values(rx, project, Counter::Email).await?;
    let known = |(name, count): (String, i64)| Some((EmailStatus::from_name(&name)?, count));
    Ok(counts.into_iter().filter_map(known).collect())
}
