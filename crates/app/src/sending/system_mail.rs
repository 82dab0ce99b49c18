//! The instance's own mails: links that prove an address, and invitations.
//!
//! They are ordinary transactional mails of a project without members. The project has a fixed id and is made when the
//! first mail is due. The operator vouches for its domain.
//!
//! The secret of a link is not stored, not even in the waiting mail. It is derived from the link's id with the
//! instance's secret, when the link is made and again when the mail is rendered. A captured mail does contain it, so it
//! is stored encrypted (`seal_captured` in `delivery/mailbox.rs`).

use std::borrow::Cow;

use mailwright_core::address::{DomainName, EmailAddress};
use mailwright_core::audit::Actor;
use mailwright_core::custom_data::Data;
use mailwright_core::email::Lane;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::name::without_links;
use mailwright_core::names;
use mailwright_core::project::{self as core, Project};
use mailwright_mail::domain::Purpose;
use mailwright_store::body;
use mailwright_store::project::member;
use mailwright_store::sending::domain;
use mailwright_store::sending::email::Claimed;
use mailwright_store::{Tx, project};
use serde_json::json;
use uuid::Uuid;

use crate::App;
use crate::delivery::mailbox::Message;
use crate::error::{Error, Result};
use crate::project::key::Token;
use crate::project::member::MOST;
use crate::sending::send::{self, Operation};

/// Name of the project and of the sender.
const NAME: &str = "Mailwright";
/// Purpose under which tokens are derived.
const PURPOSE: &str = "link";
/// Captured mails that are looked through for those to an address.
const LOOKED_THROUGH: usize = 500;

names! {
    /// The page that a link leads to.
    pub(crate) enum Page {
        VerifyEmail = "verify-email",
        ResetPassword = "reset-password",
        Invitation = "invitation",
    }
}

/// A mail to be sent: a link, and the text around it.
#[derive(Debug, Clone)]
pub(crate) struct Notice {
    pub(crate) to: EmailAddress,
    pub(crate) page: Page,
    /// Identifies the link: its token is derived from it.
    pub(crate) id: Uuid,
    /// Values of other variables.
    pub(crate) values: Vec<(&'static str, String)>,
}

/// A mail that tells members something. Its texts may have the variables `project` and `instance`.
#[derive(Debug, Clone)]
pub(crate) struct Letter {
    pub(crate) subject: &'static str,
    pub(crate) text: String,
    /// What stands below, in smaller letters.
    pub(crate) after: &'static str,
}

/// From where the instance's own mails are sent.
#[derive(Debug, Clone)]
pub(crate) struct SystemSender {
    project: Project,
    from: EmailAddress,
}

impl SystemSender {
    /// The project of the instance's own mails.
    pub(crate) fn project(&self) -> &Project {
        &self.project
    }

    /// The address that they come from.
    pub(crate) fn from(&self) -> &EmailAddress {
        &self.from
    }
}

impl App {
    /// Whether the mails of a project in a lane are reports about TLS: of the instance's own mails, these alone are in the
    /// lane of automations, so that links that somebody waits for never wait behind them.
    pub(crate) fn are_tls_reports(&self, project: ProjectNumber, lane: Lane) -> bool {
        let system = self.0.sending.system_project.get();
        lane == Lane::Workflow && system.is_some_and(|system| system.number == project)
    }

    /// Whether the instance can send mails of its own.
    pub fn sends_own_mail(&self) -> bool {
        self.settings().system_mail.from.is_some()
    }

    /// The token of a link.
    pub(crate) fn link_token(&self, page: Page, id: Uuid) -> Result<Token> {
        let signed = format!("{} {id}", page.as_str());
        Ok(Token::from_bytes(&self.0.secret.sign(PURPOSE, signed.as_bytes())?))
    }

    /// From where own mails are sent; `None` when there is no sender.
    pub(crate) async fn system_sender(&self) -> Result<Option<SystemSender>> {
        let Some(from) = self.settings().system_mail.from.clone() else { return Ok(None) };
        let project = self
            .0
            .sending
            .system_project
            .get_or_try_init(|| self.create_system_project(&from))
            .await?
            .clone();
        Ok(Some(SystemSender { project, from }))
    }

    async fn create_system_project(&self, from: &EmailAddress) -> Result<Project> {
        let now = self.0.clock.now();
        let project = self.0.db.write(body!(async |tx| project::system(tx, NAME, now).await)).await?;
        let name = DomainName::parse(from.domain())
            .ok_or_else(|| Error::Internal("the sender of own mails has no domain".into()))?;
        self.vouched_domain(project.number, name.clone()).await?;
        self.tell_record(&project, &name).await?;
        Ok(project)
    }

