//! What templates and campaigns are made from, and the versions that their saves replace.
//!
//! A request brings HTML, or MJML from which the HTML is made here. Whoever sets the HTML alone takes the MJML away,
//! since it would not say the same any more; the version before has it.

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::Actor;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::issue::Issue;
use mailwright_core::project::Project;
use mailwright_core::template_language;
use mailwright_core::time::Timestamp;
use mailwright_mail::mjml;
use mailwright_store::Tx;
use mailwright_store::json_text;
use mailwright_store::sending::source as store;
use mailwright_store::sending::version;
use serde_json::{Map, Value};

use super::upload::places::{Full, MOST, MOST_OF_PROJECT};
use crate::App;
use crate::error::{Error, Result};

pub use mailwright_mail::mjml::MAX_SOURCE as MAX_MJML;
pub use mailwright_store::sending::source::{Current, Owner, Source};
pub use mailwright_store::sending::version::{Listed, Version};

/// The longest document, as JSON text.
pub const MAX_DOCUMENT: usize = 1_000_000;
/// How deep lists and objects can stand inside each other in a document.
pub const MAX_DOCUMENT_DEPTH: usize = 64;

/// A template or a campaign with what it is made from.
#[derive(Debug, Clone)]
pub struct Edited<T> {
    /// The template or the campaign.
    pub of: T,
    /// What it is made from.
    pub current: Current,
}

/// The texts of a request, of which one may be made from another.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    /// Subject.
    pub subject: Option<String>,
    /// HTML. There is none in a request that has MJML.
    pub body: Option<String>,
    /// MJML.
    pub mjml: Option<String>,
    /// The document that an editor made the MJML of.
    pub document: Option<Map<String, Value>>,
}

/// What a request does to what a template or campaign is made from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    /// Nothing.
    Stays,
    /// The HTML is made from this, or from nothing.
    Is(Source),
}

impl Texts {
    /// What the request does to what the HTML is made from.
    pub(crate) fn change(&self) -> Change {
        match (&self.mjml, &self.body) {
            (Some(mjml), _) => {
                let document = self.document.as_ref().map(json_text);
                Change::Is(Source { mjml: Some(mjml.clone()), document })
            }
            (None, Some(_)) => Change::Is(Source::default()),
            (None, None) => Change::Stays,
        }
    }
}

/// What a mail says, as far as versions keep it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Said<'a> {
    pub(crate) subject: &'a str,
    pub(crate) body: &'a str,
    pub(crate) from: &'a EmailAddress,
    pub(crate) from_name: Option<&'a str>,
    pub(crate) reply_to: Option<&'a EmailAddress>,
}

/// A template or campaign before and after a save.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Save<'a> {
    pub(crate) before: Said<'a>,
    pub(crate) after: Said<'a>,
    /// When it was changed last.
    pub(crate) changed_at: Timestamp,
    pub(crate) change: &'a Change,
}

/// Who saves something, and when.
#[derive(Debug, Clone)]
pub(crate) struct Saver {
    pub(crate) actor: Actor,
    pub(crate) at: Timestamp,
}

impl App {
    /// Refuses errors in the templates' language, and makes the HTML of a request that brings MJML.
    pub(crate) async fn complete(&self, project: &Project, texts: Texts) -> Result<Texts> {
        let subject = ("subject", texts.subject.as_deref());
        let Some(mjml) = texts.mjml.clone() else {
            check_syntax([subject, ("body", texts.body.as_deref())])?;
            return Ok(texts);
        };
        check_syntax([subject, ("mjml", Some(&mjml))])?;
        let html = self.apart(project, move || html_of_mjml(&mjml)).await??;
        Ok(Texts { body: Some(html), ..texts })
    }

