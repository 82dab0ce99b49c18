//! A look at a mail that is not sent yet. It is rendered and signed as it would be, for a contact or for nobody in
//! particular. Nothing of it is stored, so what stands in it leads nowhere: who follows its links is counted nowhere, and
//! its links to the reader's own pages open nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::campaign::Campaign;
use mailwright_core::contact::Contact;
use mailwright_core::custom_data::{Data, DataPatch};
use mailwright_core::email::{EmailSource, EmailStatus};
use mailwright_core::ids::{CampaignId, ContactId, EmailId, ProjectNumber, TemplateId};
use mailwright_core::mail_check::MailWarning;
use mailwright_core::project::Project;
use mailwright_core::template::TemplateType;
use mailwright_core::template_language::{MAX_SOURCE, Template};
use mailwright_core::time::Timestamp;
use mailwright_store::sending::content::Content;
use mailwright_store::sending::email::Claimed;
use serde_json::Value;

use super::Seen;
use super::expected::{Expected, Sender, SetUp};
use super::links::{CheckedLink, checked};
use super::looked::Looked;
use super::spam::Spam;
use super::warnings::Warning;
use crate::App;
use crate::audience::locale::check_locale;
use crate::delivery::signing::{DomainKey, Signing, open, stored_keys};
use crate::error::{Error, Result};
use crate::feedback::led_to_unstored;
use crate::sending::check::{Known, MAX_NAMES, is_blank};
use crate::sending::content::{FIXED, Prepared, compose};
use crate::sending::footer::Footers;
use crate::sending::preview::nobody;
use crate::sending::render::render;
use crate::sending::send::{Filled, Send};

/// A name that stands for all that is known of a reader, and so is never without a value.
const ALL_DATA: &str = "data";

/// What is looked at.
#[derive(Debug)]
pub enum Asked {
    /// A mail as a request would send it, whoever it goes to, and what kind of mail it is if not that of its template.
    Mail(Box<Send>, Option<TemplateType>),
    /// A saved template.
    Template(TemplateId),
    /// A campaign.
    Campaign(CampaignId),
}

/// What was found of a mail that is not sent yet.
#[derive(Debug)]
pub struct EmailCheck {
    /// What receivers will find of its authentication.
    pub authentication: Expected,
    /// Whether it says how to unsubscribe.
    pub has_unsubscribe: bool,
    /// Whether a program can unsubscribe its reader with one request (RFC 8058).
    pub is_one_click: bool,
    /// What its reader's program sees.
    pub seen: Seen,
    /// What SpamAssassin makes of it; nothing where the operator has none.
    pub spam: Option<Spam>,
    /// What is wrong with its variables.
    pub variables: Variables,
}

/// What is wrong with the variables of a mail.
#[derive(Debug)]
pub struct Variables {
    /// Names that no mail of the project knows by itself, and that came with no value.
    pub unknown: Vec<String>,
    /// Names that this reader has no value for, where a gap is seen.
    pub empty: Vec<String>,
}

/// A mail that is not sent yet.
struct Unsent {
    said: Filled,
    source: EmailSource,
    campaign: Option<CampaignId>,
}

/// A mail as it would be sent, and what was found in it.
struct Printed {
    raw: Vec<u8>,
    looked: Looked,
    links: Vec<CheckedLink>,
    errors: Vec<Warning>,
    variables: Variables,
}

