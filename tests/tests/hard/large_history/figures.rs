//! Figures over time, counted again from the lists of the made-up history, and compared with what the service says.
//!
//! A day is counted by asking for each thing on which date of the zone it happened; the service adds up quarters of an
//! hour instead.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use jiff::civil::Date;
use mailwright_testkit::App;
use mailwright_tests::browser::change_project;
use mailwright_tests::random::Random;
use mailwright_tests::{items, read, text};
use serde_json::{Value, json};

use super::made::{self, History, Mail};
use super::moments::{DAY, HOUR, QUARTER};
use super::written::is_of_service;

/// The columns of figures about mails.
const OF_MAILS: [&str; 8] =
    ["emails", "sent", "delivered", "opens", "clicks", "bounces", "complaints", "unsubscribes"];
/// Most rows of the most frequent events, and of domains.
const MOST_EVENTS: usize = 20;
const MOST_DOMAINS: usize = 250;

/// What a mail adds to each of them.
fn of_mail(mail: &Mail) -> [i64; OF_MAILS.len()] {
    let left = mail.left();
    [
        true,
        left.is_some(),
        left.is_some_and(|left| left.delivered.is_some()),
        left.is_some_and(|left| !left.opens.is_empty()),
        left.is_some_and(|left| !left.clicks.is_empty()),
        mail.is_bounced(),
        left.is_some_and(|left| left.complained.is_some()),
        left.is_some_and(|left| {
            left.unsubscribed.is_some() && left.bounced.is_none() && left.complained.is_none()
        }),
    ]
    .map(i64::from)
}

pub(super) fn instant(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).expect("a time")
}

/// `startDate=...&endDate=...`
pub(super) fn period((from, until): (i64, i64)) -> String {
    format!("startDate={:.3}&endDate={:.3}", instant(from), instant(until))
}

/// Periods: the whole, and some at random, from minutes to months.
pub(super) fn periods(history: &History, random: &mut Random) -> Vec<(i64, i64)> {
    let mut periods = vec![(history.start, history.end)];
    for length in [QUARTER, HOUR, DAY, 7 * DAY, 40 * DAY, 180 * DAY] {
        let from = history.start + random.below((history.end - history.start) as u64) as i64;
        let until = from + 1 + random.below(2 * length as u64) as i64;
        periods.push((from, until.min(history.end).max(from + 1)));
    }
    periods
}

fn number(row: &Value, name: &str) -> i64 {
    row[name].as_i64().unwrap_or_else(|| panic!("no number {name} in {row}"))
}

/// The days of the whole history, in each time zone.
pub(super) async fn days(app: &App, history: &History) {
    for name in made::ZONES {
        change_project(app, &json!({"timezone": name})).await;
        let zone = made::zone(name);
        let date = |millis: i64| zone.to_datetime(instant(millis)).date();
        let mut expected: HashMap<(Date, &str), i64> = HashMap::new();
        for mail in &history.mails {
            for (column, count) in OF_MAILS.into_iter().zip(of_mail(mail)) {
                *expected.entry((date(mail.at), column)).or_default() += count;
            }
        }
        history.inbound.iter().for_each(|one| *expected.entry((date(one.at), "received")).or_default() += 1);
        history.events.iter().for_each(|one| *expected.entry((date(one.at), "events")).or_default() += 1);

        let found =
            read(app, &format!("/analytics/timeseries?{}", period((history.start, history.end)))).await;
        let dates: Vec<Date> = date(history.start)
            .series(jiff::Span::new().days(1))
            .take_while(|day| *day <= date(history.end - 1))
            .collect();
        let named: Vec<String> = items(&found).iter().map(|day| text(&day["day"]).to_owned()).collect();
        assert_eq!(named, dates.iter().map(Date::to_string).collect::<Vec<_>>(), "{name}");
        for (date, day) in dates.into_iter().zip(items(&found)) {
            let begin =
                zone.to_ambiguous_zoned(date.at(0, 0, 0, 0)).compatible().expect("a time").timestamp();
            assert_eq!(day["date"], format!("{begin:.3}"), "{name}");
            for column in OF_MAILS.into_iter().chain(["received", "events"]) {
                let expected = expected.get(&(date, column)).copied().unwrap_or_default();
                assert_eq!(number(day, column), expected, "{column} of {day} in {name}");
            }
        }
    }
}

/// The sums of periods, which are widened to whole quarters of an hour.
pub(super) async fn stats(app: &App, history: &History, periods: &[(i64, i64)]) {
    for (from, until) in periods {
        let (begin, end) =
            (from.div_euclid(QUARTER) * QUARTER, (until + QUARTER - 1).div_euclid(QUARTER) * QUARTER);
        let within = |at: i64| at >= begin && at < end;
        let mut of_mails = [0; OF_MAILS.len()];
        for mail in history.mails.iter().filter(|mail| within(mail.at)) {
            of_mails.iter_mut().zip(of_mail(mail)).for_each(|(sum, count)| *sum += count);
        }
        let [_, sent, _, opened, clicked, ..] = of_mails;
        let share = |count: i64| if sent == 0 { 0.0 } else { 100.0 * count as f64 / sent as f64 };
        let expected = json!({
            "totalEvents": history.events.iter().filter(|event| within(event.at)).count(),
            "totalEmailsSent": sent, "totalEmailsOpened": opened, "totalEmailsClicked": clicked,
            "totalWorkflowsStarted": history.executions.iter().filter(|one| within(one.at)).count(),
            "openRate": share(opened), "clickRate": share(clicked),
        });
        let asked = period((*from, *until));
        assert_eq!(read(app, &format!("/activity/stats?{asked}")).await, expected, "{asked}");
    }
}

