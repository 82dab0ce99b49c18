//! What is learnt of a mail after it left: by a report that comes by mail, a notification of a provider, an opened
//! picture, a followed link.
//!
//! Whatever brings news ends in [`App::record_news`]. One transaction stores what was learnt and what follows from it
//! ([`bookkeeping`], as for the outcome of a hand-over); the judge of the project's reputation is told afterwards. Who
//! brings news sees to it that they are told once: nothing here recognises news that come again.

use mailwright_core::event::{Activity, event_of};
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::suppression::Cause;
use mailwright_store::body;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::sending::news::{self as store, Learnt, Received};
use mailwright_store::{Result as StoreResult, Tx};

use crate::App;
use crate::delivery::bookkeeping::{self, About, Entry};
use crate::error::Result;

/// News of a mail.
#[derive(Debug, Clone)]
pub struct News {
    /// The project that sent it.
    pub project: ProjectNumber,
    /// The mail.
    pub email: EmailId,
    /// What happened to it.
    pub happening: Happening,
    /// When.
    pub at: Timestamp,
}

/// What may happen to a mail after it left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// The recipient's host took it.
    Delivered,
    /// It was opened.
    Opened,
    /// A link in it was followed.
    Clicked {
        /// Where the link leads.
        link: String,
    },
    /// A later host refused it for good.
    Bounced,
    /// The recipient called it spam.
    Complained,
}

/// What became of news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// They are stored, with what follows from them.
    Stored,
    /// The hand-over of the mail has not ended yet. The news have to be told again later.
    TooEarly,
    /// The project has no such mail, or it never left.
    Unknown,
}

impl App {
    /// Records what was learnt of a mail after it left.
    pub async fn record_news(&self, news: News) -> Result<Recorded> {
        let (project, judged) = (news.project, news.happening.is_judged());
        let recorded = self.write(body!(async |tx| Ok(record(tx, &news).await?))).await?;
        if judged && recorded == Recorded::Stored {
            self.0.delivery.reputation_queue.note(project);
        }
        Ok(recorded)
    }
}

async fn record(tx: &mut Tx<'_>, news: &News) -> StoreResult<Recorded> {
    let mut deltas = Deltas::default();
    let activity = news.happening.activity();
    let learnt = match store::store(tx, news.project, news.email, activity, news.at, &mut deltas).await? {
        Received::Stored(learnt) => learnt,
        Received::TooEarly => return Ok(Recorded::TooEarly),
        Received::Unknown => return Ok(Recorded::Unknown),
    };
    // nothing is told of a contact that was removed
    let entry = learnt.recipient.as_ref().map(|recipient| Entry {
        project: news.project,
        email: learnt.id,
        contact: learnt.contact,
        recipient,
        event: Some((event_of(activity), news.event_data(&learnt))),
        suppress: news.happening.suppresses(),
        at: news.at,
    });
    bookkeeping::write(tx, entry.as_slice(), deltas).await?;
    Ok(Recorded::Stored)
}

impl Happening {
    fn activity(&self) -> Activity {
        match self {
            Self::Delivered => Activity::Delivered,
            Self::Opened => Activity::Opened,
            Self::Clicked { .. } => Activity::Clicked,
            Self::Bounced => Activity::Bounced,
            Self::Complained => Activity::Complained,
        }
    }

    /// Why the address gets nothing more, if it does not.
    fn suppresses(&self) -> Option<Cause> {
        match self {
            Self::Bounced => Some(Cause::Bounce),
            Self::Complained => Some(Cause::Complaint),
            Self::Delivered | Self::Opened | Self::Clicked { .. } => None,
        }
    }

    /// Whether the project's reputation depends on it.
    fn is_judged(&self) -> bool {
        self.suppresses().is_some()
    }
}

impl News {
    /// The data of the event (reference 4.1), as JSON text.
    fn event_data(&self, mail: &Learnt) -> String {
        let about = About {
            subject: &mail.subject,
            from: &mail.from,
            from_name: mail.from_name.as_deref(),
            message_id: &mail.message_id,
            email: mail.id,
            template: mail.template,
            campaign: mail.campaign,
            source: mail.source,
        };
        let mut data = about.data();
        let at = self.at.to_string();
        match &self.happening {
            Happening::Delivered => data["deliveredAt"] = at.into(),
            Happening::Opened => {
                data["openedAt"] = at.into();
                data["opens"] = mail.opens.into();
                data["isFirstOpen"] = mail.is_first.into();
            }
            Happening::Clicked { link } => {
                data["link"] = link.as_str().into();
                data["clickedAt"] = at.into();
                data["clicks"] = mail.clicks.into();
                data["isFirstClick"] = mail.is_first.into();
            }
            Happening::Bounced => {
                data["bounceType"] = "Permanent".into();
                data["bouncedAt"] = at.into();
            }
            Happening::Complained => data["complainedAt"] = at.into(),
        }
        data.to_string()
    }
}

