//! The end of a campaign.

use mailwright_core::campaign::{Campaign, Equation};
use mailwright_core::ids::{CampaignId, ProjectNumber};
use serde_json::{Value as Json, json};

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Rx, Tx};
use crate::sending::campaign;

/// Stores how many mails a campaign makes, once all its audience is frozen.
pub async fn set_recipients(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: CampaignId,
    recipients: i64,
) -> Result<()> {
    tx.execute_one(
        "update campaigns set recipients = $3 where project_id = $1 and id = $2",
        args![project, id, recipients],
    )
    .await
}

/// How many mails forget their former address in one step.
const FORGET: i64 = 500;

/// Forgets the former addresses that the mails of a campaign were sent to. Returns whether there may be more.
pub async fn forget_former(tx: &mut Tx<'_>, project: ProjectNumber, id: CampaignId) -> Result<bool> {
    let touched = tx
        .execute(
            "update emails set former = null where project_id = $1 and id in \
             (select id from emails where project_id = $1 and campaign_id = $2 and former is not null limit $3)",
            args![project, id, FORGET],
        )
        .await?;
    Ok(touched as i64 == FORGET)
}

/// Stores the end of a campaign with the equation of its ledger.
pub async fn finish(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    ended: &Campaign,
    balance: &Equation,
) -> Result<()> {
    tx.execute_one(
        "update campaigns set balance = {json $3} where project_id = $1 and id = $2",
        args![project, ended.id, json!(balance)],
    )
    .await?;
    campaign::save_state(tx, project, ended).await
}

/// The equation that a campaign ended with.
pub async fn balance(rx: &mut Rx<'_>, project: ProjectNumber, id: CampaignId) -> Result<Option<Equation>> {
    let found = rx
        .optional(
            "select {json_out balance} from campaigns where project_id = $1 and id = $2",
            args![project, id],
            |r| r.get::<Option<Json>>(0),
        )
        .await?;
    let read = |stored| {
        serde_json::from_value(stored).map_err(|error| Error::Corrupt {
            column: 0,
            expected: "campaigns.balance",
            detail: error.to_string(),
        })
    };
    found.flatten().map(read).transpose()
}
