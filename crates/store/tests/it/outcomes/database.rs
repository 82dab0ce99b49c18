//! A database with mails of one project.

use std::ops::Deref;
use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_core::event::Activity;
use mailwright_core::ids::{ContactId, EmailId};
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::feedback::mail::{self, Mail, State};
use mailwright_store::insight::counter::{self, Counter};
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::sending::email::{self, Claimed, Email, Mark, Outcome};

use super::{NOW, PROJECT, reference};
use crate::database::TestDatabase;
use crate::mail::waiting_mail;

/// A database of the engine under test.
pub(super) struct Database(TestDatabase);

impl Deref for Database {
    type Target = TestDatabase;

    fn deref(&self) -> &TestDatabase {
        &self.0
    }
}

impl Database {
    pub(super) async fn sqlite() -> Self {
        Self(TestDatabase::sqlite(NOW).await)
    }

    pub(super) async fn postgres(test: &str) -> Self {
        Self(TestDatabase::postgres(&format!("outcomes_{test}"), NOW).await)
    }

    /// A mail that waits.
    pub(super) async fn enqueue(&self) -> EmailId {
        let mail = waiting_mail(PROJECT, ContactId::new(NOW, rand::random()), NOW);
        let id = mail.id;
        let enqueued = self.db.write(body!(async |tx| {
            let mut deltas = Deltas::default();
            email::enqueue(tx, &[mail], &mut deltas).await?;
            deltas.save(tx).await
        }));
        enqueued.await.unwrap();
        id
    }

    /// Claims what is due at `at`, milliseconds from the beginning, until a second later.
    pub(super) async fn claim(&self, at: i64) -> Claimed {
        let now = Timestamp(NOW.0 + at);
        let until = now.plus(Duration::from_secs(1));
        let claimed =
            self.db
                .write(body!(async |tx| email::claim(tx, PROJECT, Lane::Transactional, 1, now, until).await));
        claimed.await.unwrap().mails.pop().expect("a mail that is due")
    }

    /// Notes that the content is about to be written; whether it may be.
    pub(super) async fn mark(&self, mail: &Claimed, at: i64) -> bool {
        let mark = Mark {
            claim: reference(mail),
            first_attempt_at: Timestamp(NOW.0 + at),
            links: None,
            transport: "relay".into(),
        };
        let until = Timestamp(NOW.0 + at + 1000);
        let marked = self.db.write(body!(async |tx| email::mark_sending(tx, &[mark], until).await));
        !marked.await.unwrap().is_empty()
    }

    /// Stores an outcome; whether it changed where the mail stands.
    pub(super) async fn conclude(&self, outcome: &Outcome) -> bool {
        let outcome = outcome.clone();
        let concluded = self.db.write(body!(async |tx| {
            let mut deltas = Deltas::default();
            let outcomes = [outcome];
            let mut concluded = email::conclude(tx, &outcomes, &mut deltas, NOW).await?;
            email::conclude_late(tx, &outcomes, &mut concluded, &mut deltas, NOW).await?;
            deltas.save(tx).await?;
            Ok::<_, mailwright_store::Error>(concluded.changed.len())
        }));
        concluded.await.unwrap() == 1
    }

    pub(super) async fn get(&self, id: EmailId) -> Email {
        let found = self.db.read(body!(async |rx| email::get(rx, PROJECT, id).await));
        found.await.unwrap().unwrap()
    }

    /// Stores what was learnt of a mail later, and when in milliseconds from the beginning, if it can be: the mail as it
    /// stands then, or why not. `None` for a mail that is not there.
    pub(super) async fn learn(
        &self,
        id: EmailId,
        activity: Activity,
        at: i64,
    ) -> Option<Result<Mail, State>> {
        let at = Timestamp(NOW.0 + at);
        let stored = self.db.write(body!(async |tx| {
            let mut deltas = Deltas::default();
            let mut mails = mail::lock(tx, PROJECT, &[id]).await?;
            let Some(found) = mails.first_mut() else { return Ok(None) };
            let state = found.state();
            if state != State::Left {
                return Ok(Some(Err(state)));
            }
            found.now.learn(activity, at);
            mail::save(tx, PROJECT, &mails, at, &mut deltas).await?;
            deltas.save(tx).await?;
            Ok::<_, mailwright_store::Error>(mails.pop().map(Ok))
        }));
        stored.await.unwrap()
    }

    /// How many mails are counted under each status.
    pub(super) async fn counted(&self) -> Vec<(String, i64)> {
        let counts = self.db.read(body!(async |rx| counter::values(rx, PROJECT, Counter::Email).await));
        let mut counts: Vec<_> = counts.await.unwrap().into_iter().filter(|(_, count)| *count != 0).collect();
        counts.sort();
        counts
    }
}