#[cfg(test)]
mod tests {
    use mailwright_core::address::EmailAddress;
    use mailwright_core::attempt::Attempt;
    use mailwright_core::contact::Subscription;
    use mailwright_core::custom_data::DataPatch;
    use mailwright_core::email::{EmailSource, EmailStatus, Lane};
    use mailwright_core::template::TemplateType;
    use mailwright_store::audience::contact::{Contacts, Upsert};
    use mailwright_store::database::migrate;
    use mailwright_store::sending::email::{self, ClaimRef, NewEmail, Outcome};
    use mailwright_store::{Db, Error as StoreError, Location, StoreMetrics};
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp(1_741_608_000_000);
    const PROJECT: ProjectNumber = ProjectNumber(1);

    /// A contact of the project, and a mail to it that was sent.
    async fn sent(db: &Db) -> EmailId {
        let address = EmailAddress::parse("ada@example.com").unwrap();
        let id = EmailId::new(NOW, rand::random());
        let stored = db.write(body!(async |tx| {
            let mut deltas = Deltas::default();
            let none = DataPatch::default();
            let subscription =
                Subscription { given: Some(true), default_for_new: true, preserve_existing: false };
            let mut contacts = Contacts::load(tx, [(PROJECT, &address)].into_iter()).await?;
            let upsert = Upsert { project: PROJECT, email: &address, subscription, patch: &none };
            let contact = contacts.upsert(upsert, NOW).contact.id;
            contacts.save(tx, &mut deltas).await?;
            let mail = NewEmail {
                project: PROJECT,
                id,
                contact,
                recipient: address.clone(),
                recipient_name: None,
                from: EmailAddress::parse("hello@acme.test").unwrap(),
                from_name: Some("Acme".into()),
                reply_to: None,
                subject: "Hi".into(),
                content_hash: [0; 32],
                variables: "{}".into(),
                source: EmailSource::Transactional,
                kind: TemplateType::Transactional,
                lane: Lane::Transactional,
                template: None,
                step: None,
                message_id: "m@acme.test".into(),
                at: NOW,
            };
            email::enqueue(tx, &[mail], &mut deltas).await?;
            let taken = email::claim(tx, PROJECT, Lane::Transactional, 1, NOW, NOW).await?;
            let claimed = &taken.mails[0];
            let outcome = Outcome {
                claim: ClaimRef { project: PROJECT, id, claim: claimed.claim },
                campaign: None,
                from: claimed.status,
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
            email::conclude(tx, &[outcome], &mut deltas, NOW).await?;
            deltas.save(tx).await?;
            Ok::<_, StoreError>(())
        }));
        stored.await.unwrap();
        id
    }

    /// The events of the project, as text.
    async fn events(db: &Db) -> Vec<(String, String)> {
        let read = db.read(body!(async |rx| {
            rx.all(
                "select name, {json_out data} from events where project_id = $1 order by name",
                &[PROJECT.into()],
                |r| Ok((r.get(0)?, r.get::<serde_json::Value>(1)?.to_string())),
            )
            .await
        }));
        read.await.unwrap()
    }

    #[tokio::test]
    async fn a_complaint_is_told_and_ends_the_subscription_once() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("news.db"));
        let db = Db::open(&location, StoreMetrics::default()).unwrap();
        migrate::migrate(&db, NOW).await.unwrap();
        let id = sent(&db).await;
        for _ in 0..2 {
            let news = News { project: PROJECT, email: id, happening: Happening::Complained, at: NOW };
            let recorded = db.write(body!(async |tx| record(tx, &news).await)).await.unwrap();
            assert_eq!(recorded, Recorded::Stored);
        }
        let told = events(&db).await;
        let names: Vec<_> = told.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["contact.unsubscribed", "email.complaint", "email.complaint"]);
        assert_eq!(told[0].1, r#"{"reason":"complaint"}"#);
        let data: serde_json::Value = serde_json::from_str(&told[1].1).unwrap();
        assert_eq!((&data["subject"], &data["fromName"]), (&"Hi".into(), &"Acme".into()));
        assert_eq!(
            (&data["emailId"], &data["complainedAt"]),
            (&id.to_string().into(), &NOW.to_string().into())
        );
        let address = EmailAddress::parse("ada@example.com").unwrap();
        let contact = db.write(body!(async |tx| {
            let contacts = Contacts::load(tx, [(PROJECT, &address)].into_iter()).await?;
            Ok::<_, StoreError>(contacts.get(PROJECT, &address).map(|contact| contact.subscribed))
        }));
        assert_eq!(contact.await.unwrap(), Some(false));
        let suppressed = db.read(body!(async |rx| {
            let sql = "select reason from suppressions where project_id = $1";
            rx.all(sql, &[PROJECT.into()], |r| r.get::<String>(0)).await
        }));
        assert_eq!(suppressed.await.unwrap(), ["complaint"]);
    }
}
