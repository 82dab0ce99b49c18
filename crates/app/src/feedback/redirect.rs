//! Where the tracked links of mails lead, and noting that somebody was there.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use mailwright_core::ids::{EmailId, EventId, ProjectNumber};
use mailwright_core::project::Utm;
use mailwright_store::feedback::hit::NewHit;
use mailwright_store::feedback::link::{self, Lead};
use mailwright_store::feedback::origin;
use mailwright_store::{Rx, body};
use url::Url;

use super::mail_links::{MailLinks, stored_links};
use super::tracked::TRAP;
use crate::App;
use crate::error::Result;
use crate::sending::content::Link;

/// Most bytes of what a client calls itself that are kept.
const MAX_AGENT: usize = 255;

/// A tracked link or picture of a mail that somebody asked for.
#[derive(Debug, Clone)]
pub struct Followed {
    project: ProjectNumber,
    mail: EmailId,
    /// The number of the link; `None` for the picture.
    link: Option<u32>,
    /// Where the link leads; `None` for the picture, and for the link that nobody sees.
    pub target: Option<String>,
}

/// Who asked for it.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// What the client calls itself.
    pub agent: String,
    /// Its address.
    pub address: Option<IpAddr>,
}

impl App {
    /// The picture of a mail; `None` when the token is not one of ours.
    pub fn followed_picture(&self, token: &str) -> Option<Followed> {
        let (project, mail) = self.0.feedback.token_key.read(token)?;
        Some(Followed { project, mail, link: None, target: None })
    }

    /// The link of a mail; `None` when the token is not one of ours, or the mail has no such link. It leads only to where
    /// a link in that mail led.
    pub async fn followed_link(&self, token: &str, number: &str) -> Result<Option<Followed>> {
        let Some((project, mail)) = self.0.feedback.token_key.read(token) else { return Ok(None) };
        let Some(number) = number.parse().ok().filter(|parsed: &u32| parsed.to_string() == number) else {
            return Ok(None);
        };
        if number == TRAP {
            return Ok(Some(Followed { project, mail, link: Some(number), target: None }));
        }
        let target = self.target(project, mail, number).await?;
        Ok(target.map(|target| Followed { project, mail, link: Some(number), target: Some(target) }))
    }

    /// Whether a name is that of a sender domain for tracked links.
    pub async fn is_tracking_host(&self, name: &str) -> Result<bool> {
        let name = name.to_ascii_lowercase();
        let label = format!("{}.", self.settings().domains.tracking_label);
        let Some(domain) = name.strip_prefix(&label).map(str::to_owned) else { return Ok(false) };
        self.read(body!(async |rx| origin::is_domain(rx, &domain).await)).await
    }

    /// The number of a mail's tracked link that has an address; nothing for any other address.
    pub(crate) fn tracked_number(&self, project: ProjectNumber, mail: EmailId, address: &str) -> Option<u32> {
        let (token, number) = address.rsplit_once("/t/")?.1.split_once('/')?;
        let named = self.0.feedback.token_key.read(token)?;
        if named == (project, mail) { number.parse().ok() } else { None }
    }

    /// Where links of a mail with these numbers lead, as they stood in it.
    pub(crate) async fn led_to(
        &self,
        project: ProjectNumber,
        mail: EmailId,
        numbers: &[Option<u32>],
    ) -> Result<Vec<Option<String>>> {
        let nowhere = || Ok(vec![None; numbers.len()]);
        if numbers.iter().all(Option::is_none) {
            return nowhere();
        }
        let Some(lead) = self.0.feedback.leads.call(0, (project, mail)).await? else { return nowhere() };
        let links =
            MailLinks { content: self.content_links(project, &lead.content_hash).await?, own: lead.own };
        Ok(numbers.iter().map(|number| links.target((*number)?)).collect())
    }

    async fn target(&self, project: ProjectNumber, mail: EmailId, number: u32) -> Result<Option<String>> {
        let Some(lead) = self.0.feedback.leads.call(0, (project, mail)).await? else { return Ok(None) };
        let content = self.content_links(project, &lead.content_hash).await?;
        let target = MailLinks { content, own: lead.own }.target(number);
        Ok(target.and_then(|target| {
            let mut url = Url::parse(&target).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
            if let Some(utm) = &lead.utm {
                add_utm(&mut url, utm);
            }
            Some(url.into())
        }))
    }

    /// The links of a content, from memory if it is known there.
    pub(super) async fn content_links(&self, project: ProjectNumber, hash: &[u8]) -> Result<Arc<Vec<Link>>> {
        let known = &self.0.feedback.links;
        let key = (project, hash.to_vec());
        if let Some(links) = known.get(&key) {
            return Ok(links);
        }
        let links = self.read(body!(async |rx| stored_links(rx, project, &key.1).await)).await?;
        known.insert((project, hash.to_vec()), Arc::clone(&links));
        Ok(links)
    }

    /// Notes that somebody was there. Returns once it is in the queue, which is written within a second.
    pub async fn note_hit(&self, followed: &Followed, visitor: &Visitor) {
        let at = self.0.clock.now();
        let agent = visitor.agent.as_str();
        let hit = NewHit {
            email: followed.mail,
            id: EventId::new(at, rand::random()),
            link: followed.link.map(i64::from),
            at,
            agent: agent[..agent.floor_char_boundary(MAX_AGENT)].replace('\0', ""),
            address: visitor.address.map(|address| address.to_string()).unwrap_or_default(),
            url: None,
        };
        if !self.0.feedback.recorder.note(followed.project, hit).await {
            self.metrics().hit_lost();
        }
    }
}

/// What is known of the links of mails, for all who follow one at this moment.
pub(super) async fn look_up(
    rx: &mut Rx<'_>,
    asked: &[(ProjectNumber, EmailId)],
) -> mailwright_store::Result<Vec<Option<Lead>>> {
    let mut mails = asked.to_vec();
    mails.sort_unstable();
    mails.dedup();
    let found = link::leads(rx, &mails).await?.into_iter();
    let found: BTreeMap<_, _> = found.map(|(project, mail, lead)| ((project, mail), lead)).collect();
    Ok(asked.iter().map(|mail| found.get(mail).cloned()).collect())
}

/// Adds UTM parameters to an address, but for those that it has.
fn add_utm(url: &mut Url, utm: &Utm) {
    let has: Vec<String> = url.query_pairs().map(|(name, _)| name.into_owned()).collect();
    let missing =
        utm.parameters().filter(|(name, value)| !value.is_empty() && !has.iter().any(|h| h == name));
    let missing: Vec<_> = missing.collect();
    if !missing.is_empty() {
        url.query_pairs_mut().extend_pairs(missing);
    }
}
