//! Saved templates.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{EmailId, ProjectNumber, TemplateId, TopicId};
use mailwright_core::patch::Patch;
use mailwright_core::project::Project;
use mailwright_core::template::{Template, TemplateType};
use mailwright_core::time::Timestamp;
use mailwright_store::Door;
use mailwright_store::automation::reference::{self, Kind};
use mailwright_store::automation::workflow;
use mailwright_store::body;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::sending::template::{self as store, List};
use mailwright_store::sending::template_figures::{self, TemplateFigures};

use crate::App;
use crate::audience::topic::keep_topic;
use crate::error::{Error, Resource, Result};
use crate::sending::domain::{check_may_send, required_sender};
use crate::sending::source::{self, Change, Edited, Owner, Said, Save, Saver, Source, Texts};
use crate::sending::test_mail::Tested;

/// Most workflows that one message names.
const MAX_NAMED: usize = 5;

/// Fields of a new template, or of a change to one.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    /// Internal name.
    pub name: Option<String>,
    /// Internal note.
    pub description: Patch<String>,
    /// Subject, and HTML or what it is made from.
    pub texts: Texts,
    /// Sender address.
    pub from: Option<EmailAddress>,
    /// Sender name.
    pub from_name: Patch<String>,
    /// Reply address.
    pub reply_to: Patch<EmailAddress>,
    /// Kind of mail.
    pub kind: Option<TemplateType>,
    /// Whether its mails are tracked; null leaves it to the project.
    pub tracking: Patch<bool>,
    /// The topic that its mails belong to; null for none.
    pub topic: Patch<TopicId>,
}

impl Fields {
    fn apply(self, template: &mut Template) {
        fn set<T>(target: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *target = value;
            }
        }
        set(&mut template.name, self.name);
        self.description.apply(&mut template.description);
        set(&mut template.subject, self.texts.subject);
        set(&mut template.body, self.texts.body);
        set(&mut template.from, self.from);
        self.from_name.apply(&mut template.from_name);
        self.reply_to.apply(&mut template.reply_to);
        set(&mut template.kind, self.kind);
        self.tracking.apply(&mut template.tracking);
        self.topic.apply(&mut template.topic);
    }
}

impl App {
    /// A page of templates and how many there are in all.
    pub async fn templates(&self, project: &Project, list: List) -> Result<(Vec<Template>, i64)> {
        let number = project.number;
        let door = if list.search.is_some() { Door::Slow(number) } else { Door::Fast };
        self.read_by(door, body!(async |rx| store::list(rx, number, &list).await)).await
    }

    /// One template.
    pub async fn get_template(&self, project: &Project, id: TemplateId) -> Result<Edited<Template>> {
        let number = project.number;
        let found = self.read(body!(async |rx| {
            let Some(of) = store::get(rx, number, id).await? else { return Ok(None) };
            let current = source::current(rx, number, Owner::Template(id), of.updated_at).await?;
            Ok(Some(Edited { of, current }))
        }));
        found.await?.ok_or_else(|| Error::not_found(Resource::Template, id))
    }

    /// Creates a template.
    pub async fn create_template(
        &self,
        project: &Project,
        actor: &Actor,
        mut fields: Fields,
    ) -> Result<Edited<Template>> {
        fields.texts = self.complete(project, fields.texts).await?;
        let now = self.0.clock.now();
        let mut template = blank(required_sender(fields.from.as_ref())?, now);
        let made_from = match fields.texts.change() {
            Change::Stays => Source::default(),
            Change::Is(source) => source,
        };
        fields.apply(&mut template);
        self.store_template(project.number, actor, (template, made_from), true).await
    }

    /// Changes a template.
    pub async fn update_template(
        &self,
        project: &Project,
        actor: &Actor,
        id: TemplateId,
        mut fields: Fields,
    ) -> Result<Edited<Template>> {
        fields.texts = self.complete(project, fields.texts).await?;
        let change = fields.texts.change();
        self.change_template(project.number, actor, id, (fields, change)).await
    }

    /// Makes a former version of a template the current one. The current one becomes a former one.
    pub async fn restore_template(
        &self,
        project: &Project,
        actor: &Actor,
        id: TemplateId,
        version: i64,
    ) -> Result<Edited<Template>> {
        self.template(project, id).await?;
        let version = self.former(project.number, Owner::Template(id), version).await?;
        let change = Change::Is(version.source);
        let fields = Fields {
            texts: Texts { subject: Some(version.subject), body: Some(version.body), ..Texts::default() },
            from: Some(version.from),
            from_name: version.from_name.map_or(Patch::Null, Patch::Value),
            reply_to: version.reply_to.map_or(Patch::Null, Patch::Value),
            ..Fields::default()
        };
        self.change_template(project.number, actor, id, (fields, change)).await
    }

    async fn change_template(
        &self,
        number: ProjectNumber,
        actor: &Actor,
        id: TemplateId,
        change: (Fields, Change),
    ) -> Result<Edited<Template>> {
        let (leaves, saver) = (self.mail_leaves(), Saver { actor: actor.clone(), at: self.0.clock.now() });
        self.write(body!(async |tx| {
            let (fields, change) = change;
            let check_sender = fields.from.is_some();
            let found = store::get_for_update(tx, number, id).await?;
            let before = found.ok_or_else(|| Error::not_found(Resource::Template, id))?;
            let mut template = before.clone();
            fields.apply(&mut template);
            template.updated_at = saver.at;
            if check_sender {
                check_may_send(tx, number, &template.from, leaves).await?;
            }
            keep_topic(tx, number, template.topic).await?;
            let (said, says) = (said(&before), said(&template));
            let save = Save { before: said, after: says, changed_at: before.updated_at, change: &change };
            let current = source::replace(tx, number, Owner::Template(id), save, &saver).await?;
            store::update(tx, number, &template).await?;
            Ok(Edited { of: template, current })
        }))
        .await
    }

