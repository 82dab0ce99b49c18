//! Topics: what people can subscribe to, and which contacts are in them.

use std::collections::BTreeMap;

use mailwright_core::audit::{Action, Actor};
use mailwright_core::consent::{ConsentChange, Evidence};
use mailwright_core::ids::{ContactId, ProjectNumber, TopicId};
use mailwright_core::patch::Patch;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_core::topic::{MAX_TOPICS, Topic, TopicVisibility};
use mailwright_store::audience::confirmation;
use mailwright_store::audience::consent::{self, NewConsent};
use mailwright_store::audience::contact;
use mailwright_store::audience::topic as store;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::{Tx, body};
use serde_json::json;

use crate::App;
use crate::audience::consent::by;
use crate::error::{Error, Resource, Result};

/// Most users of a topic that one message names, of each kind.
const MAX_NAMED: i64 = 3;
/// Rows of deleted topics that go in one transaction.
const FORGET: i64 = 500;

/// Fields of a new topic, or of a change to one.
#[derive(Debug, Clone, Default)]
pub struct TopicFields {
    /// Name, which recipients see.
    pub name: Option<String>,
    /// What it is about, which recipients see.
    pub description: Patch<String>,
    /// Who sees it.
    pub visibility: Option<TopicVisibility>,
    /// Whether contacts who have not chosen are in it.
    pub default_subscribed: Option<bool>,
    /// Whether contacts whom the project puts in have to confirm.
    pub double_opt_in: Option<bool>,
    /// Place in the list.
    pub position: Option<i64>,
}

impl TopicFields {
    fn apply(self, topic: &mut Topic) {
        topic.name = self.name.unwrap_or_else(|| std::mem::take(&mut topic.name));
        self.description.apply(&mut topic.description);
        topic.visibility = self.visibility.unwrap_or(topic.visibility);
        topic.default_subscribed = self.default_subscribed.unwrap_or(topic.default_subscribed);
        topic.double_opt_in = self.double_opt_in.unwrap_or(topic.double_opt_in);
        topic.position = self.position.unwrap_or(topic.position);
    }
}

/// A topic, and how a contact stands to it.
#[derive(Debug, Clone)]
pub struct TopicOfContact {
    /// The topic.
    pub topic: Topic,
    /// Whether the contact is in it.
    pub subscribed: bool,
    /// Whether the contact chose, or somebody for it; otherwise the default counts.
    pub chosen: bool,
    /// Whether the contact was asked to confirm and has not.
    pub pending: bool,
}

impl App {
    /// The topics of a project, in their order.
    pub async fn topics(&self, project: &Project) -> Result<Vec<Topic>> {
        let number = project.number;
        self.read(body!(async |rx| store::all(rx, number).await)).await
    }

    /// One topic.
    pub async fn topic(&self, project: &Project, id: TopicId) -> Result<Topic> {
        let found = self.known_topic(project.number, Some(id)).await?;
        found.ok_or_else(|| Error::not_found(Resource::Topic, id))
    }

    /// A topic, if one is named and not deleted.
    pub(crate) async fn known_topic(
        &self,
        number: ProjectNumber,
        id: Option<TopicId>,
    ) -> Result<Option<Topic>> {
        let Some(id) = id else { return Ok(None) };
        self.read(body!(async |rx| store::get(rx, number, id).await)).await
    }

