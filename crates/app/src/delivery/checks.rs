//! A look at a captured mail, as a receiver would take it: is it signed, where do its links lead, what is missing.
//!
//! Everything is found in the mail and in what the service knows. No link is followed, and no name is looked up.

use std::net::{Ipv4Addr, Ipv6Addr};

use mail_parser::{Message, MessageParser};
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::mail_check::{LinkProblem, MailWarning, Signed};
use mailwright_core::project::Project;
use mailwright_mail::authentication::{author, is_aligned};
use mailwright_mail::dkim::{KeyType, SigningKey};
use mailwright_mail::signature::Signature;
use mailwright_mail::text::{SeenLink, Survey};
use mailwright_store::body;
use mailwright_store::sending::domain::{self, StoredKey};
use url::{Host, Url};

use crate::App;
use crate::error::Result;
use crate::feedback::tracked::TRAP;
use crate::secret::DKIM;

/// Most characters of a picture's address that are told: one can hold the picture itself.
const MAX_SOURCE: usize = 200;

/// What was found of a mail.
#[derive(Debug)]
pub struct Checks {
    /// What programs ask of its sender.
    pub authentication: Authentication,
    /// Its links, in their order.
    pub links: Vec<CheckedLink>,
    /// How many pictures it shows.
    pub pictures: usize,
    /// The addresses of those that do not say what they show.
    pub undescribed: Vec<String>,
    /// Whether it has more links or pictures than are looked at.
    pub is_cut: bool,
    /// Bytes of the whole mail.
    pub size: usize,
    /// Bytes of its HTML.
    pub html_size: usize,
    /// What makes programs distrust it, in words.
    pub warnings: Vec<(MailWarning, String)>,
}

/// What programs ask of a mail's sender.
#[derive(Debug)]
pub struct Authentication {
    /// What the signature is worth.
    pub signed: Signed,
    /// The domain that signed, and which of its keys.
    pub signer: Option<(String, String)>,
    /// Whether the sender's domain may be sent from; nothing where the project does not have it.
    pub is_domain_verified: Option<bool>,
    /// Whether the domain that signed may speak for that of the sender.
    pub is_aligned: bool,
    /// Whether it says how to unsubscribe.
    pub has_unsubscribe: bool,
    /// Whether a program can unsubscribe its reader with one request (RFC 8058).
    pub is_one_click: bool,
}

/// A link.
#[derive(Debug)]
pub struct CheckedLink {
    /// Its text.
    pub text: String,
    /// Where it leads in the end.
    pub target: String,
    /// Whether it leads there by way of the service, which counts who follows it.
    pub is_tracked: bool,
    /// What is wrong with it.
    pub problem: Option<LinkProblem>,
}

/// What a mail says of itself.
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
struct Looked {
    survey: Survey,
    signed: Signed,
    signer: Option<(String, String)>,
    is_aligned: bool,
    has_unsubscribe: bool,
    is_one_click: bool,
    is_bulk: bool,
    has_subject: bool,
    size: usize,
    html_size: usize,
}

impl App {
    /// What a look at a captured mail finds.
    pub async fn captured_checks(&self, project: &Project, id: EmailId) -> Result<Checks> {
        let (captured, raw) = self.captured_source(project, id).await?;
        let number = project.number;
        let sender = author(&raw).and_then(|address| Some(address.rsplit_once('@')?.1.to_ascii_lowercase()));
        let stored = self.stored_key(number, sender.clone()).await?;
        let is_domain_verified = stored.as_ref().map(|stored| stored.may_send);
        let key = stored.and_then(|stored| self.opened(&stored).map(|key| (stored.selector, key)));
        let looked = self
            .apart(project, move || look(&raw, sender.as_deref(), key.as_ref(), &captured.subject))
            .await?;
        let Looked { survey, signed, signer, .. } = looked;
        let mut warnings = warnings(&survey, looked.is_bulk && !looked.has_unsubscribe, looked.has_subject);
        warnings.sort_by_key(|(warning, _)| *warning as usize);
        Ok(Checks {
            authentication: Authentication {
                signed,
                signer,
                is_domain_verified,
                is_aligned: looked.is_aligned,
                has_unsubscribe: looked.has_unsubscribe,
                is_one_click: looked.is_one_click,
            },
            links: self.checked_links(number, id, survey.links).await?,
            pictures: survey.pictures.iter().filter(|picture| !self.counts_opens(&picture.source)).count(),
            undescribed: survey
                .pictures
                .into_iter()
                .filter(|picture| !picture.is_described)
                .map(|picture| picture.source.chars().take(MAX_SOURCE).collect())
                .collect(),
            is_cut: survey.is_cut,
            size: looked.size,
            html_size: looked.html_size,
            warnings,
        })
    }