    /// Tells the operator which DNS record makes signatures of own mails count.
    async fn tell_record(&self, project: &Project, name: &DomainName) -> Result<()> {
        let domains = self.domains(project).await?;
        let records =
            domains.iter().filter(|known| known.domain.name == *name).flat_map(|known| &known.records);
        for record in records.filter(|record| record.expected.purpose == Purpose::Dkim) {
            tracing::info!(
                kind = record.expected.kind.as_str(),
                name = record.expected.name,
                value = record.expected.value,
                "the instance's own mails are signed with the key of this DNS record"
            );
        }
        Ok(())
    }

    /// Makes a domain that the operator answers for, or notes that he answers for one that is there.
    pub(crate) async fn vouched_domain(&self, project: ProjectNumber, name: DomainName) -> Result<()> {
        if self.vouch_if_there(project, &name).await? {
            return Ok(());
        }
        match self.create_domain(project, &Actor::Operator, name.clone(), true).await {
            Ok(_) => Ok(()),
            // another process may have been first
            Err(error) => {
                if self.vouch_if_there(project, &name).await? {
                    Ok(())
                } else {
                    Err(error)
                }
            }
        }
    }

    async fn vouch_if_there(&self, project: ProjectNumber, name: &DomainName) -> Result<bool> {
        let (name, now) = (name.clone(), self.0.clock.now());
        let known = self.read(body!(async |rx| domain::by_name(rx, project, &name).await)).await?;
        let Some(known) = known else { return Ok(false) };
        if !known.vouched {
            let id = known.id;
            self.0.db.write(body!(async |tx| domain::vouch(tx, project, id, now).await)).await?;
        }
        Ok(true)
    }

    /// A mail, to be put into the outbox by [`enqueue`] in the transaction that makes its link.
    pub(crate) fn notice(&self, sender: &SystemSender, notice: &Notice) -> Operation {
        let (subject, body) = content(notice.page);
        let mut values = Data::new();
        values.insert("link".into(), json!({ "page": notice.page.as_str(), "id": notice.id }));
        values.insert("instance".into(), self.settings().base_url.as_str().into());
        for (name, value) in &notice.values {
            values.insert((*name).into(), value.as_str().into());
        }
        let (project, from) = (&sender.project, sender.from.clone());
        self.own_operation(project, from, notice.to.clone(), (subject, body), values)
    }

    /// A mail that tells a member why the project was disabled. It carries no link.
    pub(crate) fn suspension_notice(
        &self,
        sender: &SystemSender,
        to: EmailAddress,
        name: &str,
        reason: &str,
    ) -> Operation {
        let mut values = Data::new();
        for (variable, value) in [
            ("instance", self.settings().base_url.as_str()),
            ("project", &*without_links(name)),
            ("reason", reason),
        ] {
            values.insert(variable.into(), value.into());
        }
        self.own_operation(&sender.project, sender.from.clone(), to, suspension_content(), values)
    }

    /// A mail to a member of a project. It carries no link.
    pub(crate) fn letter(
        &self,
        sender: &SystemSender,
        to: EmailAddress,
        about: &Project,
        letter: &Letter,
    ) -> Operation {
        let mut values = Data::new();
        values.insert("instance".into(), self.settings().base_url.as_str().into());
        values.insert("project".into(), without_links(&about.name).as_ref().into());
        let html = self::letter(letter.subject, &letter.text, "", letter.after);
        self.own_operation(&sender.project, sender.from.clone(), to, (letter.subject, html), values)
    }

    /// Writes a mail to all members of a project.
    pub(crate) async fn write_to_members(
        &self,
        tx: &mut Tx<'_>,
        sender: &SystemSender,
        project: &Project,
        letter: &Letter,
    ) -> Result<()> {
        let members = member::list(tx, project.number, MOST).await?;
        let mails: Vec<_> =
            members.into_iter().map(|member| self.letter(sender, member.email, project, letter)).collect();
        enqueue(tx, &mails).await
    }

    /// Tells the workers that own mails are due.
    pub(crate) fn wake_system_mail(&self, sender: &SystemSender) {
        self.dispatcher().wake(Lane::Transactional, sender.project.number);
    }

