//! Saved templates.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ProjectNumber, TemplateId, TopicId};
use mailwright_core::issue::Issue;
use mailwright_core::patch::Patch;
use mailwright_core::project::Project;
use mailwright_core::template::{Template, TemplateType};
use mailwright_core::template_language;
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

/// Most workflows that one message names.
const MAX_NAMED: usize = 5;

/// Fields of a new template, or of a change to one.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    /// Internal name.
    pub name: Option<String>,
    /// Internal note.
    pub description: Patch<String>,
    /// Subject.
    pub subject: Option<String>,
    /// HTML.
    pub body: Option<String>,
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
    fn check_syntax(&self) -> Result<()> {
        check_syntax(self.subject.as_deref(), self.body.as_deref())
    }

    fn apply(self, template: &mut Template) {
        fn set<T>(target: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *target = value;
            }
        }
        set(&mut template.name, self.name);
        self.description.apply(&mut template.description);
        set(&mut template.subject, self.subject);
        set(&mut template.body, self.body);
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
    pub async fn get_template(&self, project: &Project, id: TemplateId) -> Result<Template> {
        self.template(project, id).await
    }

    /// Creates a template.
    pub async fn create_template(&self, project: &Project, fields: Fields) -> Result<Template> {
        fields.check_syntax()?;
        let now = self.0.clock.now();
        let mut template = blank(required_sender(fields.from.as_ref())?, now);
        fields.apply(&mut template);
        self.store_template(project.number, template, true).await
    }

    /// Changes a template.
    pub async fn update_template(
        &self,
        project: &Project,
        id: TemplateId,
        fields: Fields,
    ) -> Result<Template> {
        fields.check_syntax()?;
        let check_sender = fields.from.is_some();
        let (number, now, leaves) = (project.number, self.0.clock.now(), self.mail_leaves());
        self.write(body!(async |tx| {
            let found = store::get_for_update(tx, number, id).await?;
            let mut template = found.ok_or_else(|| Error::not_found(Resource::Template, id))?;
            fields.apply(&mut template);
            template.updated_at = now;
            if check_sender {
                check_may_send(tx, number, &template.from, leaves).await?;
            }
            keep_topic(tx, number, template.topic).await?;
            store::update(tx, number, &template).await?;
            Ok(template)
        }))
        .await
    }

    /// Copies a template.
    pub async fn duplicate_template(&self, project: &Project, id: TemplateId) -> Result<Template> {
        let original = self.template(project, id).await?;
        let now = self.0.clock.now();
        let copy = Template {
            id: TemplateId::new(now, rand::random()),
            name: format!("{} (Copy)", original.name),
            created_at: now,
            updated_at: now,
            ..original
        };
        self.store_template(project.number, copy, false).await
    }

    async fn store_template(
        &self,
        number: ProjectNumber,
        template: Template,
        check_sender: bool,
    ) -> Result<Template> {
        let leaves = self.mail_leaves();
        self.write(body!(async |tx| {
            if check_sender {
                check_may_send(tx, number, &template.from, leaves).await?;
            }
            keep_topic(tx, number, template.topic).await?;
            store::create(tx, number, &template).await?;
            Ok(template)
        }))
        .await
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

/// Refuses errors in the templates' language, named by field with line and column (reference 4.3).
pub(crate) fn check_syntax(subject: Option<&str>, body: Option<&str>) -> Result<()> {
    let fields = [("subject", subject), ("body", body)];
    let issue = |(name, source): (&str, Option<&str>)| {
        let error = template_language::Template::parse(source?).err()?;
        Some(Issue::new(name, "invalid_template", error.to_string()))
    };
    let issues: Vec<_> = fields.into_iter().filter_map(issue).collect();
    if issues.is_empty() { Ok(()) } else { Err(Error::Syntax(issues)) }
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