    async fn stored_key(&self, project: ProjectNumber, sender: Option<String>) -> Result<Option<StoredKey>> {
        let Some(sender) = sender else { return Ok(None) };
        let leaves = self.mail_leaves();
        self.read(body!(async |rx| domain::signing_key(rx, project, &sender, leaves).await)).await
    }

    /// The key of a domain, if this instance can read it.
    fn opened(&self, stored: &StoredKey) -> Option<SigningKey> {
        let der = self.0.secret.open(DKIM, &stored.private_key).ok()?;
        SigningKey::from_der(KeyType::parse(&stored.kind)?, &der).ok()
    }

    /// The links of a mail with what is wrong with them. That which no reader sees is left out.
    async fn checked_links(
        &self,
        project: ProjectNumber,
        mail: EmailId,
        mut links: Vec<SeenLink>,
    ) -> Result<Vec<CheckedLink>> {
        let number = |link: &SeenLink| self.tracked_number(project, mail, &link.target);
        links.retain(|link| number(link) != Some(TRAP));
        let numbers: Vec<_> = links.iter().map(number).collect();
        let targets = self.led_to(project, mail, &numbers).await?;
        let checked = links.into_iter().zip(targets).map(|(link, target)| {
            let is_tracked = target.is_some();
            let target = target.unwrap_or(link.target);
            CheckedLink { text: link.text, problem: problem(&target), target, is_tracked }
        });
        Ok(checked.collect())
    }
}

/// Looks through a mail. `key` is that of the domain of its sender, with its selector.
fn look(raw: &[u8], sender: Option<&str>, key: Option<&(String, SigningKey)>, subject: &str) -> Looked {
    let parsed = MessageParser::default().parse(raw);
    let html = parsed.as_ref().and_then(|message| message.body_html(0)).unwrap_or_default();
    let header = |name| parsed.as_ref().map(|message| text(message, name)).unwrap_or_default();
    let signature = Signature::of(raw);
    let signed =
        match (signature, key) {
            (None, _) => Signed::Missing,
            (Some(signature), Some((selector, key)))
                if signature.selector == selector && sender == Some(signature.domain) =>
            {
                if signature.is_of(key) { Signed::Valid } else { Signed::Invalid }
            }
            (Some(_), _) => Signed::KeyGone,
        };
    let one_click = header("List-Unsubscribe-Post").to_ascii_lowercase();
    Looked {
        survey: Survey::of(&html),
        signed,
        signer: signature.map(|found| (found.domain.to_owned(), found.selector.to_owned())),
        is_aligned: signature.zip(sender).is_some_and(|(found, sender)| is_aligned(found.domain, sender)),
        has_unsubscribe: header("List-Unsubscribe").contains('<'),
        is_one_click: one_click.contains("list-unsubscribe=one-click"),
        is_bulk: header("Precedence").eq_ignore_ascii_case("bulk"),
        has_subject: !subject.trim().is_empty(),
        size: raw.len(),
        html_size: html.len(),
    }
}

/// A header field as it stands in the mail, in one line.
fn text(message: &Message<'_>, name: &str) -> String {
    message.header_raw(name).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is wrong with the target of a link.
fn problem(target: &str) -> Option<LinkProblem> {
    let target = target.trim();
    if target.is_empty() || target == "#" {
        return Some(LinkProblem::Empty);
    }
    if target.starts_with('#') {
        // a place in the mail
        return None;
    }
    let Ok(url) = Url::parse(target) else { return Some(LinkProblem::NoHost) };
    match url.scheme() {
        "http" | "https" => {}
        "mailto" | "tel" | "sms" => return url.path().is_empty().then_some(LinkProblem::Empty),
        _ => return Some(LinkProblem::Blocked),
    }
    match url.host() {
        None => Some(LinkProblem::NoHost),
        Some(host) if is_near(&host) => Some(LinkProblem::Localhost),
        Some(_) => (url.scheme() == "http").then_some(LinkProblem::NotHttps),
    }
}

/// Whether a host is the reader's own machine, or in the reader's own network.
fn is_near(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        Host::Ipv4(address) => is_near_v4(*address),
        Host::Ipv6(address) => {
            *address == Ipv6Addr::LOCALHOST
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.to_ipv4_mapped().is_some_and(is_near_v4)
        }
    }
}

