//! What became of mails by the domain of their recipients, and which links people followed.

use std::collections::BTreeMap;

use mailwright_core::ids::CampaignId;
use mailwright_core::project::Project;
use mailwright_core::rollup::{Metric, Quarter};
use mailwright_store::body;
use mailwright_store::feedback::heat::{self, Clicks};
use mailwright_store::insight::campaigns;
use mailwright_store::insight::domains::{self, Domains};

use super::analytics::{Figures, Period};
use crate::App;
use crate::error::{Error, Result};
use crate::sending::content::links_from_json;

/// Most days of a period that is divided by domains: three years.
const MAX_DAYS: i64 = 1_100;
/// Most campaigns whose links are compared: the newest of the period.
pub const MAX_CAMPAIGNS: usize = 200;

/// What became of the mails to a domain.
#[derive(Debug, Clone)]
pub struct DomainFigures {
    /// The domain; `None` for all that are not listed, together.
    pub domain: Option<String>,
    /// What became of its mails.
    pub figures: Figures,
}

/// A link of campaigns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopLink {
    /// Where it leads, or what the template says in the place of a target with variables.
    pub url: String,
    /// How many campaigns have it.
    pub campaigns: i64,
    /// The clicks on it.
    pub clicks: Clicks,
}

impl App {
    /// What became of the mails of a period, which is widened to whole days (UTC), by the domain of the recipients: so
    /// many domains, those that got most mails, and all others together.
    pub async fn domain_figures(
        &self,
        project: &Project,
        period: Period,
        limit: usize,
    ) -> Result<Vec<DomainFigures>> {
        let number = project.number;
        let (first, end) = (Quarter::of(period.from).day(), Quarter::from(period.until));
        let last = Quarter(end.0 - 1).day();
        if last - first >= MAX_DAYS {
            return Err(Error::BadRequest(format!("The period has more than {MAX_DAYS} days.")));
        }
        let mut found: Domains =
            self.read(body!(async |rx| domains::read(rx, number, (first, last)).await)).await?;
        let mut others = found.remove("").unwrap_or_default();
        let mut named: Vec<_> = found.into_iter().collect();
        named.sort_by(|(one, of_one), (other, of_other)| {
            let mails = |figures: &Figures| std::cmp::Reverse(figures.get(Metric::Emails));
            (mails(of_one), one).cmp(&(mails(of_other), other))
        });
        for (_, figures) in named.drain(limit.min(named.len())..) {
            others.add_all(&figures);
        }
        let mut rows: Vec<_> = named
            .into_iter()
            .map(|(domain, figures)| DomainFigures { domain: Some(domain), figures })
            .collect();
        if others != Figures::default() {
            rows.push(DomainFigures { domain: None, figures: others });
        }
        Ok(rows)
    }

    /// The links of the campaigns that were sent in a period, at most the newest [`MAX_CAMPAIGNS`], those that people
    /// clicked most first.
    pub async fn top_links(&self, project: &Project, period: Period, limit: usize) -> Result<Vec<TopLink>> {
        let (number, span) = (project.number, (period.from, period.until));
        let (links, mut heat) = self
            .read(body!(async |rx| {
                let sent = campaigns::sent(rx, number, span).await?;
                let ids: Vec<CampaignId> =
                    sent.iter().take(MAX_CAMPAIGNS).map(|campaign| campaign.id).collect();
                let links = campaigns::links(rx, number, &ids).await?;
                Ok((links, heat::read_all(rx, number, &ids).await?))
            }))
            .await?;
        let mut found: BTreeMap<String, TopLink> = BTreeMap::new();
        for (campaign, stored) in links {
            let mut clicks = heat.remove(&campaign).unwrap_or_default();
            let mut of_campaign: BTreeMap<String, Clicks> = BTreeMap::new();
            for (place, link) in links_from_json(&stored).into_iter().enumerate() {
                let Some(url) = link.target.or(link.source) else { continue };
                let sum = of_campaign.entry(url).or_default();
                let Clicks { clicks, people, machines } = clicks.remove(&(place as i64)).unwrap_or_default();
                sum.clicks += clicks;
                sum.people += people;
                sum.machines += machines;
            }
            for (url, Clicks { clicks, people, machines }) in of_campaign {
                let new = TopLink { url: url.clone(), campaigns: 0, clicks: Clicks::default() };
                let link = found.entry(url).or_insert(new);
                link.campaigns += 1;
                link.clicks.clicks += clicks;
                link.clicks.people += people;
                link.clicks.machines += machines;
            }
        }
        let mut top: Vec<_> = found.into_values().collect();
        top.sort_by(|one, other| {
            let most = |link: &TopLink| std::cmp::Reverse((link.clicks.clicks, link.clicks.people));
            (most(one), &one.url).cmp(&(most(other), &other.url))
        });
        top.truncate(limit);
        Ok(top)
    }
}
