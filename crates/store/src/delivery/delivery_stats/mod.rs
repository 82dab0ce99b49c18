//! How a project's mails were received, for judging its reputation: sums that are kept with the outcomes of mails, in
//! total and by day; bounces and complaints also by hour.

mod key;

use std::collections::BTreeMap;

use mailwright_core::email::EmailStatus;
use mailwright_core::event::Activity;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::reputation::{DeliveryStats, Returned, Totals};
use mailwright_core::time::Timestamp;

use self::key::{Counted, Key, Span};
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::insight::counter::{self, Counter};
use crate::insight::deltas::Deltas;

/// The counters of a mail with this final status.
fn counted_as(status: EmailStatus) -> &'static [Counted] {
    match status {
        EmailStatus::Sent => &[Counted::Sent],
        EmailStatus::Bounced => &[Counted::Sent, Counted::Bounced],
        EmailStatus::Complained => &[Counted::Complained],
        _ => &[],
    }
}

/// Counts a mail that came to an end.
pub(crate) fn count(deltas: &mut Deltas, project: ProjectNumber, status: EmailStatus, now: Timestamp) {
    add(deltas, project, counted_as(status), now);
}

/// Counts what was learnt of a mail that had been counted as sent.
pub(crate) fn count_learnt(deltas: &mut Deltas, project: ProjectNumber, activity: Activity, now: Timestamp) {
    let counted: &[_] = match activity {
        Activity::Bounced => &[Counted::Bounced],
        Activity::Complained => &[Counted::Complained],
        Activity::Sent | Activity::Delivered | Activity::Opened | Activity::Clicked => &[],
    };
    add(deltas, project, counted, now);
}

fn add(deltas: &mut Deltas, project: ProjectNumber, counted: &[Counted], now: Timestamp) {
    let mut add = |span, counted| {
        deltas.add(project, Counter::DeliveryStats, &Key { span, counted }.to_string(), 1);
    };
    for &counted in counted {
        add(Span::Ever, counted);
        add(Span::Day(day(now)), counted);
        // of an hour nobody asks what was sent
        if counted != Counted::Sent {
            add(Span::Hour(hour(now)), counted);
        }
    }
}

/// The day of an instant: days since the Unix epoch, UTC.
pub fn day(at: Timestamp) -> i64 {
    at.0.div_euclid(24 * 60 * 60 * 1000)
}

/// The hour of an instant: hours since the Unix epoch.
fn hour(at: Timestamp) -> i64 {
    at.0.div_euclid(60 * 60 * 1000)
}

/// Days of a week.
const WEEK: i64 = 7;
/// Hours of a day.
const DAY: i64 = 24;

/// Whether a project has ever sent a mail.
pub async fn has_sent(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<bool> {
    let name = Key { span: Span::Ever, counted: Counted::Sent }.to_string();
    Ok(counter::value(rx, project, Counter::DeliveryStats, &name).await? > 0)
}

/// How a project's mails were received, up to a time.
pub async fn read(rx: &mut Rx<'_>, project: ProjectNumber, now: Timestamp) -> Result<DeliveryStats> {
    let (today, this_hour) = (day(now), hour(now));
    let days = (0..WEEK).map(|back| Span::Day(today - back));
    let hours = (0..DAY).map(|back| Span::Hour(this_hour - back));
    let name = |span, counted| Key { span, counted }.to_string();
    let of_days = days.clone().chain([Span::Ever]).flat_map(|span| Counted::ALL.map(|what| name(span, what)));
    let of_hours =
        hours.clone().flat_map(|span| [Counted::Bounced, Counted::Complained].map(|what| name(span, what)));
    let names: Vec<String> = of_days.chain(of_hours).collect();
    let found = counter::some(rx, project, Counter::DeliveryStats, &names).await?;
    let found: BTreeMap<Key, i64> =
        found.into_iter().filter_map(|(name, value)| Some((Key::parse(&name)?, value))).collect();
    let value = |span, counted| found.get(&Key { span, counted }).copied().unwrap_or(0);
    let totals = |span| Totals {
        total: value(span, Counted::Sent),
        bounces: value(span, Counted::Bounced),
        complaints: value(span, Counted::Complained),
    };
    let returned = |span| Returned {
        bounces: value(span, Counted::Bounced),
        complaints: value(span, Counted::Complained),
    };
    Ok(DeliveryStats {
        ever: totals(Span::Ever),
        today,
        days: days.map(totals).collect(),
        this_hour,
        hours: hours.map(returned).collect(),
    })
}

/// Forgets how mails were received on days before `day`, some at a time; how many rows.
pub async fn forget(tx: &mut Tx<'_>, project: ProjectNumber, day: i64) -> Result<u64> {
    let mut forgotten = 0;
    for span in [Span::Day(day), Span::Hour(day * DAY)] {
        let (first, end) = span.all_before();
        forgotten += counter::forget_between(tx, project, Counter::DeliveryStats, (first, &end)).await?;
    }
    Ok(forgotten)
}