    /// Creates a topic.
    pub async fn create_topic(&self, project: &Project, actor: &Actor, fields: TopicFields) -> Result<Topic> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        self.write(body!(async |tx| {
            let (count, last) = store::count_for_update(tx, number).await?;
            if count >= MAX_TOPICS {
                return Err(Error::Conflict(format!(
                    "A project has at most {MAX_TOPICS} topics. Delete one that is not needed any more."
                )));
            }
            let mut topic = blank(last + 1, now);
            fields.apply(&mut topic);
            store::create(tx, number, &topic).await?;
            let entry = Entry::new(Action::TopicCreated, topic.id.to_string()).with(told(&topic));
            audit::record(tx, number, &actor, &entry, now).await?;
            Ok(topic)
        }))
        .await
    }

    /// Changes a topic.
    pub async fn update_topic(
        &self,
        project: &Project,
        actor: &Actor,
        id: TopicId,
        fields: TopicFields,
    ) -> Result<Topic> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        self.write(body!(async |tx| {
            let found = store::get_for_update(tx, number, id).await?;
            let before = found.ok_or_else(|| Error::not_found(Resource::Topic, id))?;
            let mut topic = before.clone();
            fields.apply(&mut topic);
            if topic == before {
                return Ok(before);
            }
            topic.updated_at = now;
            store::update(tx, number, &topic).await?;
            let entry = Entry::new(Action::TopicUpdated, id.to_string()).with(told(&topic));
            audit::record(tx, number, &actor, &entry, now).await?;
            Ok(topic)
        }))
        .await
    }

    /// Deletes a topic that no template and no campaign that is not over belongs to.
    pub async fn delete_topic(&self, project: &Project, actor: &Actor, id: TopicId) -> Result<()> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        self.write(body!(async |tx| {
            let found = store::get_for_update(tx, number, id).await?;
            let topic = found.ok_or_else(|| Error::not_found(Resource::Topic, id))?;
            let users = store::users(tx, number, id, MAX_NAMED).await?;
            if !users.is_empty() {
                let names: Vec<_> = users.into_iter().map(|name| format!("{name:?}")).collect();
                return Err(Error::Conflict(format!(
                    "Templates or campaigns belong to the topic: {}. Take them out of it first.",
                    names.join(", ")
                )));
            }
            store::delete(tx, number, id, now).await?;
            let entry = Entry::new(Action::TopicDeleted, id.to_string()).with(told(&topic));
            Ok(audit::record(tx, number, &actor, &entry, now).await?)
        }))
        .await
    }

    /// Removes what is left of deleted topics.
    pub(crate) async fn forget_topics(&self, project: ProjectNumber) -> Result<()> {
        while self
            .write_in_background(body!(async |tx| Ok(store::forget(tx, project, FORGET).await?)))
            .await?
            > 0
        {}
        Ok(())
    }

    /// The topics of a project, and how a contact stands to each.
    pub async fn topics_of_contact(&self, project: &Project, id: ContactId) -> Result<Vec<TopicOfContact>> {
        let number = project.number;
        let found = self
            .read(body!(async |rx| {
                if contact::get(rx, number, id).await?.is_none() {
                    return Ok(None);
                }
                let topics = store::all(rx, number).await?;
                let choices = store::choices(rx, number, id).await?;
                Ok(Some((topics, choices, confirmation::of_contact(rx, number, id).await?)))
            }))
            .await?;
        let (topics, choices, open) = found.ok_or_else(|| Error::not_found(Resource::Contact, id))?;
        let standing = |topic: Topic| {
            let choice = choices.get(&topic.id).copied();
            let pending = open.iter().any(|open| open.topic == Some(topic.id));
            TopicOfContact { subscribed: topic.has(choice), chosen: choice.is_some(), pending, topic }
        };
        Ok(topics.into_iter().map(standing).collect())
    }

    /// Puts a contact into topics and takes it out of others.
    pub async fn set_topics_of_contact(
        &self,
        project: &Project,
        actor: &Actor,
        id: ContactId,
        wishes: BTreeMap<TopicId, bool>,
    ) -> Result<Vec<TopicOfContact>> {
        let (number, now, evidence) = (project.number, self.0.clock.now(), by(actor));
        self.write(body!(async |tx| {
            if !contact::hold(tx, number, id).await? {
                return Err(Error::not_found(Resource::Contact, id));
            }
            let topics = store::all(tx, number).await?;
            let mut wanted = Vec::with_capacity(wishes.len());
            for (topic, subscribed) in wishes {
                let found = topics.iter().find(|known| known.id == topic);
                wanted.push((found.ok_or_else(|| Error::not_found(Resource::Topic, topic))?, subscribed));
            }
            choose(tx, number, id, &wanted, evidence, now).await?;
            Ok(())
        }))
        .await?;
        self.topics_of_contact(project, id).await
    }
}

/// Puts a contact, which the transaction holds, into topics and takes it out of others, with the evidence. Who has to
/// confirm is asked, and is not in the topic until then. Returns whether anything changed.
pub(crate) async fn choose(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    wanted: &[(&Topic, bool)],
    evidence: Evidence,
    now: Timestamp,
) -> mailwright_store::Result<bool> {
    let before = store::choices(tx, project, contact).await?;
    let mut entries = Vec::new();
    for (topic, subscribed) in wanted {
        let choice = before.get(&topic.id).copied();
        let asks = evidence.asks(topic.double_opt_in);
        let is_in = topic.has(choice);
        let what = if *subscribed && !is_in && asks {
            let wanted = (project, contact, Some(topic.id), now);
            if confirmation::ask(tx, &[wanted]).await?.is_empty() {
                continue;
            }
            ConsentChange::Requested
        } else {
            confirmation::withdraw(tx, project, contact, Some(topic.id)).await?;
            if choice == Some(*subscribed) {
                continue;
            }
            store::choose(tx, project, contact, topic.id, *subscribed, now).await?;
            if is_in == *subscribed {
                continue; // what was the default is a choice now
            }
            evidence.of_choice(*subscribed)
        };
        let topic = Some((topic.id, topic.name.clone()));
        entries.push(NewConsent { project, contact, what, topic, evidence, at: now });
    }
    consent::record(tx, &entries).await?;
    Ok(!entries.is_empty())
}

/// Keeps the topic of a template or a campaign from being deleted before the transaction ends. Fails where there is no
/// such topic.
pub(crate) async fn keep_topic(tx: &Tx<'_>, project: ProjectNumber, id: Option<TopicId>) -> Result<()> {
    let Some(id) = id else { return Ok(()) };
    match store::keep(tx, project, id).await? {
        Some(_) => Ok(()),
        None => Err(Error::not_found(Resource::Topic, id)),
    }
}

fn blank(position: i64, now: Timestamp) -> Topic {
    Topic {
        id: TopicId::new(now, rand::random()),
        name: String::new(),
        description: None,
        visibility: TopicVisibility::Public,
        default_subscribed: true,
        double_opt_in: false,
        position,
        created_at: now,
        updated_at: now,
    }
}

/// What the audit log says of a topic.
fn told(topic: &Topic) -> serde_json::Value {
    json!({
        "name": topic.name,
        "visibility": topic.visibility.as_str(),
        "defaultSubscribed": topic.default_subscribed,
        "doubleOptIn": topic.double_opt_in,
    })
}
