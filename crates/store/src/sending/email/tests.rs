//! Which mails keep the values of their variables.

use std::time::Duration;

use mailwright_core::attempt::Attempt;
use mailwright_core::email::EmailStatus;
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use super::{ClaimRef, Concluded, Outcome, Unreadable, conclude_late, settle_unreadable};
use crate::args;
use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::location::Location;
use crate::database::metrics::StoreMetrics;
use crate::database::migrate::migrate;
use crate::database::migrate::tests::Database;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::insight::deltas::Deltas;

const ONE: ProjectNumber = ProjectNumber(1);
const NOW: Timestamp = Timestamp(1_741_608_000_000);
const VALUES: &str = r#"{"code":"secret"}"#;

/// Stores a mail with values.
async fn store(
    tx: &Tx<'_>,
    campaign: Option<CampaignId>,
    status: EmailStatus,
    due: bool,
) -> Result<ClaimRef> {
    let claim = ClaimRef { project: ONE, id: EmailId::new(NOW, rand::random()), claim: 3 };
    tx.execute_one(
        "insert into emails (project_id, id, contact_id, recipient, from_address, subject, content_hash, \
         variables, source, type, lane, campaign_id, status, due_at, claim, attempts, in_doubt, log, message_id, \
         opens, clicks, deadline_at, created_at, updated_at) values ($1, $2, $2, 'r', 'f', 's', $3, {json $4}, \
         'CAMPAIGN', 'MARKETING', 0, $5, $6, $7, $8, 0, 0, {json '[]'}, 'm', 0, 0, 0, 0, 0)",
        args![
            ONE,
            claim.id,
            &[0; 32][..],
            Arg::Json(VALUES.into()),
            campaign,
            status.as_str(),
            due.then_some(NOW),
            claim.claim,
        ],
    )
    .await?;
    Ok(claim)
}

async fn keeps_values(rx: &Rx<'_>, claim: ClaimRef) -> Result<bool> {
    let sql = "select {json_out variables} from emails where project_id = $1 and id = $2";
    let values = rx.one(sql, args![ONE, claim.id], |r| r.get::<Json>(0)).await?;
    Ok(values == serde_json::from_str::<Json>(VALUES).unwrap())
}

/// Has the former owner of a campaign's mail, which ended as given, say that it was sent.
async fn sent_after(tx: &mut Tx<'_>, status: EmailStatus) -> Result<bool> {
    let campaign = CampaignId::new(NOW, rand::random());
    let claim = store(tx, Some(campaign), status, false).await?;
    let outcome = Outcome {
        claim,
        campaign: Some(campaign),
        from: EmailStatus::Sending,
        status: EmailStatus::Sent,
        due_at: None,
        waits: Duration::ZERO,
        is_doubt: false,
        attempt: Attempt::default(),
        error: None,
        reason: None,
        subject: None,
        sent_at: Some(NOW),
        bounced_at: None,
        has_left: true,
    };
    conclude_late(tx, &[outcome], &mut Concluded::default(), &mut Deltas::default(), NOW).await?;
    keeps_values(tx, claim).await
}

async fn unreadable(tx: &mut Tx<'_>, campaign: Option<CampaignId>) -> Result<bool> {
    let claim = store(tx, campaign, EmailStatus::Pending, true).await?;
    let error = Error::NotFound;
    let row =
        Unreadable { project: ONE, claim: Some(claim), campaign, is_doubtful: false, column: "log", error };
    settle_unreadable(tx, &row, NOW).await?;
    keeps_values(tx, claim).await
}

#[tokio::test]
async fn values_stay_only_where_a_mail_can_be_tried_once_more() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Sqlite(folder.path().join("email.sqlite"));
    let sqlite = Db::open(&location, StoreMetrics::default()).unwrap();
    let database = Database::create("values").await;
    for db in [sqlite, database.open()] {
        migrate(&db, NOW).await.unwrap();
        let kept = db.write(body!(async |tx| {
            let mut kept = Vec::new();
            for status in [EmailStatus::Failed, EmailStatus::InDoubt, EmailStatus::Bounced] {
                kept.push(sent_after(tx, status).await?);
            }
            for campaign in [None, Some(CampaignId::new(NOW, rand::random()))] {
                kept.push(unreadable(tx, campaign).await?);
            }
            Ok::<_, Error>(kept)
        }));
        assert_eq!(kept.await.unwrap(), [false, false, true, false, true]);
    }
    database.drop().await;
}
