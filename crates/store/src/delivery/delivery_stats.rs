//! How a project's mails were received, for judging its reputation: sums that are kept with the outcomes of mails, in
//! total and by day; bounces and complaints also by hour.

use mailwright_core::email::EmailStatus;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::reputation::{DeliveryStats, Returned, Totals};
use mailwright_core::time::Timestamp;

use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::insight::counter::{self, Counter, Deltas};

const SENT: &str = "sent";
const BOUNCED: &str = "bounced";
const COMPLAINED: &str = "complained";

/// As what a mail that came to an end counts.
fn counted_as(status: EmailStatus) -> &'static [&'static str] {
    match status {
        EmailStatus::Sent => &[SENT],
        EmailStatus::Bounced => &[SENT, BOUNCED],
        EmailStatus::Complained => &[COMPLAINED],
        _ => &[],
    }
}

/// Counts a mail that came to an end.
pub(crate) fn count(deltas: &mut Deltas, project: ProjectNumber, status: EmailStatus, now: Timestamp) {
    for what in counted_as(status) {
        deltas.add(project, Counter::DeliveryStats, what, 1);
        deltas.add(project, Counter::DeliveryStats, &of_day(day(now), what), 1);
        // of an hour nobody asks what was sent
        if *what != SENT {
            deltas.add(project, Counter::DeliveryStats, &of_hour(hour(now), what), 1);
        }
    }
}

/// The day of an instant: days since the Unix epoch, UTC.
pub fn day(at: Timestamp) -> i64 {
    at.0.div_euclid(24 * 60 * 60 * 1000)
}

fn of_day(day: i64, what: &str) -> String {
    format!("day {day:06} {what}")
}

/// The hour of an instant: hours since the Unix epoch.
fn hour(at: Timestamp) -> i64 {
    at.0.div_euclid(60 * 60 * 1000)
}

fn of_hour(hour: i64, what: &str) -> String {
    format!("hour {hour:06} {what}")
}

/// Days of a week.
const WEEK: i64 = 7;
/// Hours of a day.
const DAY: i64 = 24;

/// How a project's mails were received, up to a time.
pub async fn read(rx: &mut Rx<'_>, project: ProjectNumber, now: Timestamp) -> Result<DeliveryStats> {
    let today = day(now);
    let kinds = [SENT, BOUNCED, COMPLAINED];
    let mut names: Vec<String> = kinds.map(str::to_owned).into();
    names.extend((0..WEEK).flat_map(|back| kinds.map(|what| of_day(today - back, what))));
    let this_hour = hour(now);
    names.extend((0..DAY).flat_map(|back| [BOUNCED, COMPLAINED].map(|what| of_hour(this_hour - back, what))));
    let found = counter::some(rx, project, Counter::DeliveryStats, &names).await?;
    let value = |name: &str| found.iter().find(|(n, _)| n == name).map_or(0, |(_, value)| *value);
    let totals = |name: &dyn Fn(&str) -> String| Totals {
        total: value(&name(SENT)),
        bounces: value(&name(BOUNCED)),
        complaints: value(&name(COMPLAINED)),
    };
    let days = (0..WEEK).map(|back| totals(&|what| of_day(today - back, what))).collect();
    let returned = |back| Returned {
        bounces: value(&of_hour(this_hour - back, BOUNCED)),
        complaints: value(&of_hour(this_hour - back, COMPLAINED)),
    };
    let hours = (0..DAY).map(returned).collect();
    Ok(DeliveryStats { ever: totals(&str::to_owned), today, days, this_hour, hours })
}

/// Forgets how mails were received on days before `day`, some at a time; how many rows.
pub async fn forget(tx: &mut Tx<'_>, project: ProjectNumber, day: i64) -> Result<u64> {
    let (days, hours) = (format!("day {day:06}"), format!("hour {:06}", day * DAY));
    let forgotten = counter::forget_between(tx, project, Counter::DeliveryStats, ("day ", &days)).await?;
    Ok(forgotten + counter::forget_between(tx, project, Counter::DeliveryStats, ("hour ", &hours)).await?)
}
