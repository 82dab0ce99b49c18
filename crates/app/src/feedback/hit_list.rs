//! The opens and clicks of a mail, as its project sees them.

use std::sync::Arc;

use mailwright_core::hit::{HitClass, HitReason, Judgement, Tables};
use mailwright_core::ids::{EmailId, EventId};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::feedback::hit as store;
use mailwright_store::feedback::link;

use super::mail_links::{MailLinks, stored_links};
use crate::App;
use crate::error::{Error, Resource, Result};

/// An open or a click.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Identifier.
    pub id: EventId,
    /// Whether a link was followed.
    pub is_click: bool,
    /// Where the link led; `None` for an open, and for the link that nobody sees.
    pub url: Option<String>,
    /// When.
    pub at: Timestamp,
    /// Who it was; `None` until that is judged.
    pub class: Option<HitClass>,
    /// Why.
    pub reason: Option<HitReason>,
    /// The same as a sentence.
    pub why: Option<String>,
    /// What the client calls itself.
    pub agent: String,
    /// Address of the client; empty when it is not known.
    pub address: String,
}

/// A page of opens and clicks.
#[derive(Debug)]
pub struct HitPage {
    /// They, oldest first.
    pub hits: Vec<Hit>,
    /// The last of the page, where more follow.
    pub next: Option<EventId>,
    /// How many there are in all, on the first page; 0 on later ones.
    pub total: i64,
}

impl App {
    /// The opens and clicks of a mail, from one on.
    pub async fn hits(
        &self,
        project: &Project,
        id: EmailId,
        after: Option<EventId>,
        limit: usize,
    ) -> Result<HitPage> {
        let number = project.number;
        let found = self
            .read(body!(async |rx| {
                let Some(mail) = link::of_mail(rx, number, id).await? else { return Ok(None) };
                let content = stored_links(rx, number, &mail.content_hash).await?;
                let total = if after.is_none() { store::count(rx, number, id).await? } else { 0 };
                let hits = store::page(rx, number, id, after, limit as i64 + 1).await?;
                Ok(Some((MailLinks { content, own: mail.own }, hits, total)))
            }))
            .await?;
        let (links, mut hits, total) = found.ok_or_else(|| Error::not_found(Resource::Email, id))?;
        let has_more = hits.len() > limit;
        hits.truncate(limit);
        let next = hits.last().filter(|_| has_more).map(|hit| hit.id);
        let tables = self.0.feedback.machine_lists.tables();
        Ok(HitPage { hits: hits.into_iter().map(|hit| shown(hit, &links, &tables)).collect(), next, total })
    }
}

/// Whose machine a hit was, as far as that is known today.
fn owner(hit: &store::Hit, reason: HitReason, tables: &Tables) -> Option<Arc<str>> {
    let of_agent = || tables.agent(&hit.agent).map(|known| Arc::clone(known.owner));
    let of_network = || tables.network(hit.address.parse().ok()?).map(|known| Arc::clone(known.owner));
    match reason {
        HitReason::Address => of_network(),
        _ => of_agent().or_else(of_network),
    }
}

fn shown(hit: store::Hit, links: &MailLinks, tables: &Tables) -> Hit {
    let class = hit.class.as_deref().and_then(HitClass::from_name);
    let reason = hit.reason.as_deref().and_then(HitReason::from_name);
    let why = class
        .zip(reason)
        .map(|(class, reason)| Judgement { class, reason, owner: owner(&hit, reason, tables) }.words());
    Hit {
        id: hit.id,
        is_click: hit.link.is_some(),
        url: hit.url.or_else(|| links.target(u32::try_from(hit.link?).ok()?)),
        at: hit.at,
        class,
        reason,
        why,
        agent: hit.agent,
        address: hit.address,
    }
}
