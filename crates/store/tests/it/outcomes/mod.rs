//! What is stored of a mail that several owners had, in every order in which their outcomes may come, on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

mod database;

use std::time::Duration;

use mailwright_core::attempt::{Attempt, AttemptOutcome};
use mailwright_core::email::{EmailStatus, Reason};
use mailwright_core::event::Activity;
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::feedback::mail::State;
use mailwright_store::insight::counter::{self, Counter};
use mailwright_store::sending::email::{ClaimRef, Claimed, Email, Outcome};

use database::Database;

const NOW: Timestamp = Timestamp(1_741_608_000_000);
const PROJECT: ProjectNumber = ProjectNumber(1);

fn reference(mail: &Claimed) -> ClaimRef {
    ClaimRef { project: mail.project, id: mail.id, claim: mail.claim }
}

/// What the owner of a claim says: `SENT`, `PENDING` after a doubt, or `FAILED`.
fn outcome(mail: &Claimed, status: EmailStatus, came_to: AttemptOutcome) -> Outcome {
    Outcome {
        claim: reference(mail),
        campaign: None,
        from: mail.status,
        status,
        due_at: (status == EmailStatus::Pending).then_some(Timestamp(NOW.0 + 1)),
        waits: Duration::from_millis(1),
        is_doubt: came_to == AttemptOutcome::InDoubt,
        attempt: Attempt { outcome: Some(came_to), ..Attempt::default() },
        error: (status != EmailStatus::Sent).then(|| came_to.as_str().to_owned()),
        reason: (status == EmailStatus::Failed).then_some(Reason::Expired),
        subject: None,
        sent_at: (status == EmailStatus::Sent).then_some(NOW),
        bounced_at: None,
        has_left: status == EmailStatus::Sent,
    }
}

fn sent(mail: &Claimed) -> Outcome {
    outcome(mail, EmailStatus::Sent, AttemptOutcome::Sent)
}

fn doubted(mail: &Claimed) -> Outcome {
    outcome(mail, EmailStatus::Pending, AttemptOutcome::InDoubt)
}

/// A mail on the wire of its first owner, whose lease ended: the second owner found it in doubt and has it on the wire
/// as well.
async fn two_owners(database: &Database) -> [Claimed; 2] {
    database.enqueue().await;
    let first = database.claim(0).await;
    assert!(database.mark(&first, 0).await);
    let abandoned = database.claim(2_000).await;
    assert_eq!(abandoned.status, EmailStatus::Sending);
    assert!(database.conclude(&doubted(&abandoned)).await);
    let second = database.claim(2_001).await;
    assert_eq!((second.status, second.in_doubt), (EmailStatus::Pending, 1));
    assert!(database.mark(&second, 2_001).await);
    [first, second]
}

/// Attempts, doubts, and what the log says in order, with its numbers.
fn history(mail: &Email) -> (i64, i64, Vec<(i64, String)>) {
    let entry = |e: Attempt| (e.number.unwrap(), e.outcome.unwrap().as_str().to_owned());
    (mail.attempts, mail.in_doubt, Attempt::read_log(&mail.log).into_iter().map(entry).collect())
}

fn log(outcomes: &[&str]) -> Vec<(i64, String)> {
    (1..).zip(outcomes.iter().map(|&outcome| outcome.to_owned())).collect()
}

async fn the_former_owner_is_answered_first(database: &Database) {
    let [first, second] = two_owners(database).await;
    assert!(database.conclude(&sent(&first)).await, "that it was sent is worth more than a newer claim");
    let known = database.get(first.id).await;
    assert_eq!((known.status, history(&known)), (EmailStatus::Sent, (2, 1, log(&["in_doubt", "sent"]))));
    assert!(!database.mark(&second, 2_002).await, "nobody hands it over any more who has not begun");
    assert!(!database.conclude(&sent(&second)).await, "it was sent before, and no event says so twice");
    let known = database.get(first.id).await;
    assert_eq!(
        (known.status, history(&known)),
        (EmailStatus::Sent, (3, 1, log(&["in_doubt", "sent", "sent"])))
    );
    assert_eq!(database.counted().await, [("SENT".to_owned(), 1)]);
}