fn is_near_v4(address: Ipv4Addr) -> bool {
    address.is_loopback() || address.is_unspecified() || address.is_private() || address.is_link_local()
}

/// What makes programs distrust a mail.
fn warnings(survey: &Survey, lacks_unsubscribe: bool, has_subject: bool) -> Vec<(MailWarning, String)> {
    let mut found = Vec::new();
    let mut misleading = survey.links.iter().filter(|link| is_misleading(link));
    if let Some(first) = misleading.next() {
        let more = misleading.count();
        let others = if more > 0 { format!(" There are {more} more such links.") } else { String::new() };
        let text = format!(
            "A link reads as the address {:?}, and leads to another host. Mail programs may warn of the mail.{others}",
            first.text
        );
        found.push((MailWarning::MisleadingLink, text));
    }
    if !survey.active.is_empty() {
        let text = format!("Mail programs take these elements out: {}.", survey.active.join(", "));
        found.push((MailWarning::ActiveContent, text));
    }
    if lacks_unsubscribe {
        let text = "The mail says that it is bulk mail, and has no header List-Unsubscribe. Large mailbox providers \
                    ask for it."
            .to_owned();
        found.push((MailWarning::NoUnsubscribe, text));
    }
    if !has_subject {
        found.push((MailWarning::NoSubject, "The mail has no subject.".to_owned()));
    }
    found
}

/// Whether the text of a link is a web address of another host than the one it leads to.
fn is_misleading(link: &SeenLink) -> bool {
    let web = |text: &str| Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let (Some(said), Some(leads)) = (web(&link.text), web(&link.target)) else { return false };
    let bare = |url: &Url| url.host_str().map(|host| host.trim_start_matches("www.").to_owned());
    bare(&said) != bare(&leads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_of_a_link_is_judged() {
        for (target, expected) in [
            ("https://acme.test/a?b=c", None),
            ("mailto:a@acme.test", None),
            ("tel:+491234", None),
            ("#top", None),
            ("", Some(LinkProblem::Empty)),
            ("#", Some(LinkProblem::Empty)),
            ("mailto:", Some(LinkProblem::Empty)),
            ("http://acme.test", Some(LinkProblem::NotHttps)),
            ("https://", Some(LinkProblem::NoHost)),
            ("/about", Some(LinkProblem::NoHost)),
            ("//acme.test/a", Some(LinkProblem::NoHost)),
            ("www.acme.test", Some(LinkProblem::NoHost)),
            ("https://localhost:3000/a", Some(LinkProblem::Localhost)),
            ("https://app.localhost", Some(LinkProblem::Localhost)),
            ("http://127.0.0.1", Some(LinkProblem::Localhost)),
            ("http://192.168.1.7/", Some(LinkProblem::Localhost)),
            ("http://[::1]/", Some(LinkProblem::Localhost)),
            ("http://[fd00::1]/", Some(LinkProblem::Localhost)),
            ("https://localhost.acme.test", None),
            ("javascript:alert(1)", Some(LinkProblem::Blocked)),
            ("data:text/html,x", Some(LinkProblem::Blocked)),
        ] {
            assert_eq!(problem(target), expected, "{target}");
        }
    }

    #[test]
    fn facts_become_warnings() {
        let survey = Survey::of(
            "<a href='https://evil.test'>https://bank.test/login</a><a href='https://acme.test/a'>https://www.acme.test</a>\
             <a href='https://evil.test'>our bank</a><script>1</script><form>",
        );
        let found: Vec<_> = warnings(&survey, true, false).into_iter().map(|(warning, _)| warning).collect();
        assert_eq!(
            found,
            [
                MailWarning::MisleadingLink,
                MailWarning::ActiveContent,
                MailWarning::NoUnsubscribe,
                MailWarning::NoSubject
            ]
        );
        assert_eq!(warnings(&Survey::of("<a href='https://acme.test'>acme.test</a>"), false, true), []);
    }
}
