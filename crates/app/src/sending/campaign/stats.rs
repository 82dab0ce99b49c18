//! The statistics of a campaign.

use mailwright_core::campaign::{CampaignStatus, Equation};
use mailwright_core::email::{Reason, RecipientState};
use mailwright_core::ids::CampaignId;
use mailwright_core::project::Project;
use mailwright_store::body;
use mailwright_store::sending::campaign::audience::Counted;
use mailwright_store::sending::campaign::ledger::{self, Page, Place};
use mailwright_store::sending::campaign::run;
use mailwright_store::sending::email::{Email, Illegible};

use super::{Overview, overview};
use crate::App;
use crate::error::{Error, Resource, Result};

/// A campaign's ledger, with a page of its mails if one was asked for.
#[derive(Debug)]
pub struct LedgerPage {
    /// The campaign with its totals.
    pub overview: Overview,
    /// The equation that it ended with, once it did.
    pub balance: Option<Equation>,
    /// The mails of the page, as far as they can be read.
    pub mails: Vec<Email>,
    /// Start of the next page; `None` on the last page.
    pub next: Option<Place>,
}

impl App {
    /// How many contacts would get a campaign now, and how many not; after its start, the numbers when its audience was
    /// frozen.
    pub async fn campaign_audience(&self, project: &Project, id: CampaignId) -> Result<Counted> {
        let Overview { campaign, ledger, .. } = self.campaign(project, id).await?;
        match campaign.status {
            CampaignStatus::Draft | CampaignStatus::Scheduled => {
                self.count_audience(project, &campaign).await
            }
            CampaignStatus::Sending | CampaignStatus::Sent | CampaignStatus::Cancelled => Ok(Counted {
                audience: ledger.audience,
                unsubscribed: ledger.count_for(RecipientState::Skipped, Reason::Unsubscribed),
                not_in_topic: ledger.count_for(RecipientState::Skipped, Reason::NotInTopic),
                suppressed: ledger.count_for(RecipientState::Skipped, Reason::Suppressed),
            }),
        }
    }

    /// The ledger of a campaign, with a page of its mails if one is asked for.
    pub async fn campaign_ledger(
        &self,
        project: &Project,
        id: CampaignId,
        page: Option<Page>,
    ) -> Result<LedgerPage> {
        let number = project.number;
        let read = self.read(body!(async |rx| {
            let Some(overview) = overview(rx, number, id).await? else { return Ok(None) };
            let balance = run::balance(rx, number, id).await?;
            let Some(page) = page else {
                return Ok(Some((overview, balance, Vec::new(), None)));
            };
            let limit = page.limit;
            // one more tells whether there is more
            let mut mails = ledger::page(rx, number, id, &Page { limit: limit + 1, ..page }).await?;
            let has_more = mails.len() > limit;
            mails.truncate(limit);
            let next = mails.last().filter(|_| has_more).map(place);
            Ok(Some((overview, balance, mails, next)))
        }));
        let found = read.await?.ok_or_else(|| Error::not_found(Resource::Campaign, id))?;
        let (overview, balance, mails, next) = found;
        Ok(LedgerPage { overview, balance, mails: self.legible(number, mails), next })
    }
}

/// Position of a mail in the list of a campaign's mails.
fn place(row: &std::result::Result<Email, Illegible>) -> Place {
    match row {
        Ok(mail) => Place { reason: mail.reason.map_or("", Reason::as_str).to_owned(), id: mail.id },
        Err(row) => Place { reason: row.reason.clone(), id: row.id },
    }
}