async fn the_new_owner_is_answered_first(database: &Database) {
    let [first, second] = two_owners(database).await;
    assert!(database.conclude(&sent(&second)).await);
    assert!(!database.conclude(&sent(&first)).await);
    let known = database.get(first.id).await;
    assert_eq!(
        (known.status, history(&known)),
        (EmailStatus::Sent, (3, 1, log(&["in_doubt", "sent", "sent"])))
    );
    // written once more, because the answer to a commit was lost: it is no third copy
    assert!(!database.conclude(&sent(&first)).await);
    assert_eq!(history(&database.get(first.id).await).0, 3);
    assert_eq!(database.counted().await, [("SENT".to_owned(), 1)]);
}

async fn the_new_owner_is_in_doubt_too(database: &Database) {
    let [first, second] = two_owners(database).await;
    let held = Outcome { due_at: None, ..outcome(&second, EmailStatus::InDoubt, AttemptOutcome::InDoubt) };
    assert!(database.conclude(&held).await);
    assert_eq!(database.counted().await, [("IN_DOUBT".to_owned(), 1)]);
    assert!(database.conclude(&sent(&first)).await, "now it is known");
    let known = database.get(first.id).await;
    assert_eq!((known.status, known.error.as_deref()), (EmailStatus::Sent, None));
    assert_eq!(history(&known), (3, 2, log(&["in_doubt", "in_doubt", "sent"])));
    assert_eq!(database.counted().await, [("SENT".to_owned(), 1)]);
}

async fn the_new_owner_gave_it_up(database: &Database) {
    let [first, second] = two_owners(database).await;
    assert!(database.conclude(&outcome(&second, EmailStatus::Failed, AttemptOutcome::Failed)).await);
    assert!(database.conclude(&sent(&first)).await);
    let known = database.get(first.id).await;
    assert_eq!((known.status, known.reason), (EmailStatus::Sent, None));
    assert_eq!(history(&known), (3, 1, log(&["in_doubt", "failed", "sent"])));
    assert_eq!(database.counted().await, [("SENT".to_owned(), 1)]);
}

async fn the_former_owner_did_not_succeed(database: &Database) {
    let [first, second] = two_owners(database).await;
    for late in [doubted(&first), outcome(&first, EmailStatus::Failed, AttemptOutcome::Failed)] {
        assert!(!database.conclude(&late).await, "the doubt stands for what became of it");
    }
    assert!(database.conclude(&sent(&second)).await);
    let known = database.get(first.id).await;
    assert_eq!(history(&known), (2, 1, log(&["in_doubt", "sent"])));
    assert!(!database.conclude(&doubted(&first)).await);
    assert_eq!(history(&database.get(first.id).await).0, 2);
}

async fn one_owner_at_a_time_is_never_in_doubt(database: &Database) {
    let id = database.enqueue().await;
    for round in 0..60_i64 {
        let mail = database.claim(round * 2_000).await;
        let later =
            Outcome { is_doubt: false, ..outcome(&mail, EmailStatus::Pending, AttemptOutcome::Deferred) };
        assert!(database.conclude(&later).await);
        assert!(!database.conclude(&later).await, "once");
    }
    let mail = database.claim(1_000_000).await;
    assert_eq!(mail.waited, Duration::from_millis(60));
    assert!(database.conclude(&sent(&mail)).await);
    assert!(!database.conclude(&sent(&mail)).await);
    let known = database.get(id).await;
    assert_eq!((known.attempts, known.in_doubt), (61, 0));
    // the newest fifty
    let kept = known.log.as_array().unwrap();
    assert_eq!((kept.len(), &kept[0]["attempt"], &kept[49]["attempt"]), (50, &12.into(), &61.into()));
}

async fn what_never_left_ends_with_its_claim(database: &Database) {
    database.enqueue().await;
    let first = database.claim(0).await;
    let second = database.claim(2_000).await;
    let kept = |mail| Outcome { has_left: false, ..sent(mail) };
    assert!(!database.conclude(&kept(&first)).await, "the mail is another owner's");
    assert_eq!(database.get(first.id).await.status, EmailStatus::Pending);
    let failed = outcome(&second, EmailStatus::Failed, AttemptOutcome::Failed);
    assert!(database.conclude(&failed).await);
    for mail in [&first, &second] {
        assert!(!database.conclude(&kept(mail)).await, "the mail is settled");
    }
    let known = database.get(first.id).await;
    assert_eq!((known.status, history(&known)), (EmailStatus::Failed, (1, 0, log(&["failed"]))));
    assert_eq!(database.counted().await, [("FAILED".to_owned(), 1)]);
}

