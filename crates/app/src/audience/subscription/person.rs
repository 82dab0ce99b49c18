//! A contact as its own pages know it.

use std::net::IpAddr;

use mailwright_core::consent::{ConsentWay, Evidence};
use mailwright_core::contact::Contact;
use mailwright_core::ids::{ContactId, EmailId, ProjectNumber, TopicId};
use mailwright_core::locale::Locale;
use mailwright_core::project::Project;
use mailwright_core::topic::{Topic, TopicVisibility};
use mailwright_store::audience::{contact, topic};
use mailwright_store::sending::email;
use mailwright_store::{Rx, project};

/// The parameters of a link to a contact's own pages, besides the contact's id.
#[derive(Debug, Clone, Default)]
pub struct Pass {
    /// The mail that the link was in.
    pub mail: Option<EmailId>,
    /// The tag: hex of 16 bytes of an HMAC of the contact's id, then the masked number of the project.
    pub tag: Option<String>,
}

/// By what somebody does something about the own subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// A page of the service, in the contact's language.
    Page,
    /// A page of somebody else.
    OtherPage,
    /// A mail program, or its provider (RFC 8058).
    OneClick,
}

/// How somebody does something about the own subscription.
#[derive(Debug, Clone, Copy)]
pub struct Act {
    /// By what.
    pub door: Door,
    /// The address of the client.
    pub client: IpAddr,
}

/// What somebody opts out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The topic of the mail, if that has one; otherwise everything.
    Mail,
    /// Everything.
    Everything,
}

/// A topic that a contact may choose on its page.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The topic.
    pub topic: Topic,
    /// Whether the contact is in it.
    pub subscribed: bool,
}

/// A contact as the public pages know it.
#[derive(Debug, Clone)]
pub struct PublicContact {
    /// Identifier.
    pub id: ContactId,
    /// Address.
    pub email: String,
    /// State of the subscription.
    pub subscribed: bool,
    /// The language that the contact, or else the project, asks for. There may be no texts in it.
    pub language: String,
    /// The language of the pages.
    pub locale: Locale,
    /// The project that sends the mails.
    pub project: Project,
    /// The topic of the mail whose link was followed, if it has one.
    pub topic: Option<Choice>,
    /// The topics that recipients choose.
    pub choices: Vec<Choice>,
}

impl PublicContact {
    /// Whether the contact gets what the mail was about whose link was followed.
    pub fn is_in(&self) -> bool {
        self.subscribed && self.topic.as_ref().is_none_or(|topic| topic.subscribed)
    }

    pub(super) fn evidence(&self, act: Act, mail: Option<EmailId>) -> Evidence {
        let way = match act.door {
            Door::Page | Door::OtherPage => ConsentWay::Page,
            Door::OneClick => ConsentWay::OneClick,
        };
        Evidence {
            mail,
            language: (act.door == Door::Page).then_some(self.locale),
            client: self.project.consent_keeps_address.then_some(act.client),
            ..Evidence::by(way)
        }
    }

    /// The same after a topic was joined or left.
    pub(super) fn with_choice(mut self, id: TopicId, subscribed: bool) -> Self {
        let known = self.choices.iter_mut().chain(self.topic.as_mut());
        known.filter(|choice| choice.topic.id == id).for_each(|choice| choice.subscribed = subscribed);
        self
    }
}

/// What is read of a contact for its pages.
pub(super) type Known = (Contact, Project, Option<Choice>, Vec<Choice>);

pub(super) fn public((contact, project, topic, choices): Known) -> PublicContact {
    let locale = contact.data.get("locale").and_then(|v| v.as_str());
    PublicContact {
        id: contact.id,
        email: contact.email.to_string(),
        subscribed: contact.subscribed,
        locale: Locale::resolve(locale, &project.language),
        language: locale.map_or_else(|| project.language.clone(), str::to_owned),
        project,
        topic,
        choices,
    }
}

/// Reads what the pages show of a contact.
pub(super) async fn known(
    rx: &mut Rx<'_>,
    number: ProjectNumber,
    id: ContactId,
    mail: Option<EmailId>,
) -> mailwright_store::Result<Option<Known>> {
    let Some((contact, project)) = contact::get(rx, number, id).await?.zip(project::get(rx, number).await?)
    else {
        return Ok(None);
    };
    let topics = topic::all(rx, number).await?;
    if topics.is_empty() {
        return Ok(Some((contact, project, None, Vec::new())));
    }
    let chosen = topic::choices(rx, number, id).await?;
    let of_mail = match mail {
        Some(mail) => email::topic_of(rx, number, mail, id).await?,
        None => None,
    };
    let choices = topics.into_iter().map(|topic| {
        let subscribed = topic.has(chosen.get(&topic.id).copied());
        Choice { topic, subscribed }
    });
    let choices: Vec<Choice> = choices.collect();
    let topic = choices.iter().find(|choice| Some(choice.topic.id) == of_mail).cloned();
    let is_public = |choice: &Choice| choice.topic.visibility == TopicVisibility::Public;
    Ok(Some((contact, project, topic, choices.into_iter().filter(is_public).collect())))
}

/// The project of a contact: the one that the link names, or any, where the link does not.
pub(super) async fn find(
    rx: &mut Rx<'_>,
    named: Option<ProjectNumber>,
    id: ContactId,
) -> mailwright_store::Result<Option<ProjectNumber>> {
    if let Some(number) = named
        && contact::get(rx, number, id).await?.is_some()
    {
        return Ok(Some(number));
    }
    contact::project_of(rx, id).await
}

/// A mail, if it was sent to a contact.
pub(super) async fn sent_to(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    mail: Option<EmailId>,
) -> mailwright_store::Result<Option<EmailId>> {
    let Some(mail) = mail else { return Ok(None) };
    Ok(email::is_to(rx, project, mail, contact).await?.then_some(mail))
}
