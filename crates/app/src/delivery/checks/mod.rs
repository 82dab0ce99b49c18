//! A look at a mail, as a receiver would take it: is it signed, where do its links lead, what is missing. Of mails that were
//! captured here; of those that are not sent yet in `unsent`.
//!
//! Everything is found in the mail and in what the service knows. No link is followed, and no name is looked up.

mod expected;
mod links;
mod looked;
mod spam;
mod unsent;
mod warnings;

use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::mail_check::{MailWarning, Signed};
use mailwright_core::project::Project;
use mailwright_mail::authentication::{author, is_aligned};
use mailwright_mail::dkim::{KeyType, SigningKey};
use mailwright_mail::signature::Signature;
use mailwright_mail::text::SeenLink;
use mailwright_store::body;
use mailwright_store::sending::domain::{self, StoredKey};

use crate::App;
use crate::error::Result;
use crate::feedback::tracked::TRAP;
use crate::secret::DKIM;

pub use expected::{Expected, Outcome};
pub use links::CheckedLink;
use looked::Looked;
pub use mailwright_mail::spamd::{SpamReport, SpamRule};
pub use spam::Spam;
pub(crate) use spam::SpamQuestions;
pub use unsent::{Asked, EmailCheck, Variables};
use warnings::Facts;

/// Most characters of a picture's address that are told: one can hold the picture itself.
const MAX_SOURCE: usize = 200;

/// What was found of a captured mail.
#[derive(Debug)]
pub struct Checks {
    /// What programs ask of its sender.
    pub authentication: Authentication,
    /// What its reader's program sees.
    pub seen: Seen,
}

/// What a reader's program sees of a mail.
#[derive(Debug)]
pub struct Seen {
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

/// What a captured mail's signature says.
struct FoundSignature {
    signed: Signed,
    signer: Option<(String, String)>,
    is_aligned: bool,
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
        let (signing, looked) = self
            .apart(project, move || {
                let signing = FoundSignature::of(&raw, sender.as_deref(), key.as_ref());
                (signing, Looked::at(&raw, &captured.subject))
            })
            .await?;
        let links = self.seen_links(number, id, &looked);
        let numbers: Vec<_> =
            links.iter().map(|link| self.tracked_number(number, id, &link.target)).collect();
        let links = links::checked(links, self.led_to(number, id, &numbers).await?);
        Ok(Checks {
            authentication: Authentication {
                signed: signing.signed,
                signer: signing.signer,
                is_domain_verified,
                is_aligned: signing.is_aligned,
                has_unsubscribe: looked.has_unsubscribe,
                is_one_click: looked.is_one_click,
            },
            seen: self.seen_of(&looked, links, looked.is_bulk),
        })
    }

    /// What a program sees of a mail whose links lead there. `is_bulk`: whether it is mail that nobody asked for one by
    /// one.
    fn seen_of(&self, looked: &Looked, links: Vec<CheckedLink>, is_bulk: bool) -> Seen {
        let survey = &looked.survey;
        let pictures = survey.pictures.iter().filter(|picture| !self.counts_opens(&picture.source)).count();
        let undescribed: Vec<String> = survey
            .pictures
            .iter()
            .filter(|picture| !picture.is_described)
            .map(|picture| picture.source.chars().take(MAX_SOURCE).collect())
            .collect();
        let facts = Facts { looked, links: &links, pictures, undescribed: undescribed.len(), is_bulk };
        let warnings = facts.warnings();
        Seen {
            links,
            pictures,
            undescribed,
            is_cut: survey.is_cut,
            size: looked.size,
            html_size: looked.html_size,
            warnings,
        }
    }

    /// The links of a mail that readers see.
    fn seen_links(&self, project: ProjectNumber, mail: EmailId, looked: &Looked) -> Vec<SeenLink> {
        let is_seen = |link: &&SeenLink| self.tracked_number(project, mail, &link.target) != Some(TRAP);
        looked.survey.links.iter().filter(is_seen).cloned().collect()
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
}

impl FoundSignature {
    /// Looks at the signature of a mail. `key` is that of the domain of its sender, with its selector.
    fn of(raw: &[u8], sender: Option<&str>, key: Option<&(String, SigningKey)>) -> Self {
        let signature = Signature::of(raw);
        let signed = match (signature, key) {
            (None, _) => Signed::Missing,
            (Some(signature), Some((selector, key)))
                if signature.selector == selector && sender == Some(signature.domain) =>
            {
                if signature.is_of(key) { Signed::Valid } else { Signed::Invalid }
            }
            (Some(_), _) => Signed::KeyGone,
        };
        Self {
            signed,
            signer: signature.map(|found| (found.domain.to_owned(), found.selector.to_owned())),
            is_aligned: signature.zip(sender).is_some_and(|(found, sender)| is_aligned(found.domain, sender)),
        }
    }
}