    /// Writes the link of an own mail out, now that the mail is rendered.
    pub(crate) fn with_link<'m>(&self, project: &Project, mail: &'m Claimed) -> Result<Cow<'m, Claimed>> {
        if !project.is_system() {
            return Ok(Cow::Borrowed(mail));
        }
        let Some(link) = mail.variables.get("link") else { return Ok(Cow::Borrowed(mail)) };
        let (page, id) = (link["page"].as_str().and_then(Page::from_name), link["id"].as_str());
        let (Some(page), Some(id)) = (page, id.and_then(|id| id.parse().ok())) else {
            return Err(Error::Internal("a mail of the instance names no link".into()));
        };
        let token = self.link_token(page, id)?;
        let url = self.settings().base_url.link(&format!("/auth/{}?token={}", page.as_str(), token.reveal()));
        let mut mail = mail.clone();
        mail.variables.insert("link".into(), url.into());
        Ok(Cow::Owned(mail))
    }

    /// The instance's own mails that were captured, newest first: for the operator of an instance that sends none.
    pub async fn own_captured(&self, to: Option<&EmailAddress>, limit: usize) -> Result<Vec<Message>> {
        let found = self.read(body!(async |rx| project::by_id(rx, core::system()).await)).await?;
        let Some(project) = found else { return Ok(Vec::new()) };
        let listed = self.captured(&project, None, LOOKED_THROUGH).await?.mails;
        let wanted = listed.into_iter().filter(|mail| to.is_none_or(|to| mail.recipient == to.as_str()));
        let mut messages = Vec::new();
        for mail in wanted.take(limit) {
            match self.captured_message(&project, mail.id).await {
                Ok(message) => messages.push(message),
                // sealed with another secret; the others are shown all the same
                Err(error) => tracing::warn!(%error, email = %mail.id, "a captured mail cannot be shown"),
            }
        }
        Ok(messages)
    }
}

/// Puts own mails into the outbox.
pub(crate) async fn enqueue(tx: &mut Tx<'_>, mails: &[Operation]) -> Result<()> {
    if mails.is_empty() {
        return Ok(());
    }
    let outcomes = send::run(tx, mails).await?;
    // refused only when the domain that the operator vouches for was removed
    if outcomes.iter().all(std::result::Result::is_ok) { Ok(()) } else { Err(Error::NoOwnSender) }
}

/// Subject and HTML of a mail.
fn content(page: Page) -> (&'static str, String) {
    let (subject, heading, text, button, after) = match page {
        Page::VerifyEmail => (
            "Confirm your email address",
            "Confirm your email address",
            "Somebody, hopefully you, created an account at {{instance}} with this address.",
            "Confirm the address",
            "The link works once, for a short time. If it was not you, you can use it to take the account \
             over or to delete it.",
        ),
        Page::ResetPassword => (
            "Reset your password",
            "Reset your password",
            "Somebody, hopefully you, asked for another password for your account at {{instance}}.",
            "Choose a password",
            "The link works once, for a short time. If it was not you, ignore this email: your password stays as it is.",
        ),
        Page::Invitation => (
            // whoever has an account gives projects names: no subject is theirs to write
            "You are invited to a project",
            "You are invited to a project",
            "{{inviter}} invites you to work on the project \u{201c}{{project}}\u{201d} at {{instance}}.",
            "Accept the invitation",
            "The link works once, for 14 days. If you do not know what this is about, ignore this email.",
        ),
    };
    let button = format!(
        "<p><a href=\"{{{{link}}}}\" style=\"display:inline-block;padding:.6rem 1.2rem;border-radius:8px;\
         background:#1c1c1e;color:#fff;text-decoration:none\">{button}</a></p>"
    );
    (subject, letter(heading, text, &button, after))
}

/// Subject and HTML of the mail that tells a member why the project was disabled.
fn suspension_content() -> (&'static str, String) {
    let text = "The project {{project}} at {{instance}} was disabled. {{reason}} Until the operator enables \
                it again, nothing is sent and nothing can be changed; its data can still be read.";
    let after = "Before you ask the operator, check the recipients of the project for addresses that nobody \
                 entered, bought or old lists, and people who did not ask for the mail.";
    ("{{project}} was disabled", letter("{{project}} was disabled", text, "", after))
}

fn letter(heading: &str, text: &str, button: &str, after: &str) -> String {
    format!(
        "<!doctype html><html><body style=\"margin:0;background:#f6f6f7;font:16px/1.5 system-ui,sans-serif;color:#1c1c1e\">\
         <div style=\"max-width:28rem;margin:2rem auto;padding:2rem;background:#fff;border-radius:12px\">\
         <h1 style=\"font-size:1.3rem;margin:0 0 1rem\">{heading}</h1><p>{text}</p>{button}\
         <p style=\"font-size:13px;color:#6b6b6b\">{after}</p></div></body></html>"
    )
}

#[cfg(test)]
mod tests {
    use mailwright_core::template_language::Template;

    use super::*;

    #[test]
    fn the_mails_use_the_values_they_are_given() {
        for (page, names) in [
            (Page::VerifyEmail, &["instance", "link"][..]),
            (Page::ResetPassword, &["instance", "link"]),
            (Page::Invitation, &["instance", "inviter", "link", "project"]),
        ] {
            let (_, html) = content(page);
            let used: Vec<String> = Template::parse_lenient(&html).variables().into_iter().collect();
            assert_eq!(used, names);
            assert_eq!(Page::from_name(page.as_str()), Some(page));
        }
        let (_, html) = suspension_content();
        let used: Vec<String> = Template::parse_lenient(&html).variables().into_iter().collect();
        assert_eq!(used, ["instance", "project", "reason"]);
    }
}