/// The most frequent events of periods, and how that compares with the time before.
pub(super) async fn top_events(app: &App, history: &History, periods: &[(i64, i64)]) {
    for (from, until) in periods {
        let counts = |from: i64, until: i64| -> BTreeMap<&str, i64> {
            let mut counts = BTreeMap::new();
            let within = history.events.iter().filter(|one| one.at >= from && one.at < until);
            for event in within.filter(|one| !is_of_service(&one.name)) {
                *counts.entry(&*event.name).or_default() += 1;
            }
            counts
        };
        let (now, before) = (counts(*from, *until), counts(2 * from - until, *from));
        let mut sorted: Vec<(&str, i64)> = now.into_iter().collect();
        sorted.sort_by_key(|(name, count)| (-count, *name));
        let rows = sorted.into_iter().take(MOST_EVENTS).map(|(name, count)| {
            let trend = match before.get(name) {
                None => 100,
                Some(earlier) => (100.0 * (count - earlier) as f64 / *earlier as f64).round() as i64,
            };
            json!({"name": name, "count": count, "trend": trend})
        });
        let expected: Vec<Value> = rows.collect();
        let asked = period((*from, *until));
        let found = read(app, &format!("/analytics/top-events?limit={MOST_EVENTS}&{asked}")).await;
        assert_eq!(items(&found), expected, "{asked}");
    }
}

/// What became of the mails to each domain, in periods that are widened to whole days (UTC).
pub(super) async fn domains(app: &App, history: &History, periods: &[(i64, i64)]) {
    for (from, until) in periods {
        let (begin, end) = (from.div_euclid(DAY) * DAY, (until + DAY - 1).div_euclid(DAY) * DAY);
        let mut of: BTreeMap<&str, [i64; OF_MAILS.len()]> = BTreeMap::new();
        for mail in history.mails.iter().filter(|mail| mail.at >= begin && mail.at < end) {
            let sums = of.entry(made::domain(&history.contacts[mail.contact].address)).or_default();
            sums.iter_mut().zip(of_mail(mail)).for_each(|(sum, count)| *sum += count);
        }
        let mut sorted: Vec<_> = of.into_iter().collect();
        sorted.sort_by_key(|(domain, sums)| (-sums[0], *domain));
        let shown = |domain: Option<&str>, sums: &[i64; OF_MAILS.len()]| {
            let mut row = json!({ "domain": domain });
            OF_MAILS.into_iter().zip(sums).for_each(|(name, sum)| row[name] = (*sum).into());
            row
        };
        for limit in [7, MOST_DOMAINS] {
            let mut expected: Vec<Value> =
                sorted.iter().take(limit).map(|(domain, sums)| shown(Some(domain), sums)).collect();
            let others = sorted.iter().skip(limit).fold([0; OF_MAILS.len()], |mut all, (_, sums)| {
                all.iter_mut().zip(sums).for_each(|(sum, count)| *sum += count);
                all
            });
            if sorted.len() > limit {
                expected.push(shown(None, &others));
            }
            let asked = period((*from, *until));
            let found = read(app, &format!("/analytics/domains?limit={limit}&{asked}")).await;
            assert_eq!(items(&found), expected, "{asked}, {limit} domains");
        }
    }
}

/// The contacts of each month, and who of them opened a mail in each month since.
pub(super) async fn cohorts(app: &App, history: &History) {
    let month = |millis: i64| instant(millis).to_string()[..7].to_owned();
    let created: Vec<String> = history.contacts.iter().map(|contact| month(contact.at)).collect();
    let mut opened: BTreeMap<(&str, String), BTreeSet<usize>> = BTreeMap::new();
    for event in history.events.iter().filter(|event| event.name == "email.open") {
        opened.entry((&created[event.contact], month(event.at))).or_default().insert(event.contact);
    }
    let mut contacts: BTreeMap<&str, i64> = BTreeMap::new();
    for month in &created {
        *contacts.entry(month).or_default() += 1;
    }
    let now = instant(app.now()).to_zoned(jiff::tz::TimeZone::UTC).date().first_of_month();
    for months in [12, 36] {
        let first = now - jiff::Span::new().months(months - 1);
        let mut expected = Vec::new();
        for cohort in first.series(jiff::Span::new().months(1)).take_while(|cohort| *cohort <= now) {
            let name = cohort.to_string()[..7].to_owned();
            let Some(count) = contacts.get(&*name) else { continue };
            for month in cohort.series(jiff::Span::new().months(1)).take_while(|month| *month <= now) {
                let month = month.to_string()[..7].to_owned();
                let opened = opened.get(&(&*name, month.clone())).map_or(0, BTreeSet::len) as i64;
                let rate = (100.0 * opened as f64 / *count as f64 * 10.0).round() / 10.0;
                expected.push(json!({
                    "cohort": name, "month": month, "contacts": count, "opened": opened, "openRate": rate,
                }));
            }
        }
        let found = read(app, &format!("/analytics/cohorts?months={months}")).await;
        assert_eq!(items(&found), expected, "{months} months");
    }
}

/// What happened in the last minutes, up to 10,000 events.
pub(super) async fn recent(app: &App, history: &History) {
    for minutes in [30, 60] {
        let since = app.now() - minutes * 60_000;
        let expected = history.events.iter().filter(|event| event.at >= since).count().min(10_000);
        let found = read(app, &format!("/activity/recent-count?minutes={minutes}")).await;
        assert_eq!(found, json!({"count": expected, "minutes": minutes}));
    }
}
