//! The clicks on each link of a campaign, as counters: the name is `<campaign>:<link>:<what>`.

use std::collections::BTreeMap;

use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::names;

use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::insight::counter::{self, Counter};
use crate::insight::deltas::Deltas;
use crate::sending::campaign::ledger::key;

names! {
    /// What is counted of a link.
    pub enum Heat {
        /// Clicks of people.
        Clicks = "clicks",
        /// Mails in which a person followed it.
        People = "people",
        /// Clicks of machines.
        Machines = "machines",
    }
}

/// The clicks on a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Clicks {
    /// Of people.
    pub clicks: i64,
    /// Mails in which a person followed it.
    pub people: i64,
    /// Of machines.
    pub machines: i64,
}

/// Counts clicks on a link of a campaign.
pub fn count(
    deltas: &mut Deltas,
    project: ProjectNumber,
    campaign: CampaignId,
    link: i64,
    (heat, delta): (Heat, i64),
) {
    let name = format!("{}{link}:{}", key::beginning(campaign), heat.as_str());
    deltas.add(project, Counter::Link, &name, delta);
}

/// The clicks on the links of a campaign, by the numbers of the links.
pub async fn read(
    rx: &Rx<'_>,
    project: ProjectNumber,
    campaign: CampaignId,
) -> Result<BTreeMap<i64, Clicks>> {
    let beginning = key::beginning(campaign);
    let counters = counter::beginning(rx, project, Counter::Link, &beginning).await?;
    let links =
        counters.iter().filter_map(|(name, value)| parse(name).map(|(_, link, heat)| (link, heat, *value)));
    Ok(sum(links))
}

/// The clicks on the links of several campaigns, by campaign and the numbers of the links.
pub async fn read_all(
    rx: &Rx<'_>,
    project: ProjectNumber,
    campaigns: &[CampaignId],
) -> Result<BTreeMap<CampaignId, BTreeMap<i64, Clicks>>> {
    let beginnings: Vec<String> = campaigns.iter().map(|campaign| key::beginning(*campaign)).collect();
    let found = counter::beginning_with(rx, project, Counter::Link, &beginnings).await?;
    let mut of: BTreeMap<CampaignId, Vec<(i64, Heat, i64)>> = BTreeMap::new();
    for (name, value) in &found {
        let Some((campaign, link, heat)) = parse(name) else { continue };
        of.entry(campaign).or_default().push((link, heat, *value));
    }
    Ok(of.into_iter().map(|(campaign, counts)| (campaign, sum(counts))).collect())
}

fn parse(name: &str) -> Option<(CampaignId, i64, Heat)> {
    let mut parts = name.splitn(3, ':');
    let (campaign, link, heat) = (parts.next()?, parts.next()?, parts.next()?);
    Some((campaign.parse().ok()?, link.parse().ok()?, Heat::from_name(heat)?))
}

/// Adds up what is counted of links.
fn sum(counts: impl IntoIterator<Item = (i64, Heat, i64)>) -> BTreeMap<i64, Clicks> {
    let mut links: BTreeMap<i64, Clicks> = BTreeMap::new();
    for (link, heat, value) in counts {
        let clicks = links.entry(link).or_default();
        match heat {
            Heat::Clicks => clicks.clicks += value,
            Heat::People => clicks.people += value,
            Heat::Machines => clicks.machines += value,
        }
    }
    links
}
