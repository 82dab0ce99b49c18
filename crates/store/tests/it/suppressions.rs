//! Mailboxes that are full, and what earlier versions stored, on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

use std::time::Duration;

use mailwright_core::address::EmailAddress;
use mailwright_core::consent::{ConsentWay, Evidence};
use mailwright_core::contact::Subscription;
use mailwright_core::custom_data::DataPatch;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::suppression::SuppressionReason;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::contact::{Contacts, Upsert};
use mailwright_store::audience::suppression::address::{self, Entry};
use mailwright_store::audience::suppression::soft_bounce;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::sending::email;
use mailwright_store::{Error, args, body};

use crate::database::{TestDatabase, both_engines};
use crate::mail::waiting_mail;

const NOW: Timestamp = Timestamp(1_741_608_000_000);
const PROJECT: ProjectNumber = ProjectNumber(1);

fn ada() -> EmailAddress {
    EmailAddress::parse("ada@example.com").unwrap()
}

fn after(hours: u64) -> Timestamp {
    NOW.plus(Duration::from_hours(hours))
}

async fn bounce(database: &TestDatabase, hours: u64) -> bool {
    let noted = database
        .db
        .write(body!(async |tx| { soft_bounce::soft_bounce(tx, PROJECT, &ada(), None, after(hours)).await }));
    noted.await.unwrap()
}

async fn entry(database: &TestDatabase, hours: u64) -> Option<Entry> {
    database.db.read(body!(async |rx| address::get(rx, PROJECT, &ada(), after(hours)).await)).await.unwrap()
}

async fn a_full_mailbox_is_given_up_after_days(database: TestDatabase) {
    for hours in [0, 1, 24, 48, 72] {
        assert!(!bounce(&database, hours).await, "after {hours} hours");
        assert_eq!(entry(&database, hours).await, None);
    }
    assert!(bounce(&database, 121).await);
    let listed = entry(&database, 121).await.unwrap();
    assert_eq!((listed.reason, listed.mail), (SuppressionReason::HardBounce, None));
    assert_eq!(listed.expires_at, Some(after(121 + 90 * 24)));
    assert_eq!(entry(&database, 121 + 91 * 24).await, None, "it has expired");
    // it begins anew
    assert!(!bounce(&database, 122).await);
    let forgotten = database.db.write(body!(async |tx| {
        let late = after(122 + 91 * 24);
        let expired = address::forget(tx, PROJECT, late, 10).await?;
        Ok::<_, Error>((expired, soft_bounce::forget_old(tx, PROJECT, late, 10).await?))
    }));
    assert_eq!(forgotten.await.unwrap(), (1, 1));
}

async fn mail_that_arrives_makes_it_begin_anew(database: TestDatabase) {
    for hours in [0, 24, 48] {
        assert!(!bounce(&database, hours).await);
    }
    let made = database.db.write(body!(async |tx| {
        let (none, mut deltas) = (DataPatch::default(), Deltas::default());
        let mut contacts = Contacts::load(tx, std::iter::once((PROJECT, &ada()))).await?;
        let subscription =
            Subscription { given: Some(true), default_for_new: true, preserve_existing: false };
        let (email, evidence) = (&ada(), Evidence::by(ConsentWay::Api));
        let upsert =
            Upsert { project: PROJECT, email, subscription, patch: &none, evidence, double_opt_in: false };
        let contact = contacts.upsert(upsert, NOW).contact.id;
        contacts.save(tx, &mut deltas).await?;
        email::enqueue(tx, &[waiting_mail(PROJECT, contact, NOW)], &mut deltas).await?;
        deltas.save(tx).await?;
        let sql =
            "update emails set status = 'DELIVERED', due_at = null, delivered_at = $2 where project_id = $1";
        tx.execute(sql, args![PROJECT, after(60)]).await
    }));
    assert_eq!(made.await.unwrap(), 1);
    for hours in [72, 96, 121, 160] {
        assert!(!bounce(&database, hours).await, "after {hours} hours");
    }
    assert!(bounce(&database, 72 + 121).await);
}

async fn what_earlier_versions_stored_is_a_hard_bounce(database: TestDatabase) {
    let stored = database.db.write(body!(async |tx| {
        let sql =
            "insert into suppressions (project_id, email, reason, created_at) values ($1, $2, 'bounce', $3)";
        tx.execute(sql, args![PROJECT, &ada(), NOW]).await
    }));
    assert_eq!(stored.await.unwrap(), 1);
    let listed = entry(&database, 1).await.unwrap();
    assert_eq!((listed.reason, listed.expires_at, listed.mail), (SuppressionReason::HardBounce, None, None));
    let ended = database.db.write(body!(async |tx| address::lift(tx, &[(PROJECT, &ada())]).await));
    ended.await.unwrap();
    assert_eq!(entry(&database, 1).await, None);
}

both_engines! { "suppressions":
    a_full_mailbox_is_given_up_after_days,
    mail_that_arrives_makes_it_begin_anew,
    what_earlier_versions_stored_is_a_hard_bounce,
}
