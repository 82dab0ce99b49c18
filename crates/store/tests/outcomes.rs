//! What is stored of a mail that several owners had, in every order in which their outcomes may come, on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

use std::time::Duration;

use mailwright_core::address::EmailAddress;
use mailwright_core::email::{EmailSource, EmailStatus, Lane, Reason};
use mailwright_core::ids::{ContactId, EmailId, ProjectNumber};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use mailwright_store::database::migrate;
use mailwright_store::insight::counter::{self, Counter, Deltas};
use mailwright_store::sending::email::{self, ClaimRef, Claimed, Email, Mark, NewEmail, Outcome};
use mailwright_store::{Db, Location, StoreMetrics};
use tokio::runtime::Runtime;

const NOW: Timestamp = Timestamp(1_741_608_000_000);
const PROJECT: ProjectNumber = ProjectNumber(1);

/// A database of the engine under test, dropped with this value.
struct Database {
    db: Db,
    _folder: tempfile::TempDir,
    /// The server and the database's name, on PostgreSQL.
    server: Option<(String, String)>,
}

impl Database {
    async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("outcomes.db"));
        Self::open(folder, &location, None).await
    }

    async fn postgres(test: &str) -> Self {
        let server = std::env::var("MAILWRIGHT_TEST_POSTGRES").ok().filter(|url| !url.is_empty());
        let server = server.expect(
            "this test needs PostgreSQL: set MAILWRIGHT_TEST_POSTGRES to a server on which databases may be created, \
             or run the tests through scripts/with-postgres",
        );
        let server = server.trim_end_matches('/').to_owned();
        let name = format!("mailwright_outcomes_{test}_{}", std::process::id());
        administer(&server, format!("drop database if exists {name} with (force)"));
        administer(&server, format!("create database {name}"));
        let location = Location::Postgres {
            url: format!("{server}/{name}"),
            connections: 4,
            lock_wait: std::time::Duration::from_millis(250),
        };
        Self::open(tempfile::tempdir().unwrap(), &location, Some((server, name))).await
    }

    async fn open(folder: tempfile::TempDir, location: &Location, server: Option<(String, String)>) -> Self {
        let db = Db::open(location, StoreMetrics::default()).unwrap();
        migrate::migrate(&db, NOW).await.unwrap();
        Self { db, _folder: folder, server }
    }

    /// A mail that waits.
    async fn enqueue(&self) -> EmailId {
        let id = EmailId::new(NOW, rand::random());
        let mail = NewEmail {
            project: PROJECT,
            id,
            contact: ContactId::new(NOW, rand::random()),
            recipient: EmailAddress::parse("ada@example.com").unwrap(),
            recipient_name: None,
            from: EmailAddress::parse("hello@acme.test").unwrap(),
            from_name: None,
            reply_to: None,
            subject: "Hi".into(),
            content_hash: [0; 32],
            variables: "{}".into(),
            source: EmailSource::Transactional,
            kind: TemplateType::Transactional,
            lane: Lane::Transactional,
            template: None,
            message_id: format!("{id}@acme.test"),
            at: NOW,
        };
        let enqueued = self.db.write(move |tx| {
            Box::pin(async move {
                let mut deltas = Deltas::default();
                email::enqueue(tx, &[mail], &mut deltas).await?;
                deltas.save(tx).await
            })
        });
        enqueued.await.unwrap();
        id
    }

    /// Claims what is due at `at`, milliseconds from the beginning, until a second later.
    async fn claim(&self, at: i64) -> Claimed {
        let now = Timestamp(NOW.0 + at);
        let until = now.plus(Duration::from_secs(1));
        let claimed = self.db.write(move |tx| {
            Box::pin(async move { email::claim(tx, PROJECT, Lane::Transactional, 1, now, until).await })
        });
        claimed.await.unwrap().mails.pop().expect("a mail that is due")
    }

    /// Notes that the content is about to be written; whether it may be.
    async fn mark(&self, mail: &Claimed, at: i64) -> bool {
        let mark = Mark { claim: reference(mail), first_attempt_at: Timestamp(NOW.0 + at) };
        let until = Timestamp(NOW.0 + at + 1000);
        let marked =
            self.db.write(move |tx| Box::pin(async move { email::mark_sending(tx, &[mark], until).await }));
        !marked.await.unwrap().is_empty()
    }

    /// Stores an outcome; whether it changed where the mail stands.
    async fn conclude(&self, outcome: &Outcome) -> bool {
        let outcome = outcome.clone();
        let concluded = self.db.write(move |tx| {
            Box::pin(async move {
                let mut deltas = Deltas::default();
                let outcomes = [outcome];
                let mut concluded = email::conclude(tx, &outcomes, &mut deltas, NOW).await?;
                email::conclude_late(tx, &outcomes, &mut concluded, &mut deltas, NOW).await?;
                deltas.save(tx).await?;
                Ok::<_, mailwright_store::Error>(concluded.changed.len())
            })
        });
        concluded.await.unwrap() == 1
    }

    async fn get(&self, id: EmailId) -> Email {
        let found = self.db.read(move |rx| Box::pin(async move { email::get(rx, PROJECT, id).await }));
        found.await.unwrap().unwrap()
    }

    /// How many mails are counted under each status.
    async fn counted(&self) -> Vec<(String, i64)> {
        let counts =
            self.db.read(|rx| Box::pin(async move { counter::values(rx, PROJECT, Counter::Email).await }));
        let mut counts: Vec<_> = counts.await.unwrap().into_iter().filter(|(_, count)| *count != 0).collect();
        counts.sort();
        counts
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some((server, name)) = &self.server {
            administer(server, format!("drop database if exists {name} with (force)"));
        }
    }
}

