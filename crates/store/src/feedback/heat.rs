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
    let mut links: BTreeMap<i64, Clicks> = BTreeMap::new();
    for (name, value) in counter::beginning(rx, project, Counter::Link, &beginning).await? {
        let Some((link, heat)) = name.strip_prefix(&beginning).and_then(|rest| rest.split_once(':')) else {
            continue;
        };
        let (Ok(link), Some(heat)) = (link.parse(), Heat::from_name(heat)) else { continue };
        let clicks = links.entry(link).or_default();
        match heat {
            Heat::Clicks => clicks.clicks += value,
            Heat::People => clicks.people += value,
            Heat::Machines => clicks.machines += value,
        }
    }
    Ok(links)
}