    /// Copies a template.
    pub async fn duplicate_template(
        &self,
        project: &Project,
        actor: &Actor,
        id: TemplateId,
    ) -> Result<Edited<Template>> {
        let Edited { of: original, current } = self.get_template(project, id).await?;
        let now = self.0.clock.now();
        let copy = Template {
            id: TemplateId::new(now, rand::random()),
            name: format!("{} (Copy)", original.name),
            created_at: now,
            updated_at: now,
            ..original
        };
        self.store_template(project.number, actor, (copy, current.source), false).await
    }

    async fn store_template(
        &self,
        number: ProjectNumber,
        actor: &Actor,
        new: (Template, Source),
        check_sender: bool,
    ) -> Result<Edited<Template>> {
        let leaves = self.mail_leaves();
        let saver = Saver { actor: actor.clone(), at: new.0.created_at };
        self.write(body!(async |tx| {
            let (template, made_from) = new;
            if check_sender {
                check_may_send(tx, number, &template.from, leaves).await?;
            }
            keep_topic(tx, number, template.topic).await?;
            store::create(tx, number, &template).await?;
            let owner = Owner::Template(template.id);
            let current = source::begin(tx, number, owner, made_from, &saver).await?;
            Ok(Edited { of: template, current })
        }))
        .await
    }

    /// Sends a template to one address, as a test. It is no part of the template's stats.
    pub async fn test_template(
        &self,
        project: &Project,
        id: TemplateId,
        to: EmailAddress,
    ) -> Result<EmailId> {
        let template = self.template(project, id).await?;
        let tested = Tested {
            subject: template.subject,
            body: template.body,
            from: template.from,
            from_name: template.from_name,
            reply_to: template.reply_to,
            kind: template.kind,
            topic: template.topic,
            campaign: None,
        };
        self.send_test(project, tested, to).await
    }

    /// Removes a template that no workflow sends. Mails made from it keep their content.
    pub async fn delete_template(&self, project: &Project, actor: &Actor, id: TemplateId) -> Result<()> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        self.write(body!(async |tx| {
            if !store::delete(tx, number, id).await? {
                return Err(Error::not_found(Resource::Template, id));
            }
            let workflows = reference::that_need(tx, number, Kind::Template, &id.to_string()).await?;
            if !workflows.is_empty() {
                let names = workflow::some(tx, number, &workflows[..workflows.len().min(MAX_NAMED)]).await?;
                let names: Vec<String> = names.into_iter().map(|found| format!("{:?}", found.name)).collect();
                return Err(Error::Conflict(format!(
                    "Workflows send the template: {}. Give their steps another one first.",
                    names.join(", ")
                )));
            }
            let entry = Entry::new(Action::TemplateDeleted, id.to_string());
            Ok(audit::record(tx, number, &actor, &entry, now).await?)
        }))
        .await
    }

    /// The names of some templates.
    pub async fn template_names(
        &self,
        project: &Project,
        ids: BTreeSet<TemplateId>,
    ) -> Result<BTreeMap<TemplateId, String>> {
        let number = project.number;
        let found = self.read(body!(async |rx| store::names(rx, number, &ids).await)).await?;
        Ok(found.into_iter().collect())
    }

    /// A template of the project.
    pub(crate) async fn template(&self, project: &Project, id: TemplateId) -> Result<Template> {
        let number = project.number;
        let found = self.read(body!(async |rx| store::get(rx, number, id).await)).await?;
        found.ok_or_else(|| Error::not_found(Resource::Template, id))
    }

    /// How many mails were made from a template.
    pub async fn template_emails(&self, project: &Project, id: TemplateId) -> Result<i64> {
        self.template(project, id).await?;
        let number = project.number;
        self.read(body!(async |rx| store::emails_sent(rx, number, id).await)).await
    }

    /// How many mails were made from a template, and what became of them.
    pub async fn template_figures(
        &self,
        project: &Project,
        id: TemplateId,
    ) -> Result<(i64, TemplateFigures)> {
        self.template(project, id).await?;
        let number = project.number;
        let found = self.read(body!(async |rx| {
            Ok((store::emails_sent(rx, number, id).await?, template_figures::read(rx, number, id).await?))
        }));
        found.await
    }
}

fn said(template: &Template) -> Said<'_> {
    Said {
        subject: &template.subject,
        body: &template.body,
        from: &template.from,
        from_name: template.from_name.as_deref(),
        reply_to: template.reply_to.as_ref(),
    }
}

fn blank(from: EmailAddress, now: Timestamp) -> Template {
    Template {
        id: TemplateId::new(now, rand::random()),
        name: String::new(),
        description: None,
        subject: String::new(),
        body: String::new(),
        from,
        from_name: None,
        reply_to: None,
        kind: TemplateType::Marketing,
        tracking: None,
        topic: None,
        created_at: now,
        updated_at: now,
    }
}
