//! The mail of a project that waits, by the domains that it goes to and by lanes.
//!
//! Mail goes to one next hop, which hands it on; but what its answers are about is mostly the domain of a recipient. So the
//! mails that are due first are looked at, a bounded number of them, and put together by domain. Nothing is counted by
//! domain, so where more mails wait the numbers are those of the part.

use std::collections::HashMap;

use mailwright_core::attempt::Attempt;
use mailwright_core::email::Lane;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::delivery::next_hop::{self, Known};
use mailwright_store::sending::campaign::{queue, under_way};
use mailwright_store::sending::email::{self, WaitingMail};
use mailwright_store::{body, project};

use super::site_pace::SitePace;
use crate::App;
use crate::error::Result;

/// Most mails of a lane that are looked at.
const LOOKED_AT: i64 = 2_000;
/// Most campaigns whose mails are looked at.
const CAMPAIGNS: usize = 20;
/// Most domains that are told.
pub const MOST_SITES: usize = 50;

/// The mails to a domain that wait.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// The domain of the recipients.
    pub domain: String,
    /// How many mails wait for it.
    pub waiting: usize,
    /// When the oldest of them was accepted.
    pub oldest: Timestamp,
    /// How many of them were put off after an attempt.
    pub deferred: usize,
    /// The last attempt with one of them.
    pub last: Option<Attempt>,
    /// When the next of them is tried.
    pub next: Timestamp,
    /// Why the one of them waits that was last put off or held back.
    pub why: Option<String>,
    /// How fast mail goes there, where it is brought to the recipients' own servers.
    pub pace: Option<SitePace>,
}

impl Site {
    /// Until when none of its mails is tried, because all of them were put off.
    pub fn backed_off_until(&self, now: Timestamp) -> Option<Timestamp> {
        (self.deferred == self.waiting && self.next > now).then_some(self.next)
    }
}

/// What waits in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneLoad {
    /// The lane.
    pub lane: Lane,
    /// How many mails are due, counted up to 100,000.
    pub due: i64,
    /// Since when the first of them is.
    pub oldest: Option<Timestamp>,
}

/// What of a project waits to be sent.
#[derive(Debug)]
pub struct Sites {
    /// The domains with most mails first.
    pub sites: Vec<Site>,
    /// Whether more mails, or more domains, wait than were looked at.
    pub is_cut: bool,
    /// Each lane.
    pub lanes: Vec<LaneLoad>,
    /// What is known of the next hop; `None` where nothing is, or where mail is captured.
    pub next_hop: Option<Known>,
    /// How many mails a second the project may send; `None` for any number.
    pub per_second: Option<i64>,
}

/// What is read of a project.
struct Found {
    mails: Vec<WaitingMail>,
    is_cut: bool,
    lanes: Vec<LaneLoad>,
    next_hop: Option<Known>,
    per_second: Option<i64>,
}

impl App {
    /// What of a project waits to be sent, by the domains that it goes to and by lanes.
    pub async fn delivery_sites(&self, project: &Project) -> Result<(Sites, Timestamp)> {
        let (number, now, hops) = (project.number, self.0.clock.now(), self.transports().next_hops());
        let found = self
            .read_slow(
                number,
                body!(async |rx| {
                    let (mut mails, mut is_cut, mut lanes) = (Vec::new(), false, Vec::new());
                    for lane in Lane::ALL {
                        let waiting = email::waiting(rx, number, lane, LOOKED_AT).await?;
                        is_cut |= waiting.len() as i64 >= LOOKED_AT;
                        mails.extend(waiting);
                        let (mut due, mut oldest) = email::backlog(rx, number, lane, now).await?;
                        if lane == Lane::Campaign {
                            let (more, since) = queue::backlog(rx, number, now).await?;
                            due += more;
                            oldest = [oldest, since].into_iter().flatten().min();
                        }
                        lanes.push(LaneLoad { lane, due, oldest });
                    }
                    let campaigns = under_way(rx, number).await?;
                    is_cut |= campaigns.len() > CAMPAIGNS;
                    for campaign in campaigns.into_iter().take(CAMPAIGNS) {
                        let most = LOOKED_AT / CAMPAIGNS as i64;
                        let waiting = email::waiting_of_campaign(rx, number, campaign, most).await?;
                        is_cut |= waiting.len() as i64 >= most;
                        mails.extend(waiting);
                    }
                    let next_hop = next_hop::worst(rx, &hops, now).await?;
                    let sending = project::sending(rx, number).await?;
                    let per_second = sending.and_then(|sending| sending.per_second);
                    Ok(Found { mails, is_cut, lanes, next_hop, per_second })
                }),
            )
            .await?;
        let (mut sites, has_more) = by_domain(found.mails);
        let asked: Vec<_> = sites.iter().map(|site| (site.domain.as_str(), site.last.as_ref())).collect();
        let paces = self.paces_of(&asked, now).await?;
        for (site, pace) in sites.iter_mut().zip(paces) {
            site.pace = pace;
        }
        let limit = found.per_second.unwrap_or(self.settings().delivery.per_second);
        let sites = Sites {
            sites,
            is_cut: found.is_cut || has_more,
            lanes: found.lanes,
            next_hop: found.next_hop,
            per_second: (limit > 0).then_some(limit),
        };
        Ok((sites, now))
    }
}

