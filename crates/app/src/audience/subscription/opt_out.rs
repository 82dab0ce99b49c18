//! Attributing an opt-out to the mail that it came from.

use mailwright_core::consent::Evidence;
use mailwright_core::event::EMAIL_UNSUBSCRIBE;
use mailwright_core::ids::{ContactId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_core::topic::Topic;
use mailwright_store::audience::event::NewEvent;
use mailwright_store::feedback::mail::{self, Mail};
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::sending::campaign::ledger;
use mailwright_store::{Result, Tx};

use crate::delivery::bookkeeping::About;

/// The mail by whose link somebody opts out, which the transaction holds; none where the link was of no mail.
pub(super) struct OptOut(Option<Mail>);

impl OptOut {
    pub(super) async fn open(tx: &mut Tx<'_>, project: ProjectNumber, of: Option<EmailId>) -> Result<Self> {
        let Some(id) = of else { return Ok(Self(None)) };
        Ok(Self(mail::lock(tx, project, &[id]).await?.into_iter().next()))
    }

    /// Counts the opt-out for the mail, and returns the event that tells of it, to be emitted before what follows.
    pub(super) async fn count(
        self,
        tx: &mut Tx<'_>,
        (project, contact): (ProjectNumber, ContactId),
        topic: Option<&Topic>,
        evidence: Evidence,
        deltas: &mut Deltas,
        now: Timestamp,
    ) -> Result<Vec<NewEvent>> {
        let Some(mail) = self.0 else { return Ok(Vec::new()) };
        ledger::count_unsubscribed(tx, project, mail.id, deltas, now).await?;
        let mut data = About::from(&mail).data();
        data["unsubscribedAt"] = now.to_string().into();
        data["way"] = evidence.way.as_str().into();
        data["topicId"] = topic.map(|topic| topic.id.to_string()).into();
        data["topic"] = topic.map(|topic| topic.name.as_str()).into();
        Ok(vec![NewEvent {
            email: Some(mail.id),
            data: Some(data.to_string()),
            ..NewEvent::bare(project, EMAIL_UNSUBSCRIBE, contact, now)
        }])
    }
}