    /// Does work that takes a processor for a while, away from the threads that requests are answered on: as much at a
    /// time as there are places, by turns of projects.
    pub(crate) async fn apart<T: Send + 'static>(
        &self,
        project: &Project,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let place = self.0.sending.editing.take(project.number).await.map_err(|full| match full {
            Full::Project => Error::QueueFull(format!(
                "{MOST_OF_PROJECT} requests of this project render mails or wait for it, which is the limit. Wait for \
                 their answers, and send fewer of them at the same time."
            )),
            Full::Process => Error::Busy(format!(
                "{MOST} requests render mails or wait for it, which is the limit of this service."
            )),
        })?;
        // the work goes on when the client goes away, and so does its place
        let working = tokio::task::spawn_blocking(move || {
            let _place = place;
            work()
        });
        working.await.map_err(|error| Error::Internal(format!("a mail was not rendered: {error}")))
    }
}

/// The HTML of MJML.
fn html_of_mjml(mjml: &str) -> Result<String> {
    let html = mjml::to_html(mjml).map_err(|fault| invalid_mjml(&fault))?;
    // what the source has in two places, such as a tag that begins in the head, may not be in the HTML
    if let Err(error) = template_language::Template::parse(&html) {
        let text = format!("In the HTML that is made of it, {error}");
        return Err(Error::Syntax(vec![Issue::new("mjml", "invalid_template", text)]));
    }
    Ok(html)
}

/// The refusal of MJML that cannot be rendered.
pub(crate) fn invalid_mjml(fault: &mjml::Fault) -> Error {
    Error::Invalid(vec![Issue::new("mjml", "invalid_mjml", fault.to_string())])
}

/// Refuses errors in the templates' language, named by field with line and column (reference 4.3).
pub(crate) fn check_syntax(fields: [(&str, Option<&str>); 2]) -> Result<()> {
    let issue = |(name, source): (&str, Option<&str>)| {
        let error = template_language::Template::parse(source?).err()?;
        Some(Issue::new(name, "invalid_template", error.to_string()))
    };
    let issues: Vec<_> = fields.into_iter().filter_map(issue).collect();
    if issues.is_empty() { Ok(()) } else { Err(Error::Syntax(issues)) }
}

/// Notes the first version of a new template or campaign.
pub(crate) async fn begin(
    tx: &Tx<'_>,
    project: ProjectNumber,
    owner: Owner,
    source: Source,
    saver: &Saver,
) -> Result<Current> {
    store::save(tx, project, owner, (&source, 1), (&saver.actor, saver.at)).await?;
    Ok(Current { source, number: 1, saved_at: saver.at, by: Some(saver.actor.clone()) })
}

/// The current version of a template or campaign that was changed last at this time.
pub(crate) async fn current(
    rx: &mailwright_store::Rx<'_>,
    project: ProjectNumber,
    owner: Owner,
    changed_at: Timestamp,
) -> mailwright_store::Result<Current> {
    let unknown = || Current { source: Source::default(), number: 1, saved_at: changed_at, by: None };
    Ok(store::current(rx, project, owner).await?.unwrap_or_else(unknown))
}

/// Keeps the version that a save replaces, if the save changes what versions keep. Nobody else changes the template or
/// campaign before the transaction ends.
pub(crate) async fn replace(
    tx: &Tx<'_>,
    project: ProjectNumber,
    owner: Owner,
    save: Save<'_>,
    saver: &Saver,
) -> Result<Current> {
    let Save { before, after, changed_at, change } = save;
    let current = current(tx, project, owner, changed_at).await?;
    let source = match change {
        Change::Stays => current.source.clone(),
        Change::Is(source) => source.clone(),
    };
    if before == after && source == current.source {
        return Ok(current);
    }
    let version = Version {
        number: current.number,
        subject: before.subject.to_owned(),
        body: before.body.to_owned(),
        source: current.source,
        from: before.from.clone(),
        from_name: before.from_name.map(str::to_owned),
        reply_to: before.reply_to.cloned(),
        saved_at: current.saved_at,
        by: current.by,
    };
    version::keep(tx, project, owner, &version).await?;
    let number = version.number + 1;
    store::save(tx, project, owner, (&source, number), (&saver.actor, saver.at)).await?;
    Ok(Current { source, number, saved_at: saver.at, by: Some(saver.actor.clone()) })
}
