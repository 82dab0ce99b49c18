//! The rules of a project that keep mail from addresses, and what holds back mail to an address.

use std::collections::BTreeSet;

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::SuppressionRuleId;
use mailwright_core::issue::Issue;
use mailwright_core::project::Project;
use mailwright_core::suppression::{MAX_RULES, Match, Rule, RuleKind, pattern};
use mailwright_core::template::TemplateType;
use mailwright_store::audience::suppression::{Look, rule as store};
use mailwright_store::body;
use mailwright_store::project::audit::{self, Entry};
use serde_json::json;

use crate::App;
use crate::error::{Error, Resource, Result};

/// A rule to create.
#[derive(Debug, Clone)]
pub struct RuleFields {
    /// Name.
    pub name: String,
    /// What the pattern is compared with.
    pub kind: RuleKind,
    /// The pattern.
    pub pattern: String,
    /// Whether it is applied.
    pub enabled: bool,
}

/// A change to a rule.
#[derive(Debug, Clone, Default)]
pub struct RuleChange {
    /// Another name.
    pub name: Option<String>,
    /// Another kind.
    pub kind: Option<RuleKind>,
    /// Another pattern.
    pub pattern: Option<String>,
    /// Whether it is applied.
    pub enabled: Option<bool>,
}

fn checked(kind: RuleKind, text: &str) -> Result<String> {
    pattern(kind, text).map_err(|why| Error::Invalid(vec![Issue::new("pattern", "invalid_string", why)]))
}

fn entry(action: Action, rule: &Rule) -> Entry {
    Entry::new(action, rule.id.to_string()).with(json!({
        "name": rule.name, "kind": rule.kind, "pattern": rule.pattern, "enabled": rule.enabled
    }))
}

impl App {
    /// The rules of a project, in the order in which they were created.
    pub async fn suppression_rules(&self, project: &Project) -> Result<Vec<Rule>> {
        let number = project.number;
        self.read(body!(async |rx| store::list(rx, number).await)).await
    }

    /// Creates a rule, which is applied from now on.
    pub async fn create_suppression_rule(
        &self,
        project: &Project,
        actor: &Actor,
        fields: RuleFields,
    ) -> Result<Rule> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        let rule = Rule {
            id: SuppressionRuleId::new(now, rand::random()),
            pattern: checked(fields.kind, &fields.pattern)?,
            name: fields.name,
            kind: fields.kind,
            enabled: fields.enabled,
            created_at: now,
            updated_at: now,
        };
        self.write(body!(async |tx| {
            if store::count(tx, number).await? >= MAX_RULES {
                return Err(Error::Conflict(format!(
                    "A project can have {MAX_RULES} suppression rules. Remove one first."
                )));
            }
            store::insert(tx, number, &rule).await?;
            audit::record(tx, number, &actor, &entry(Action::SuppressionRuleCreated, &rule), now).await?;
            Ok(rule)
        }))
        .await
    }

    /// Changes a rule. What the request leaves out stays.
    pub async fn update_suppression_rule(
        &self,
        project: &Project,
        actor: &Actor,
        id: SuppressionRuleId,
        change: RuleChange,
    ) -> Result<Rule> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        self.write(body!(async |tx| {
            let found = store::get_for_update(tx, number, id).await?;
            let before = found.ok_or_else(|| Error::not_found(Resource::SuppressionRule, id))?;
            let kind = change.kind.unwrap_or(before.kind);
            let rule = Rule {
                pattern: checked(kind, change.pattern.as_deref().unwrap_or(&before.pattern))?,
                name: change.name.unwrap_or(before.name),
                kind,
                enabled: change.enabled.unwrap_or(before.enabled),
                updated_at: now,
                ..before
            };
            store::update(tx, number, &rule).await?;
            audit::record(tx, number, &actor, &entry(Action::SuppressionRuleUpdated, &rule), now).await?;
            Ok(rule)
        }))
        .await
    }

    /// Removes a rule.
    pub async fn delete_suppression_rule(
        &self,
        project: &Project,
        actor: &Actor,
        id: SuppressionRuleId,
    ) -> Result<()> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        self.write(body!(async |tx| {
            let found = store::get_for_update(tx, number, id).await?;
            let rule = found.ok_or_else(|| Error::not_found(Resource::SuppressionRule, id))?;
            store::remove(tx, number, id).await?;
            Ok(audit::record(tx, number, &actor, &entry(Action::SuppressionRuleDeleted, &rule), now).await?)
        }))
        .await
    }

    /// What would hold back mail of a kind to an address now.
    pub async fn preview_suppression(
        &self,
        project: &Project,
        email: EmailAddress,
        kind: TemplateType,
    ) -> Result<Option<Match>> {
        let (number, now) = (project.number, self.0.clock.now());
        self.read(body!(async |rx| {
            let look = Look::at(rx, number, &BTreeSet::from([&email]), now).await?;
            Ok(look.find(&email, kind, false))
        }))
        .await
    }
}
