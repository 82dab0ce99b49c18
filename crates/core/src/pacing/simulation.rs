//! A month of a new source address, against models of receivers, on a clock of its own.
//!
//! What large receivers do is published in parts only. The models have what is known of them (connections, mails on a
//! connection, replies), and for the rest the rule that all of them describe: what is taken follows what was sent on the
//! days before, and who does not slow down when told to is blocked.

use std::fmt::Write as _;
use std::time::Duration;

use super::limits::{Limits, limits_of};
use super::reply::signal;
use super::warm_up::{Mails, Plan, WarmUp};
use super::{Pace, Report, Wish};
use crate::ids::ProjectNumber;
use crate::time::Timestamp;

/// Processes that send.
const PROCESSES: usize = 2;
/// How often each of them asks.
const TICK: Duration = Duration::from_secs(5);
/// Mails that a connection carries in that time.
const PER_TICK: u32 = 25;
const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
/// The first day: days since the Unix epoch.
const FIRST_DAY: i64 = 20_000;

/// A receiver, and what it does.
struct Model {
    host: &'static str,
    /// Its part of all mail, in percent.
    share: u32,
    /// Mails that it takes on a day from anybody.
    floor: u32,
    /// How many times as many as on the best of the last seven days.
    growth: f64,
    /// The part of a day's mails that may come in an hour, and in a minute.
    hourly: f64,
    per_minute: f64,
    /// Connections that it takes.
    connections: u32,
    /// Refusals in an hour after which it blocks.
    patience: u32,
    throttles: (u16, (u16, u16, u16), &'static str),
    too_many: (u16, (u16, u16, u16), &'static str),
    blocks: (u16, (u16, u16, u16), &'static str),
}

/// What a receiver has seen.
#[derive(Default)]
struct Seen {
    days: Vec<u32>,
    day: i64,
    today: u32,
    hour: (i64, u32, u32),
    minute: (i64, u32),
    blocked_until: Timestamp,
    /// Blocks that it decided on by itself, and refusals.
    blocks: u32,
    refusals: u32,
}

type Refusal = (u16, (u16, u16, u16), &'static str);

impl Seen {
    fn turn(&mut self, now: Timestamp) {
        let (day, hour, minute) = (now.0 / DAY, now.0 / HOUR, now.0 / 60_000);
        if day != self.day {
            self.days.push(self.today);
            (self.day, self.today) = (day, 0);
        }
        if hour != self.hour.0 {
            self.hour = (hour, 0, 0);
        }
        if minute != self.minute.0 {
            self.minute = (minute, 0);
        }
    }

    fn mail(&mut self, model: &Model, connections: u32, now: Timestamp) -> Result<(), Refusal> {
        self.turn(now);
        if now < self.blocked_until {
            return Err(model.blocks);
        }
        let best = self.days.iter().rev().take(7).max().copied().unwrap_or(0);
        let daily = (f64::from(best) * model.growth).max(f64::from(model.floor));
        let is_too_much = f64::from(self.today) >= daily
            || f64::from(self.hour.1) >= (daily * model.hourly).max(20.0)
            || f64::from(self.minute.1) >= (daily * model.per_minute).max(10.0);
        let refusal = if connections > model.connections {
            Some(model.too_many)
        } else {
            is_too_much.then_some(model.throttles)
        };
        let Some(refusal) = refusal else {
            self.today += 1;
            self.hour.1 += 1;
            self.minute.1 += 1;
            return Ok(());
        };
        self.refusals += 1;
        self.hour.2 += 1;
        if self.hour.2 > model.patience {
            self.blocks += 1;
            self.blocked_until = now.plus(Duration::from_hours(24));
        }
        Err(refusal)
    }
}

fn models() -> [Model; 5] {
    let plain = Model {
        host: "mx.example.net",
        share: 10,
        floor: 500,
        growth: 3.0,
        hourly: 0.3,
        per_minute: 0.02,
        connections: 10,
        patience: 60,
        throttles: (421, (4, 7, 0), "Service not available, try again later"),
        too_many: (421, (4, 7, 0), "Too many connections from your address"),
        blocks: (554, (5, 7, 1), "Your address is on our blocklist"),
    };
    [
        Model {
            host: "gmail-smtp-in.l.google.com",
            share: 55,
            floor: 100,
            growth: 2.5,
            hourly: 0.2,
            per_minute: 0.02,
            connections: 20,
            patience: 30,
            throttles: (
                421,
                (4, 7, 28),
                "Our system has detected an unusual rate of unsolicited mail originating from your IP address.",
            ),
            blocks: (550, (5, 7, 1), "Mail sent from your IP address has been blocked."),
            ..plain
        },
        Model {
            host: "hotmail-com.olc.protection.outlook.com",
            share: 20,
            floor: 50,
            growth: 2.2,
            hourly: 0.2,
            per_minute: 0.005,
            connections: 5,
            patience: 20,
            throttles: (
                451,
                (4, 7, 650),
                "The mail server [192.0.2.1] has been temporarily rate limited due to IP reputation.",
            ),
            too_many: (
                451,
                (4, 7, 652),
                "The mail server [192.0.2.1] has exceeded the maximum number of connections.",
            ),
            blocks: (550, (5, 7, 1), "Part of your network is on our block list (S3150)."),
        },
        Model {
            host: "mta5.am0.yahoodns.net",
            share: 10,
            floor: 100,
            growth: 2.0,
            connections: 8,
            patience: 30,
            throttles: (
                421,
                (4, 7, 0),
                "[TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume",
            ),
            blocks: (553, (5, 7, 1), "[BL21] Connections not accepted from addresses on a block list"),
            ..plain
        },
        Model { host: "mx1.comcast.net", share: 5, floor: 200, connections: 25, ..plain },
        plain,
    ]
}

/// The end of a simulation.
struct Outcome {
    log: String,
    /// What left on each day.
    days: Vec<u32>,
    seen: Vec<Seen>,
}

/// A site as the processes know it.
struct Site {
    model: Model,
    limits: Limits,
    pace: Pace,
    seen: Seen,
    waiting: Mails,
    reports: [Report; PROCESSES],
    connections: [u32; PROCESSES],
}

/// So many days with a million mails each; `block` is a day and hour from which on the first receiver takes nothing for
/// 20 hours.
fn simulate(days: i64, block: Option<(i64, i64)>) -> Outcome {
    let plan = Plan::default();
    let mut warm_up = WarmUp::default();
    let mut sites: Vec<Site> = models().into_iter().map(site).collect();
    let mut outcome = Outcome { log: String::new(), days: Vec::new(), seen: Vec::new() };
    for day in 0..days {
        let begins = Timestamp((FIRST_DAY + day) * DAY);
        for site in &mut sites {
            site.waiting = Mails { urgent: 2_500 * site.model.share, bulk: 10_000 * site.model.share };
        }
        let mut now = begins;
        let (mut left, mut refused) = (0, Vec::new());
        while now < begins.plus(Duration::from_hours(24)) {
            if let Some((on, hour)) = block
                && now == Timestamp((FIRST_DAY + on) * DAY + hour * HOUR)
            {
                sites[0].seen.blocked_until = now.plus(Duration::from_hours(20));
            }
            for process in 0..PROCESSES {
                for site in &mut sites {
                    left += turn(site, process, (&plan, &mut warm_up), now, &mut refused);
                }
            }
            now = now.plus(TICK);
        }
        outcome.days.push(left);
        let _ = writeln!(outcome.log, "day {}: {left} mails, refused {refused:?}", day + 1);
    }
    outcome.seen = sites.into_iter().map(|site| site.seen).collect();
    outcome
}

fn site(model: Model) -> Site {
    Site {
        limits: limits_of(model.host),
        model,
        pace: Pace::default(),
        seen: Seen::default(),
        waiting: Mails::default(),
        reports: Default::default(),
        connections: [0; PROCESSES],
    }
}

/// The project whose mails they are.
const ONE: ProjectNumber = ProjectNumber(1);

/// A process asks for a site and sends what it may. Returns how many mails left.
fn turn(
    site: &mut Site,
    process: usize,
    (plan, warm_up): (&Plan, &mut WarmUp),
    now: Timestamp,
    refused: &mut Vec<(i64, &'static str, &'static str)>,
) -> u32 {
    let most = site.limits.connections * PER_TICK;
    let wanted = Mails { urgent: site.waiting.urgent.min(most), bulk: site.waiting.bulk.min(most) };
    let may = warm_up.take(plan, ONE, wanted, now);
    let report = std::mem::take(&mut site.reports[process]);
    let wish = Wish { mails: may.all().min(most), connections: may.all().div_ceil(PER_TICK) };
    let grant = site.pace.step(process as u64, &report, wish, site.limits, now);
    site.connections[process] = grant.connections;
    let open = site.connections.iter().sum();
    let most = grant.mails.min(grant.connections * PER_TICK);
    let mut report = Report { unused: grant.mails - most, ..Report::default() };
    for nth in 0..most {
        if let Err(refusal) = site.seen.mail(&site.model, open, now) {
            let (code, enhanced, text) = refusal;
            let said = signal(code, Some(enhanced), text, &[]).expect("every reply of a model is known");
            refused.push((now.0 % DAY / 60_000, site.model.host, said.as_str()));
            if said == super::reply::Signal::Blocked {
                warm_up.blocked();
            }
            report.said = Some((said, text.to_owned()));
            report.unused += most - nth;
            break;
        }
        report.taken += 1;
    }
    let urgent = may.urgent.min(report.taken);
    let bulk = report.taken - urgent;
    warm_up.give_back(ONE, Mails { urgent: may.urgent - urgent, bulk: may.bulk - bulk });
    site.waiting = Mails { urgent: site.waiting.urgent - urgent, bulk: site.waiting.bulk - bulk };
    site.reports[process] = report;
    urgent + bulk
}

#[test]
fn a_new_address_comes_to_a_million_mails_a_day_without_a_block() {
    let outcome = simulate(31, None);
    let blocks: u32 = outcome.seen.iter().map(|seen| seen.blocks).sum();
    assert_eq!(blocks, 0, "{}", outcome.log);
    assert!(outcome.days[29] >= 950_000, "{}", outcome.log);
    assert!(outcome.days.is_sorted_by(|a, b| *b * 10 >= *a * 9), "{}", outcome.log);
    let again = simulate(31, None);
    assert_eq!(again.log, outcome.log, "the same inputs, the same log");
}

#[test]
fn after_a_block_the_address_comes_back() {
    let outcome = simulate(40, Some((12, 3)));
    let (first, others) = outcome.seen.split_first().expect("there are receivers");
    assert_eq!(first.blocks + others.iter().map(|seen| seen.blocks).sum::<u32>(), 0, "{}", outcome.log);
    let tries = outcome.log.lines().nth(12).map_or(0, |day| day.matches("blocked").count());
    assert!((1..=5).contains(&tries), "few tries find out that it is over: {}", outcome.log);
    assert_eq!(outcome.days[13], outcome.days[12], "the day did not count: {}", outcome.log);
    assert!(outcome.days[14] > outcome.days[13], "{}", outcome.log);
    assert!(outcome.days[39] >= 950_000, "{}", outcome.log);
}

#[test]
fn a_limit_of_a_minute_is_met_once_and_then_kept() {
    let [.., like] = models();
    let floor = 1_000_000;
    let model = Model { floor, hourly: 1.0, per_minute: 20.0 / f64::from(floor), ..like };
    let mut site = Site { waiting: Mails { urgent: 0, bulk: 1_000_000 }, ..site(model) };
    let none = Plan::try_from(Vec::new()).expect("no plan");
    let (mut warm_up, mut refused, mut left) = (WarmUp::default(), Vec::new(), 0);
    let mut now = Timestamp(FIRST_DAY * DAY);
    while now < Timestamp(FIRST_DAY * DAY + 6 * HOUR) {
        for process in 0..PROCESSES {
            left += turn(&mut site, process, (&none, &mut warm_up), now, &mut refused);
        }
        now = now.plus(TICK);
    }
    assert!(refused.len() <= 6, "found, and looked for again a few times: {refused:?}");
    assert!(left >= 6 * 60 * 12, "{left} of {}: {refused:?}", 6 * 60 * 20);
}
