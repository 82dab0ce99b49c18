//! Whether mail to a contact would be sent now, and why not: what sending itself asks, asked for one contact.

use std::collections::BTreeSet;

use mailwright_core::campaign::{Recipient, excluded};
use mailwright_core::contact::Contact;
use mailwright_core::email::Reason;
use mailwright_core::ids::{ContactId, EmailId};
use mailwright_core::project::Project;
use mailwright_core::suppression::{Match, MatchSource};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use mailwright_core::topic::Topic;
use mailwright_store::audience::suppression::Look;
use mailwright_store::audience::suppression::address::{self, Entry};
use mailwright_store::audience::{contact, topic};
use mailwright_store::body;
use mailwright_store::sending::email::{self, Trouble};

use crate::App;
use crate::error::{Error, Resource, Result};

/// Most mails that bounced or were called spam.
const MOST_TROUBLES: i64 = 5;

/// What keeps mail of some kinds from a contact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// Why, as a mail that is not sent says it.
    pub reason: Reason,
    /// The kinds of mail.
    pub kinds: Vec<TemplateType>,
    /// What holds them back, if the address is suppressed.
    pub by: Option<Match>,
    /// Since when, if the address is on the list of the project.
    pub since: Option<Timestamp>,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
    /// The mail that bounced or was complained about, for which the address is on the list.
    pub mail: Option<EmailId>,
    /// The topic that the contact is not in: only mails of this topic are kept from it.
    pub topic: Option<Topic>,
}

/// How a contact stands to mail.
#[derive(Debug)]
pub struct MailStanding {
    /// The contact.
    pub contact: Contact,
    /// The kinds of mail that would be sent to it, as far as they have no topic.
    pub receives: Vec<TemplateType>,
    /// What keeps mail from it.
    pub obstacles: Vec<Obstacle>,
    /// The newest of its mails that bounced or were called spam.
    pub troubles: Vec<Trouble>,
}

impl App {
    /// How a contact stands to mail now.
    pub async fn standing_of_contact(&self, project: &Project, id: ContactId) -> Result<MailStanding> {
        let (number, now) = (project.number, self.0.clock.now());
        let read = self.read_slow(
            number,
            body!(async |rx| {
                let Some(contact) = contact::get(rx, number, id).await? else { return Ok(None) };
                let look = Look::at(rx, number, &BTreeSet::from([&contact.email]), now).await?;
                let entry = address::get(rx, number, &contact.email, now).await?;
                let (topics, choices) =
                    (topic::all(rx, number).await?, topic::choices(rx, number, id).await?);
                let troubles = email::troubles(rx, number, id, MOST_TROUBLES).await?;
                Ok(Some((contact, look, entry, topics, choices, troubles)))
            }),
        );
        let found = read.await?.ok_or_else(|| Error::not_found(Resource::Contact, id))?;
        let (contact, look, entry, topics, choices, troubles) = found;
        let mut obstacles: Vec<Obstacle> = Vec::new();
        let mut receives = Vec::new();
        for kind in TemplateType::ALL {
            let by = look.find(&contact.email, kind, false);
            let recipient =
                |suppressed| Recipient { subscribed: contact.subscribed, in_topic: true, suppressed };
            if excluded(kind, recipient(by.is_some())).is_none() {
                receives.push(kind);
            }
            // both are told, although the first is enough
            let listed = by.is_some().then(|| excluded(kind, recipient(true))).flatten();
            let other = excluded(kind, recipient(false));
            for (reason, by) in [(listed, by), (other, None)] {
                let Some(reason) = reason else { continue };
                let known = obstacles.iter_mut().find(|known| (known.reason, &known.by) == (reason, &by));
                match known {
                    Some(known) => known.kinds.push(kind),
                    None => obstacles.push(obstacle(reason, kind, by, entry.as_ref())),
                }
            }
        }
        let others = topics.into_iter().filter(|topic| !topic.has(choices.get(&topic.id).copied()));
        obstacles.extend(others.map(outside));
        Ok(MailStanding { contact, receives, obstacles, troubles })
    }
}

fn obstacle(reason: Reason, kind: TemplateType, by: Option<Match>, entry: Option<&Entry>) -> Obstacle {
    let is_listed = by.as_ref().is_some_and(|by| by.source == MatchSource::Project);
    let entry = entry.filter(|_| is_listed);
    Obstacle {
        reason,
        kinds: vec![kind],
        by,
        since: entry.map(|entry| entry.created_at),
        expires_at: entry.and_then(|entry| entry.expires_at),
        mail: entry.and_then(|entry| entry.mail),
        topic: None,
    }
}

/// That a contact is not in a topic.
fn outside(topic: Topic) -> Obstacle {
    let recipient = Recipient { subscribed: true, in_topic: false, suppressed: false };
    let kinds = TemplateType::ALL.into_iter().filter(|kind| excluded(*kind, recipient).is_some()).collect();
    Obstacle {
        reason: Reason::NotInTopic,
        kinds,
        by: None,
        since: None,
        expires_at: None,
        mail: None,
        topic: Some(topic),
    }
}
