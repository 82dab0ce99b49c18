//! Figures of a project over time: from the sums of quarters of an hour (see `store::insight::rollup`), so a year of them
//! costs what a day costs.

use std::time::Duration;

use futures_util::future::try_join;
use mailwright_core::campaign::{CampaignStatus, Ledger, rate};
use mailwright_core::email::RecipientState;
use mailwright_core::event::is_reserved;
use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_core::rollup::Quarter;
use mailwright_core::time::Timestamp;
use mailwright_core::time_zone::Zone;
use mailwright_store::audience::event_counts;
use mailwright_store::insight::{campaigns, domains, rollup};
use mailwright_store::sending::campaign::ledger;
use mailwright_store::{Rx, body, project};

use crate::App;
use crate::error::{Error, Result};

pub use mailwright_store::insight::rollup::Figures;

/// Most days of one series: three years.
pub const MAX_DAYS: usize = 1_100;
/// What is shown of the past where nobody says how much.
const DEFAULT_PERIOD: Duration = Duration::from_hours(30 * 24);

/// A stretch of time: from one instant on and before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Its beginning.
    pub from: Timestamp,
    /// Its end.
    pub until: Timestamp,
}

/// A day of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Day {
    /// When it begins.
    pub begin: Timestamp,
    /// Its date in the project's time zone, such as `2026-11-25`.
    pub date: String,
    /// What happened in it.
    pub figures: Figures,
}

/// How a campaign did.
#[derive(Debug, Clone)]
pub struct TopCampaign {
    /// Identifier.
    pub id: CampaignId,
    /// Its name.
    pub name: String,
    /// Its subject.
    pub subject: String,
    /// Mails that were sent.
    pub sent: i64,
    /// Mails that people opened.
    pub opened: i64,
    /// Mails in which people followed a link.
    pub clicked: i64,
}

/// How the campaigns of a period did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CampaignFigures {
    /// Campaigns that were created in it.
    pub total: i64,
    /// Those that are not sent yet.
    pub active: i64,
    /// Those that are sent.
    pub completed: i64,
    /// Opens in percent of the mails of all campaigns that were sent in it.
    pub open_rate: f64,
    /// The same of clicks.
    pub click_rate: f64,
}

/// How often an event happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopEvent {
    /// Its name.
    pub name: String,
    /// How often it happened in the period.
    pub count: i64,
    /// By how many percent that is more, or less, than in the period of the same length before.
    pub trend: i64,
}

impl App {
    /// The period between two instants. Without an end it goes up to now, without a beginning it has thirty days.
    pub fn period(&self, from: Option<Timestamp>, until: Option<Timestamp>) -> Period {
        let until = until.unwrap_or_else(|| self.0.clock.now());
        Period { from: from.unwrap_or_else(|| until.minus(DEFAULT_PERIOD)), until }
    }

    /// What happened in a period, which is widened to whole quarters of an hour.
    pub async fn figures(&self, project: &Project, period: Period) -> Result<Figures> {
        let number = project.number;
        let span = (Quarter::of(period.from), Quarter::from(period.until));
        let read = self.read(body!(async |rx| {
            let mut sum = Figures::default();
            rollup::read(rx, number, span, |_, metric, value| sum.add(metric, value)).await?;
            Ok(sum)
        }));
        read.await
    }

    /// The time zone of a project.
    pub(super) async fn zone(&self, project: &Project) -> Result<Zone> {
        let number = project.number;
        let zone = self.read(body!(async |rx| project::automation::get(rx, number).await)).await?.timezone;
        Ok(zone.and_then(|name| Zone::parse(&name)).unwrap_or(Zone::UTC))
    }

