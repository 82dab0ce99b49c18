//! The heat map of a campaign as a page: its mail, with the share of the clicks beside each link.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mailwright_core::custom_data::Data;
use mailwright_core::ids::CampaignId;
use mailwright_core::project::Project;
use mailwright_store::body;
use mailwright_store::feedback::heat::{self, Clicks};
use mailwright_store::sending::campaign::run;

use crate::App;
use crate::error::{Error, Resource, Result};
use crate::sending::footer::Footers;
use crate::sending::preview::nobody;
use crate::sending::render::{Reader, numbered};

/// How strongly a link is coloured that everybody followed, and how much of that one has that nobody followed.
const HOTTEST: f64 = 0.5;
const COOLEST: f64 = 0.1;
/// What every counted link looks like. Mails have styles of their own, which must not win.
const EACH: &str = "a[href^=\"#link-\"]{position:relative!important;outline:1px solid #b42318!important;\
    outline-offset:2px!important}\
    a[href^=\"#link-\"]::after{content:\"0\"!important;position:absolute!important;z-index:9!important;\
    top:-14px!important;right:-10px!important;padding:0 6px!important;border-radius:8px!important;\
    background:#8a1a10!important;color:#fff!important;font:700 11px/16px sans-serif!important;\
    white-space:nowrap!important}";

impl App {
    /// The mail of a campaign as a page, as nobody in particular would see it, with what people followed in it.
    pub async fn campaign_heat_page(&self, project: &Project, id: CampaignId) -> Result<String> {
        let kind = self.campaign(project, id).await?.campaign.kind;
        let number = project.number;
        let (hash, heat) = self
            .read(body!(async |rx| Ok((
                run::content_hash(rx, number, id).await?,
                heat::read(rx, number, id).await?
            ))))
            .await?;
        let content = match hash {
            Some(hash) => self.contents().get(number, &hash).await?,
            None => None,
        };
        let content = content.ok_or_else(|| Error::not_found(Resource::Content, id))?;
        let (app, reader, footers) = (self.clone(), nobody(self)?, Footers::new(project, false));
        let page = move || {
            let variables = content.variables(&reader, &Data::new());
            let reader =
                Reader { contact: reader.id, address: reader.email.as_str(), variables: &variables, kind };
            let html = numbered(&footers, reader, &content)
                .map_err(|outgrown| Error::Internal(format!("a heat map was {outgrown:?}")))?;
            Ok(app.page_with(&style(&heat, content.links.all.len()), &html, &content.attachments))
        };
        self.apart(project, page).await?
    }
}

/// Colours for the first so many links, which are those of the mail, by how many people followed each.
fn style(heat: &BTreeMap<i64, Clicks>, links: usize) -> String {
    let people = |clicks: &Clicks| clicks.people.max(0);
    let most = heat.values().map(people).max().unwrap_or_default();
    let all: i64 = heat.values().map(people).sum();
    let mut style = format!("<style>{EACH}");
    for (number, clicks) in heat.range(..links as i64).filter(|(_, clicks)| people(clicks) > 0) {
        let count = people(clicks);
        let strength = COOLEST + (HOTTEST - COOLEST) * count as f64 / most as f64;
        let percent = (count as f64 * 100.0 / all as f64).round();
        // writing to a text cannot fail
        let _ = write!(
            style,
            "a[href=\"#link-{number}\"]{{background-color:rgb(180 35 24/{strength:.2})!important}}\
             a[href=\"#link-{number}\"]::after{{content:\"{count} · {percent}%\"!important}}"
        );
    }
    style.push_str("</style>");
    style
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_coloured_by_people() {
        let clicks = |people| Clicks { clicks: people, people, machines: 9 };
        let heat = BTreeMap::from([(0, clicks(30)), (1, clicks(0)), (2, clicks(10)), (998, clicks(0))]);
        let style = style(&heat, 3);
        assert!(
            style.contains("a[href=\"#link-0\"]{background-color:rgb(180 35 24/0.50)!important}"),
            "{style}"
        );
        assert!(style.contains("a[href=\"#link-2\"]::after{content:\"10 · 25%\"!important}"), "{style}");
        assert!(!style.contains("#link-1") && !style.contains("#link-998"), "{style}");
    }

    #[test]
    fn a_mail_that_nobody_followed_anything_in_has_a_style_as_well() {
        assert!(style(&BTreeMap::new(), 0).starts_with("<style>a[href^="));
    }
}