impl App {
    /// What a look at a mail finds that is not sent yet. `contact` reads it; nobody in particular where there is none.
    /// `data` are values that its request would bring.
    pub async fn check_email(
        &self,
        project: &Project,
        asked: Asked,
        contact: Option<ContactId>,
        data: Data,
    ) -> Result<EmailCheck> {
        check_locale(&data)?;
        let number = project.number;
        let unsent = self.unsent(project, asked).await?;
        let reader = match contact {
            Some(id) => self.contact(project, id).await?,
            None => nobody(self)?,
        };
        let known = self.known_to_mails(project, None).await?;
        let (sender, key) = self.sender_of(number, unsent.said.from.domain()).await?;
        let settings = self.settings();
        // a project that has to wait learns so before its mail is rendered
        let question = match &settings.check.spamd {
            Some(address) => Some((address, self.0.delivery.spam_questions.begin(number)?)),
            None => None,
        };
        let is_bulk = unsent.said.kind.needs_subscription();
        let (app, of, request) = (self.clone(), project.clone(), DataPatch::new(data).request);
        let printed = self
            .apart(project, move || app.print(&of, unsent, &reader, &request, key.as_deref(), &known))
            .await??;
        let Printed { raw, looked, links, errors, variables } = printed;
        let spam = match &question {
            Some((address, turn)) => Some(turn.ask(address, &raw).await),
            None => None,
        };
        let mut seen = self.seen_of(&looked, links, is_bulk || looked.is_bulk);
        seen.warnings.extend(errors);
        seen.warnings.sort_by_key(|(warning, _)| *warning as usize);
        let set_up = SetUp { return_path: settings.return_path(), spf: settings.domains.spf.as_deref() };
        Ok(EmailCheck {
            authentication: sender.expected(set_up),
            has_unsubscribe: looked.has_unsubscribe,
            is_one_click: looked.is_one_click,
            seen,
            spam,
            variables,
        })
    }

    /// The mail that is looked at, with what its request leaves out.
    async fn unsent(&self, project: &Project, asked: Asked) -> Result<Unsent> {
        let (mut send, kind) = match asked {
            Asked::Campaign(id) => return Ok(of_campaign(self.campaign(project, id).await?.campaign)),
            Asked::Template(id) => (Send { template: Some(id), ..Send::default() }, None),
            Asked::Mail(send, kind) => (*send, kind),
        };
        self.check_headers(&send.headers)?;
        let template = match send.template {
            Some(id) => Some(self.template(project, id).await?),
            None => None,
        };
        let mut said = Filled::of(&mut send, template)?;
        said.kind = kind.unwrap_or(said.kind);
        Ok(Unsent { said, source: EmailSource::Transactional, campaign: None })
    }

    /// What is known of a sender's domain, and the key by which its mail is signed now.
    async fn sender_of(
        &self,
        project: ProjectNumber,
        domain: &str,
    ) -> Result<(Sender, Option<Arc<DomainKey>>)> {
        let mut sender = Sender {
            domain: domain.to_owned(),
            may_send: None,
            obstacle: None,
            selectors: Vec::new(),
            findings: Value::Null,
        };
        let Some((stored, second)) = stored_keys(self, project, domain).await? else {
            return Ok((sender, None));
        };
        sender.may_send = Some(stored.may_send);
        sender.findings = stored.last_check.clone();
        match open(&self.settings().domains, &self.0.secret, domain, stored, second)? {
            Signing::Key(key) => {
                sender.selectors = key.selectors().map(str::to_owned).collect();
                Ok((sender, Some(key)))
            }
            Signing::Withheld(obstacle) => {
                sender.obstacle = Some(obstacle);
                Ok((sender, None))
            }
            Signing::Removed => Ok((sender, None)),
        }
    }

    /// Renders and signs a mail, and looks at it.
    fn print(
        &self,
        project: &Project,
        unsent: Unsent,
        reader: &Contact,
        request: &Data,
        key: Option<&DomainKey>,
        known: &Known,
    ) -> Result<Printed> {
        let (number, now) = (project.number, self.0.clock.now());
        let said = &unsent.said;
        let (mut content, _) = compose(
            said.subject.clone(),
            said.body.clone(),
            said.text.clone(),
            &said.headers,
            &said.attachments,
            said.tracking,
        );
        let prepared = self.contents().prepare(number, &mut content, &said.attachments);
        let values = prepared.variables(reader, request);
        let variables = Variables::of(&prepared, &values, |name| {
            known.has(name) || request.contains_key(name) || reader.data.contains_key(name)
        });
        let mail = claimed(number, unsent, reader, (&content, values), now);
        let host = key.and_then(|key| key.tracking.as_deref());
        let tracked = self.tracked_address(project, &mail, &prepared, host);
        // a tag of nobody: who looks at a mail may not change what its reader gets
        let tag = self.link_tag(number, ContactId::new(now, rand::random()))?;
        let footers = Footers::new(project, false);
        let rendered = render(&self.settings().base_url, &footers, &mail, &prepared, &tag, tracked, None)
            // only mails of requests with very many recipients have a room that can be too small
            .map_err(|outgrown| Error::Internal(format!("a mail that is checked was {outgrown:?}")))?;
        let signature = match key {
            Some(key) => key.sign(mail.from.domain(), &rendered.raw, now),
            None => Ok(String::new()),
        };
        let signature = signature.map_err(|error| Error::Internal(error.to_string()))?;
        let raw = [signature.as_bytes(), &rendered.raw].concat();
        let looked = Looked::at(&raw, &rendered.subject);
        let links = self.seen_links(number, mail.id, &looked);
        let numbers: Vec<_> =
            links.iter().map(|link| self.tracked_number(number, mail.id, &link.target)).collect();
        let targets = led_to_unstored(&prepared, rendered.own_links.as_deref(), &numbers);
        Ok(Printed { raw, looked, links: checked(links, targets), errors: errors(&content), variables })
    }
}

