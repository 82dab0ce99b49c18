//! Which mails keep the values of their variables, and which are made due.

use std::time::Duration;

use mailwright_core::attempt::Attempt;
use mailwright_core::email::EmailStatus;
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;
use tokio::sync::oneshot;

use super::{
    ClaimRef, Concluded, Mark, Outcome, SOON, Unreadable, conclude_late, make_due, make_due_that_say,
    mark_sending, settle_unreadable,
};
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
    let database = Database::create("values");
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
}

#[tokio::test]
async fn a_mail_that_begins_to_be_written_meanwhile_is_not_made_due() {
    let database = Database::create("made_due");
    let db = database.open();
    migrate(&db, NOW).await.unwrap();
    let stored = db.write(body!(async |tx| {
        let claim = store(tx, None, EmailStatus::Pending, true).await?;
        let recipient = "update emails set recipient = 'ada@one.example' where project_id = $1 and id = $2";
        tx.execute(recipient, args![ONE, claim.id]).await?;
        Ok::<_, Error>(claim)
    }));
    let claim = stored.await.unwrap();
    let lease = NOW.plus(Duration::from_mins(5));
    let (marked, has_marked) = oneshot::channel();
    let (let_go, until) = oneshot::channel::<()>();
    let first = db.clone();
    let marks = tokio::spawn(async move {
        let work = first.write_in_background(body!(async |tx| {
            let mark = Mark { claim, first_attempt_at: NOW, links: None, transport: "default".into() };
            mark_sending(tx, &[mark], lease).await?;
            let _ = marked.send(());
            let _ = until.await;
            Ok::<_, Error>(())
        }));
        work.await
    });
    has_marked.await.unwrap();
    let second = db.clone();
    let makes_due = tokio::spawn(async move {
        // the mail is due a little later
        let before = Timestamp(NOW.0 - 1);
        second.write(body!(async |tx| make_due(tx, ONE, Some("one.example"), NOW, 10, before).await)).await
    });
    database.until_one_waits().await;
    let_go.send(()).unwrap();
    marks.await.unwrap().unwrap();
    assert_eq!(makes_due.await.unwrap().unwrap(), 0);
    let due_at = db.read(body!(async |rx| {
        let sql = "select due_at from emails where project_id = $1 and id = $2";
        rx.one(sql, args![ONE, claim.id], |r| r.get::<Timestamp>(0)).await
    }));
    assert_eq!(due_at.await.unwrap(), lease);
}

/// Stores a mail that waits for two hours from now on, and has waited for three with them.
async fn waiting(tx: &mut Tx<'_>, error: Option<&str>) -> Result<ClaimRef> {
    let claim = store(tx, None, EmailStatus::Pending, true).await?;
    let (due_at, waited) = (NOW.plus(Duration::from_hours(2)), 3 * 3_600_000_i64);
    let sql = "update emails set error = $3, due_at = $4, waited_ms = $5 where project_id = $1 and id = $2";
    tx.execute(sql, args![ONE, claim.id, error, due_at, waited]).await?;
    Ok(claim)
}

#[tokio::test]
async fn mail_that_waits_for_what_is_over_is_made_due_and_has_not_waited_for_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Sqlite(folder.path().join("over.sqlite"));
    let sqlite = Db::open(&location, StoreMetrics::default()).unwrap();
    let database = Database::create("over");
    for db in [sqlite, database.open()] {
        migrate(&db, NOW).await.unwrap();
        let done = db.write(body!(async |tx| {
            let meant = waiting(tx, Some("It waits for a_b.test. Last: 554 5.7.1")).await?;
            let other = waiting(tx, Some("It waits for axb.test.")).await?;
            let silent = waiting(tx, None).await?;
            assert_eq!(make_due_that_say(tx, ONE, "It waits for a_b.test.", SOON, 10, NOW).await?, 1);
            assert_eq!(
                make_due_that_say(tx, ONE, "It waits for a_b.test.", SOON, 10, NOW).await?,
                0,
                "it is due"
            );
            let later = NOW.plus(Duration::from_hours(2));
            for (mail, due_at, hours) in [(meant, NOW, 1), (other, later, 3), (silent, later, 3)] {
                let sql = "select due_at, waited_ms from emails where project_id = $1 and id = $2";
                let found = tx
                    .one(sql, args![ONE, mail.id], |r| Ok((r.get::<Timestamp>(0)?, r.get::<i64>(1)?)))
                    .await?;
                assert_eq!(found, (due_at, hours * 3_600_000));
            }
            Ok::<_, Error>(())
        }));
        done.await.unwrap();
    }
}