async fn what_is_learnt_later_only_moves_a_mail_up(database: &Database) {
    let id = database.enqueue().await;
    let mail = database.claim(0).await;
    assert!(database.conclude(&sent(&mail)).await);
    let told = [
        (Activity::Clicked, EmailStatus::Clicked),
        (Activity::Delivered, EmailStatus::Clicked),
        (Activity::Opened, EmailStatus::Clicked),
        (Activity::Opened, EmailStatus::Clicked),
        (Activity::Complained, EmailStatus::Complained),
        (Activity::Bounced, EmailStatus::Complained),
    ];
    for (at, (activity, status)) in (10..).zip(told) {
        let learnt = database.learn(id, activity, at).await.unwrap().unwrap();
        assert_eq!(learnt.now.status, status, "{activity:?}");
        assert_eq!(database.counted().await, [(status.as_str().to_owned(), 1)]);
    }
    let known = database.get(id).await;
    assert_eq!((known.opens, known.clicks), (2, 1));
    // sent when the hand-over said so; delivered, opened, clicked, bounced, complained
    assert_eq!(known.times, [0, 11, 12, 10, 15, 14].map(|millis| Some(Timestamp(NOW.0 + millis))));
    let stats =
        database.db.read(body!(async |rx| counter::values(rx, PROJECT, Counter::DeliveryStats).await));
    let totals: Vec<_> = stats.await.unwrap().into_iter().filter(|(name, _)| !name.contains(' ')).collect();
    for (name, count) in [("sent", 1), ("bounced", 1), ("complained", 1)] {
        assert!(totals.contains(&(name.to_owned(), count)), "{name}: {totals:?}");
    }
}

async fn what_is_learnt_of_a_mail_that_waits_is_too_early(database: &Database) {
    let id = database.enqueue().await;
    assert!(matches!(database.learn(id, Activity::Delivered, 1).await, Some(Err(State::TooEarly))));
    let mail = database.claim(0).await;
    assert!(database.mark(&mail, 0).await);
    assert!(matches!(database.learn(id, Activity::Delivered, 1).await, Some(Err(State::TooEarly))));
    assert_eq!(database.get(id).await.times, [None; 6]);
    let stranger = EmailId::new(NOW, rand::random());
    assert!(database.learn(stranger, Activity::Delivered, 1).await.is_none());
}

async fn what_is_learnt_later_ends_a_doubt(database: &Database) {
    for status in [EmailStatus::InDoubt, EmailStatus::Failed] {
        let id = database.enqueue().await;
        let mail = database.claim(0).await;
        let held = Outcome { due_at: None, ..outcome(&mail, status, AttemptOutcome::InDoubt) };
        assert!(database.conclude(&held).await);
        assert!(matches!(database.learn(id, Activity::Opened, 7).await, Some(Ok(_))));
        let known = database.get(id).await;
        assert_eq!((known.status, known.reason, known.error), (EmailStatus::Opened, None, None));
        assert_eq!(known.times[0], Some(Timestamp(NOW.0 + 7)));
    }
    assert_eq!(database.counted().await, [("OPENED".to_owned(), 2)]);
}

macro_rules! both_engines {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(&super::Database::sqlite().await).await;
                }
            )+
        }
        mod postgres {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(&super::Database::postgres(stringify!($name)).await).await;
                }
            )+
        }
    };
}

both_engines! {
    the_former_owner_is_answered_first,
    the_new_owner_is_answered_first,
    the_new_owner_is_in_doubt_too,
    the_new_owner_gave_it_up,
    the_former_owner_did_not_succeed,
    one_owner_at_a_time_is_never_in_doubt,
    what_never_left_ends_with_its_claim,
    what_is_learnt_later_only_moves_a_mail_up,
    what_is_learnt_of_a_mail_that_waits_is_too_early,
    what_is_learnt_later_ends_a_doubt,
}
