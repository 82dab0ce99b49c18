//! What a review of a campaign looks at, before it is sent.

use mailwright_core::ids::{CampaignId, ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;

use super::audience::{Members, page};
use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// How many of the latest campaigns are looked at for how long they took.
const LOOKED_AT: i64 = 5;

/// Notes that a campaign was sent as a test.
pub async fn tested(tx: &Tx<'_>, project: ProjectNumber, id: CampaignId, now: Timestamp) -> Result<()> {
    tx.execute(
        "update campaigns set tested_at = $3 where project_id = $1 and id = $2",
        args![project, id, now],
    )
    .await?;
    Ok(())
}

/// When a campaign was last sent as a test; `None` if it never was.
pub async fn tested_at(rx: &Rx<'_>, project: ProjectNumber, id: CampaignId) -> Result<Option<Timestamp>> {
    let sql = "select tested_at from campaigns where project_id = $1 and id = $2";
    Ok(rx.optional(sql, args![project, id], |r| r.get::<Option<Timestamp>>(0)).await?.flatten())
}

/// The first contacts of an audience, by their ids.
pub async fn sample(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    members: &Members,
    most: usize,
    now: Timestamp,
) -> Result<Vec<ContactId>> {
    let beyond = ContactId::first_of(Timestamp((1 << 48) - 1));
    page(rx, project, members, (None, beyond), most, now).await
}

/// How many mails a second the latest campaign that ended had; `None` where the latest ones did not end yet, or had no
/// mails.
pub async fn latest_pace(rx: &Rx<'_>, project: ProjectNumber) -> Result<Option<f64>> {
    let latest = rx
        .all(
            "select recipients, sent_at, finished_at from campaigns where project_id = $1 and sent_at is not null \
             order by sent_at desc, id desc limit $2",
            args![project, LOOKED_AT],
            |r| Ok((r.get::<i64>(0)?, r.get::<Timestamp>(1)?, r.get::<Option<Timestamp>>(2)?)),
        )
        .await?;
    Ok(latest.into_iter().find_map(|(recipients, from, to)| {
        let seconds = to?.since(from).as_secs_f64().max(1.0);
        (recipients > 0).then(|| recipients as f64 / seconds)
    }))
}