/// Runs a statement on the server, on a thread and a runtime of its own.
fn administer(server: &str, statement: String) {
    let url = format!("{server}/postgres");
    let run = std::thread::spawn(move || {
        Runtime::new().unwrap().block_on(async move {
            let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls)
                .await
                .unwrap_or_else(|error| panic!("MAILWRIGHT_TEST_POSTGRES is out of reach: {error}"));
            tokio::spawn(connection);
            client.batch_execute(&statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
        });
    });
    run.join().unwrap();
}

fn reference(mail: &Claimed) -> ClaimRef {
    ClaimRef { project: mail.project, id: mail.id, claim: mail.claim }
}

/// What the owner of a claim says: `SENT`, `PENDING` after a doubt, or `FAILED`.
fn outcome(mail: &Claimed, status: EmailStatus, label: &str) -> Outcome {
    Outcome {
        claim: reference(mail),
        campaign: None,
        from: mail.status,
        status,
        due_at: (status == EmailStatus::Pending).then_some(Timestamp(NOW.0 + 1)),
        waits: Duration::from_millis(1),
        is_doubt: label == "in_doubt",
        attempt: format!(r#"{{"outcome":"{label}","claim":{}}}"#, mail.claim),
        error: (status != EmailStatus::Sent).then(|| label.to_owned()),
        reason: (status == EmailStatus::Failed).then_some(Reason::Expired),
        subject: None,
        sent_at: (status == EmailStatus::Sent).then_some(NOW),
        bounced_at: None,
    }
}

fn sent(mail: &Claimed) -> Outcome {
    outcome(mail, EmailStatus::Sent, "sent")
}

fn doubted(mail: &Claimed) -> Outcome {
    outcome(mail, EmailStatus::Pending, "in_doubt")
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
    let entry =
        |e: &serde_json::Value| (e["attempt"].as_i64().unwrap(), e["outcome"].as_str().unwrap().to_owned());
    (mail.attempts, mail.in_doubt, mail.log.as_array().unwrap().iter().map(entry).collect())
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
    let held = Outcome { due_at: None, ..outcome(&second, EmailStatus::InDoubt, "in_doubt") };
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
    assert!(database.conclude(&outcome(&second, EmailStatus::Failed, "failed")).await);
    assert!(database.conclude(&sent(&first)).await);
    let known = database.get(first.id).await;
    assert_eq!((known.status, known.reason), (EmailStatus::Sent, None));
    assert_eq!(history(&known), (3, 1, log(&["in_doubt", "failed", "sent"])));
    assert_eq!(database.counted().await, [("SENT".to_owned(), 1)]);
}

async fn the_former_owner_did_not_succeed(database: &Database) {
    let [first, second] = two_owners(database).await;
    for late in [doubted(&first), outcome(&first, EmailStatus::Failed, "failed")] {
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
        let later = Outcome { is_doubt: false, ..outcome(&mail, EmailStatus::Pending, "deferred") };
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
}