    /// What happened on each day that a period touches, in the project's time zone.
    pub async fn timeseries(&self, project: &Project, period: Period) -> Result<Vec<Day>> {
        let number = project.number;
        let zone = self.zone(project).await?;
        let mut days = days(&zone, period)?;
        let Some(end) = days.pop().map(|end| end.begin) else { return Ok(days) };
        let Some(first) = days.first() else { return Ok(days) };
        let span = (Quarter::of(first.begin), Quarter::from(end));
        let read = self.read(body!(async |rx| {
            let mut days = days.clone();
            rollup::read(rx, number, span, |quarter, metric, value| {
                let next = days.partition_point(|day| day.begin <= quarter.begin());
                if let Some(day) = next.checked_sub(1).and_then(|place| days.get_mut(place)) {
                    day.figures.add(metric, value);
                }
            })
            .await?;
            Ok(days)
        }));
        read.await
    }

    /// What became of the mails to a domain that were accepted on each day that a period touches. The days are those of UTC:
    /// it is counted by them.
    pub async fn timeseries_of_domain(
        &self,
        project: &Project,
        period: Period,
        domain: &str,
    ) -> Result<Vec<Day>> {
        let (number, domain) = (project.number, domain.to_ascii_lowercase());
        let mut days = days(&Zone::UTC, period)?;
        days.pop();
        let (Some(first), Some(last)) = (days.first(), days.last()) else { return Ok(days) };
        let span = (Quarter::of(first.begin).day(), Quarter::of(last.begin).day());
        let read = self.read(body!(async |rx| domains::of_domain(rx, number, span, &domain).await));
        let mut found = read.await?;
        for day in &mut days {
            if let Some(figures) = found.remove(&Quarter::of(day.begin).day()) {
                day.figures = figures;
            }
        }
        Ok(days)
    }

    /// The campaigns that were sent in a period, those with the most opens first.
    pub async fn top_campaigns(
        &self,
        project: &Project,
        period: Period,
        limit: usize,
    ) -> Result<Vec<TopCampaign>> {
        let (number, span) = (project.number, (period.from, period.until));
        let mut top = self.read(body!(async |rx| sent_campaigns(rx, number, span).await)).await?;
        top.sort_by_key(|campaign| std::cmp::Reverse((campaign.opened, campaign.clicked, campaign.id)));
        top.truncate(limit);
        Ok(top)
    }

    /// How the campaigns of a period did.
    pub async fn campaign_figures(&self, project: &Project, period: Period) -> Result<CampaignFigures> {
        let (number, span) = (project.number, (period.from, period.until));
        let read = self.read(body!(async |rx| {
            try_join(campaigns::by_status(rx, number, span), sent_campaigns(rx, number, span)).await
        }));
        let (by_status, sent) = read.await?;
        let of = |wanted: &[CampaignStatus]| -> i64 {
            by_status.iter().filter(|(status, _)| wanted.contains(status)).map(|(_, count)| count).sum()
        };
        let sum = |count: fn(&TopCampaign) -> i64| -> i64 { sent.iter().map(count).sum() };
        let mails = sum(|campaign| campaign.sent);
        Ok(CampaignFigures {
            total: by_status.iter().map(|(_, count)| count).sum(),
            active: of(&[CampaignStatus::Draft, CampaignStatus::Scheduled]),
            completed: of(&[CampaignStatus::Sent]),
            open_rate: rate(sum(|campaign| campaign.opened), mails),
            click_rate: rate(sum(|campaign| campaign.clicked), mails),
        })
    }

    /// The events that people recorded most often in a period, and how that compares with the one before.
    pub async fn top_events(&self, project: &Project, period: Period, limit: usize) -> Result<Vec<TopEvent>> {
        let (number, now) = (project.number, self.0.clock.now());
        let begin = period.from.minus(period.until.since(period.from));
        // one slow read, so that a request takes one place among those of all projects
        let read = self.read_slow(
            number,
            body!(async |rx| {
                try_join(
                    event_counts::counts_between(rx, number, period.from, period.until, now),
                    event_counts::counts_between(rx, number, begin, period.from, now),
                )
                .await
            }),
        );
        let (counts, before) = read.await?;
        let named = counts.into_iter().filter(|(name, _)| !is_reserved(name)).take(limit);
        let top = named.map(|(name, count)| {
            let earlier = before.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
            TopEvent { trend: trend(count, earlier), name, count }
        });
        Ok(top.collect())
    }
}