/// Puts mails together by the domains that they go to, those with most mails first; and whether some are left out.
fn by_domain(mails: Vec<WaitingMail>) -> (Vec<Site>, bool) {
    let mut sites: HashMap<String, Site> = HashMap::new();
    for mail in mails {
        let Some((_, domain)) = mail.recipient.rsplit_once('@') else { continue };
        let site = sites.entry(domain.to_ascii_lowercase()).or_insert_with(|| Site {
            domain: domain.to_ascii_lowercase(),
            waiting: 0,
            oldest: mail.created_at,
            deferred: 0,
            last: None,
            next: mail.due_at,
            why: None,
            pace: None,
        });
        site.waiting += 1;
        site.oldest = site.oldest.min(mail.created_at);
        site.next = site.next.min(mail.due_at);
        if mail.error.is_some() {
            site.deferred += 1;
        }
        let last = mail.last.as_ref().map(Attempt::read);
        // times are written so that the later one is the greater text
        let is_newer = match (&last, &site.last) {
            (Some(last), Some(known)) => last.at > known.at,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if is_newer {
            site.last = last;
        }
        if mail.error.is_some() && (is_newer || site.why.is_none()) {
            site.why = mail.error;
        }
    }
    let mut sites: Vec<_> = sites.into_values().collect();
    sites.sort_by(|a, b| b.waiting.cmp(&a.waiting).then_with(|| a.domain.cmp(&b.domain)));
    let has_more = sites.len() > MOST_SITES;
    sites.truncate(MOST_SITES);
    (sites, has_more)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn mail(recipient: &str, due_at: i64, error: Option<&str>, last: Option<Value>) -> WaitingMail {
        WaitingMail {
            recipient: recipient.to_owned(),
            due_at: Timestamp(due_at),
            attempts: i64::from(last.is_some()),
            error: error.map(str::to_owned),
            last,
            created_at: Timestamp(due_at / 2),
        }
    }

    #[test]
    fn mails_are_put_together_by_domain() {
        let log = |at: &str| Some(json!({"at": at, "outcome": "deferred", "code": 450, "reply": at}));
        let (sites, has_more) = by_domain(vec![
            mail("a@one.test", 100, None, None),
            mail("b@Two.test", 900, Some("second"), log("2025-01-02T00:00:00.000Z")),
            mail("c@two.test", 800, Some("first"), log("2025-01-01T00:00:00.000Z")),
            mail("", 1, None, None),
        ]);
        assert!(!has_more);
        let told: Vec<_> = sites.iter().map(|site| (&*site.domain, site.waiting, site.deferred)).collect();
        assert_eq!(told, [("two.test", 2, 2), ("one.test", 1, 0)]);
        let two = &sites[0];
        assert_eq!(
            (two.oldest, two.next, two.why.as_deref()),
            (Timestamp(400), Timestamp(800), Some("second"))
        );
        assert_eq!(
            two.last.as_ref().and_then(|last| last.reply.as_deref()),
            Some("2025-01-02T00:00:00.000Z")
        );
        assert_eq!(two.backed_off_until(Timestamp(700)), Some(Timestamp(800)));
        assert_eq!(
            (two.backed_off_until(Timestamp(800)), sites[1].backed_off_until(Timestamp(0))),
            (None, None)
        );
    }

    #[test]
    fn the_domains_with_most_mails_are_told() {
        let mails = (0..60).map(|n| mail(&format!("a@d{n}.test"), 1, None, None));
        let (sites, has_more) = by_domain(mails.chain([mail("b@d59.test", 1, None, None)]).collect());
        assert_eq!((sites.len(), has_more, &*sites[0].domain), (MOST_SITES, true, "d59.test"));
    }
}