/// What a campaign's mails say.
fn of_campaign(campaign: Campaign) -> Unsent {
    let (source, id) = (Campaign::source(campaign.kind), campaign.id);
    let said = Filled {
        subject: campaign.subject,
        body: campaign.body,
        text: None,
        headers: Vec::new(),
        attachments: Vec::new(),
        tracking: campaign.tracking,
        from: campaign.from,
        from_name: campaign.from_name,
        reply_to: campaign.reply_to,
        template: None,
        topic: campaign.topic,
        kind: campaign.kind,
    };
    Unsent { said, source, campaign: Some(id) }
}

/// A mail as a worker would have it that hands it over.
fn claimed(
    project: ProjectNumber,
    unsent: Unsent,
    reader: &Contact,
    (content, variables): (&Content, Data),
    now: Timestamp,
) -> Claimed {
    let Unsent { said, source, campaign } = unsent;
    let id = EmailId::new(now, rand::random());
    Claimed {
        project,
        id,
        claim: 0,
        contact: reader.id,
        recipient: reader.email.clone(),
        recipient_name: None,
        message_id: format!("{id}@{}", said.from.domain()),
        reply_to: said.reply_to.or_else(|| Some(said.from.clone())),
        from: said.from,
        from_name: said.from_name,
        content_hash: content.hash.to_vec(),
        variables,
        kind: said.kind,
        source,
        template: said.template,
        campaign,
        status: EmailStatus::Pending,
        attempts: 0,
        in_doubt: 0,
        log: Vec::new(),
        created_at: now,
        waited: Duration::ZERO,
        first_attempt_at: Some(now),
        topic: said.topic,
        transport: None,
    }
}

/// Errors in the templates' language, of parts that are short enough to be templates.
fn errors(content: &Content) -> Vec<Warning> {
    let parts = [
        ("subject", Some(&content.subject)),
        ("HTML", Some(&content.body)),
        ("plain text", content.text.as_ref()),
    ];
    let error = |(part, source): (&str, Option<&String>)| {
        let source = source.filter(|source| source.len() <= MAX_SOURCE)?;
        let error = Template::parse(source).err()?;
        Some((MailWarning::InvalidTemplate, format!("In the {part}, {error}")))
    };
    parts.into_iter().filter_map(error).collect()
}

impl Variables {
    /// What is wrong with those of a content, whose mail has these values.
    fn of(content: &Prepared, values: &Data, is_known: impl Fn(&str) -> bool) -> Self {
        let unknown: BTreeSet<&String> =
            content.names.iter().filter(|name| !is_known(name.as_str())).collect();
        let mut bare = content.subject.bare_variables();
        bare.extend(content.body.bare_variables());
        bare.extend(content.text.iter().flat_map(Template::bare_variables));
        bare.retain(|name| {
            let has_value = FIXED.contains(&name.as_str()) || name == ALL_DATA || !is_blank(values.get(name));
            !has_value && !unknown.contains(name)
        });
        Self {
            unknown: unknown.into_iter().take(MAX_NAMES).cloned().collect(),
            empty: bare.into_iter().take(MAX_NAMES).collect(),
        }
    }
}
