//! The heat map of a campaign: each link of its mails, with its place and its clicks.

use std::collections::BTreeMap;

use mailwright_core::ids::CampaignId;
use mailwright_core::project::Project;
use mailwright_store::body;
use mailwright_store::feedback::heat::{self, Clicks};
use mailwright_store::sending::campaign::run;

use super::mail_links::stored_links;
use crate::App;
use crate::error::Result;
use crate::sending::content::Link;

/// A link of a campaign.
#[derive(Debug, Clone)]
pub struct LinkHeat {
    /// Its number: its place among the links of the mail, from 0.
    pub number: i64,
    /// What it is; `None` for links that came whole with values.
    pub link: Option<Link>,
    /// The clicks on it.
    pub clicks: Clicks,
}

impl App {
    /// The links of a campaign's mails, in their order, with the clicks on each. A campaign that was not sent has none.
    pub async fn campaign_links(&self, project: &Project, id: CampaignId) -> Result<Vec<LinkHeat>> {
        self.campaign(project, id).await?;
        let number = project.number;
        let (links, mut heat) = self
            .read(body!(async |rx| {
                let Some(hash) = run::content_hash(rx, number, id).await? else {
                    return Ok((None, BTreeMap::default()));
                };
                Ok((Some(stored_links(rx, number, &hash).await?), heat::read(rx, number, id).await?))
            }))
            .await?;
        let known = links.iter().flat_map(|links| links.iter().enumerate());
        let mut all: Vec<LinkHeat> = known
            .map(|(place, link)| {
                let number = place as i64;
                LinkHeat {
                    number,
                    link: Some(link.clone()),
                    clicks: heat.remove(&number).unwrap_or_default(),
                }
            })
            .collect();
        let rest = heat.into_iter().filter(|(_, clicks)| *clicks != Clicks::default());
        all.extend(rest.map(|(number, clicks)| LinkHeat { number, link: None, clicks }));
        Ok(all)
    }
}