/// The campaigns that were sent in a period, with what became of their mails, the newest first.
async fn sent_campaigns(
    rx: &Rx<'_>,
    project: ProjectNumber,
    span: (Timestamp, Timestamp),
) -> mailwright_store::Result<Vec<TopCampaign>> {
    let sent = campaigns::sent(rx, project, span).await?;
    let ids: Vec<_> = sent.iter().map(|campaign| campaign.id).collect();
    let mut ledgers = ledger::read(rx, project, &ids).await?;
    let figures = sent.into_iter().map(|campaign| {
        let ledger: Ledger = ledgers.remove(&campaign.id).unwrap_or_default();
        TopCampaign {
            id: campaign.id,
            name: campaign.name,
            subject: campaign.subject,
            sent: ledger.count(RecipientState::Accepted),
            opened: ledger.opened,
            clicked: ledger.clicked,
        }
    });
    Ok(figures.collect())
}

/// By how many percent a count is more than an earlier one; 100 where there was none.
fn trend(count: i64, earlier: i64) -> i64 {
    if earlier == 0 {
        return if count > 0 { 100 } else { 0 };
    }
    (100.0 * (count - earlier) as f64 / earlier as f64).round() as i64
}

/// The days in a zone that a period touches, and the one after them.
fn days(zone: &Zone, period: Period) -> Result<Vec<Day>> {
    let mut days = Vec::new();
    if period.from >= period.until {
        return Ok(days);
    }
    let mut date = zone.local(period.from).date();
    loop {
        let begin = zone.instant(date.at(0, 0, 0, 0));
        let Some(begin) = begin else { return Err(beyond()) };
        days.push(Day { begin, date: date.to_string(), figures: Figures::default() });
        if begin >= period.until {
            return Ok(days);
        }
        if days.len() > MAX_DAYS {
            return Err(Error::BadRequest(format!(
                "The period has more than {MAX_DAYS} days. Ask for a shorter one."
            )));
        }
        date = date.tomorrow().map_err(|_| beyond())?;
    }
}

fn beyond() -> Error {
    Error::BadRequest("The period is beyond the dates that there are.".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn begins(zone: &str, from: &str, until: &str) -> Vec<String> {
        let period = Period { from: at(from), until: at(until) };
        let days = days(&Zone::parse(zone).unwrap(), period).unwrap();
        days.into_iter().map(|day| day.begin.to_string()).collect()
    }

    #[test]
    fn days_begin_at_midnight_of_the_zone_also_where_clocks_are_set() {
        assert_eq!(
            begins("Europe/Berlin", "2026-03-28T22:00:00Z", "2026-03-29T22:30:00Z"),
            [
                "2026-03-27T23:00:00.000Z",
                "2026-03-28T23:00:00.000Z",
                "2026-03-29T22:00:00.000Z",
                "2026-03-30T22:00:00.000Z"
            ]
        );
        assert_eq!(
            begins("Asia/Kolkata", "2026-01-01T18:30:00Z", "2026-01-02T18:30:00Z"),
            ["2026-01-01T18:30:00.000Z", "2026-01-02T18:30:00.000Z"]
        );
        // clocks are set forward at midnight: the day begins at one
        assert_eq!(
            begins("America/Santiago", "2026-09-06T05:00:00Z", "2026-09-06T06:00:00Z"),
            ["2026-09-06T04:00:00.000Z", "2026-09-07T03:00:00.000Z"]
        );
        assert!(begins("UTC", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z").is_empty());
        let long = Period { from: at("2020-01-01"), until: at("2026-01-01") };
        assert!(days(&Zone::UTC, long).is_err());
    }

    #[test]
    fn a_trend_is_in_percent_of_before() {
        for (count, earlier, expected) in [(0, 0, 0), (5, 0, 100), (15, 10, 50), (1, 3, -67), (0, 4, -100)] {
            assert_eq!(trend(count, earlier), expected, "{count} {earlier}");
        }
    }
}
