//! How much a new source address sends on each of its first days.
//!
//! Receivers distrust an address that they do not know and that sends much. So a [`Plan`] says how many mails may leave on
//! its first day, its second, and so on; after the last there is no limit. A day counts only if half of its volume was
//! used and no site blocked the address: whoever pauses does not come back to a volume that nobody has seen yet. After
//! a month without mail the plan begins again.
//!
//! An hour has an eighth of the day's volume, so that it does not leave in one burst. A fifth of both is kept for urgent
//! mail. What exceeds the volume waits for the next hour or day, or takes another way. Projects that ask for more than there
//! is have equal shares of an hour.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ids::ProjectNumber;
use crate::time::Timestamp;

/// Days of the longest plan.
pub const MOST_DAYS: usize = 90;
/// Hours in which the volume of a day can leave.
const HOURS: u32 = 8;
/// The fewest mails of an hour.
const FEWEST: u32 = 10;
/// The part of the volume that is kept for urgent mail: one of so many.
const URGENT: u32 = 5;
/// Days without mail after which the plan begins again.
const FORGOTTEN: i64 = 30;

/// The default plan: 30 days to a million a day.
const DEFAULT: [u32; 30] = [
    50, 100, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 16_000, 22_000,
    30_000, 42_000, 60_000, 80_000, 115_000, 160_000, 220_000, 300_000, 400_000, 500_000, 600_000, 700_000,
    850_000, 1_000_000,
];

/// The volume of each day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u32>", into = "Vec<u32>")]
pub struct Plan(Vec<u32>);

/// What a plan cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Too many days.
    #[error("a plan has {} days at most", MOST_DAYS)]
    TooLong,
    /// A day with less than the one before it, or with none.
    #[error("each day of a plan has at least as many mails as the day before, and the first at least one")]
    Falls,
}

impl Plan {
    /// How many days it has.
    pub fn days(&self) -> usize {
        self.0.len()
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self(DEFAULT.to_vec())
    }
}

impl TryFrom<Vec<u32>> for Plan {
    type Error = PlanError;

    fn try_from(days: Vec<u32>) -> Result<Self, PlanError> {
        if days.len() > MOST_DAYS {
            return Err(PlanError::TooLong);
        }
        if days.first() == Some(&0) || !days.is_sorted() {
            return Err(PlanError::Falls);
        }
        Ok(Self(days))
    }
}

impl From<Plan> for Vec<u32> {
    fn from(plan: Plan) -> Self {
        plan.0
    }
}

/// Mails, by how urgent they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mails {
    /// Transactional mail.
    pub urgent: u32,
    /// All other mail.
    pub bulk: u32,
}

impl Mails {
    /// All of them.
    pub fn all(self) -> u32 {
        self.urgent.saturating_add(self.bulk)
    }
}

/// How far a source address has come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WarmUp {
    /// Days of the plan that are over.
    done: u32,
    /// Today: days since the Unix epoch, and what left.
    date: i64,
    today: Mails,
    /// This hour: hours since the Unix epoch, and what left.
    hour: i64,
    this_hour: Mails,
    /// Whether a site blocked the address today.
    blocked: bool,
    /// What left of each project in this hour.
    taken: BTreeMap<i64, u32>,
    /// The projects that got less than they asked for, in this hour and in the one before.
    short: BTreeSet<i64>,
    short_before: BTreeSet<i64>,
}

/// Where a plan stands, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The day of the plan, from 1.
    pub day: u32,
    /// How many mails it has.
    pub volume: u32,
    /// How many an hour has.
    pub hourly: u32,
    /// How many have left today.
    pub today: u32,
}

impl WarmUp {
    /// A subject that is known already: its plan is over.
    pub fn finished(now: Timestamp) -> Self {
        Self { done: u32::MAX, date: now.0.div_euclid(24 * HOUR), ..Self::default() }
    }

    /// Where the plan stands; `None` when it is over. What was counted on another day or hour counts no more.
    pub fn standing(&self, plan: &Plan, now: Timestamp) -> Option<Standing> {
        let mut current = self.clone();
        current.turn(plan, now);
        let (day, volume) = current.day(plan)?;
        Some(Standing { day, volume, hourly: hourly(volume), today: current.today.all() })
    }

    /// The day of the plan, from 1, and how many mails it has; `None` when the plan is over.
    pub fn day(&self, plan: &Plan) -> Option<(u32, u32)> {
        let volume = *plan.0.get(self.done as usize)?;
        Some((self.done + 1, volume))
    }

    /// How many of a project's mails that wait may leave now; they count as having left. Where other projects got less than
    /// they asked for, it has its share of the hour alone, until the last quarter of it.
    pub fn take(&mut self, plan: &Plan, project: ProjectNumber, waiting: Mails, now: Timestamp) -> Mails {
        self.turn(plan, now);
        let Some((_, volume)) = self.day(plan) else { return waiting };
        let hourly = hourly(volume);
        let own = self.share(project, hourly, now);
        let urgent = waiting
            .urgent
            .min(own)
            .min(left(volume, self.today.all()))
            .min(left(hourly, self.this_hour.all()));
        let kept = |most: u32| most - most / URGENT;
        let bulk = waiting
            .bulk
            .min(left(own, urgent))
            .min(left(kept(volume), self.today.bulk))
            .min(left(kept(hourly), self.this_hour.bulk))
            .min(left(volume, self.today.all() + urgent))
            .min(left(hourly, self.this_hour.all() + urgent));
        let taken = Mails { urgent, bulk };
        self.today = sum(self.today, taken);
        self.this_hour = sum(self.this_hour, taken);
        if taken.all() < waiting.all() && self.short.len() < MOST_PROJECTS {
            self.short.insert(project.0);
        }
        if taken.all() > 0 && (self.taken.len() < MOST_PROJECTS || self.taken.contains_key(&project.0)) {
            *self.taken.entry(project.0).or_default() += taken.all();
        }
        taken
    }

    /// How many mails of a project may leave in this hour beside those that have.
    fn share(&self, project: ProjectNumber, hourly: u32, now: Timestamp) -> u32 {
        let others = self.short.union(&self.short_before).filter(|other| **other != project.0).count();
        if others == 0 || now.0.rem_euclid(HOUR) >= SHARED_FOR {
            return u32::MAX;
        }
        let share = hourly.div_ceil(u32::try_from(others + 1).unwrap_or(u32::MAX)).max(1);
        left(share, self.taken.get(&project.0).copied().unwrap_or_default())
    }

    /// Mails of a project that were taken did not leave.
    pub fn give_back(&mut self, project: ProjectNumber, mails: Mails) {
        if let Some(taken) = self.taken.get_mut(&project.0) {
            *taken = taken.saturating_sub(mails.all());
        }
        for count in [&mut self.today, &mut self.this_hour] {
            count.urgent = count.urgent.saturating_sub(mails.urgent);
            count.bulk = count.bulk.saturating_sub(mails.bulk);
        }
    }

    /// A site blocks the address: today does not count.
    pub fn blocked(&mut self) {
        self.blocked = true;
    }

    /// When more may leave, if nothing may now.
    pub fn next_hour(now: Timestamp) -> Timestamp {
        Timestamp((now.0.div_euclid(HOUR) + 1) * HOUR)
    }

    fn turn(&mut self, plan: &Plan, now: Timestamp) {
        let (date, hour) = (now.0.div_euclid(24 * HOUR), now.0.div_euclid(HOUR));
        if hour != self.hour {
            let short = std::mem::take(&mut self.short);
            self.short_before = if hour == self.hour + 1 { short } else { BTreeSet::new() };
            self.taken.clear();
            (self.hour, self.this_hour) = (hour, Mails::default());
        }
        if date == self.date {
            return;
        }
        let is_used = self.day(plan).is_some_and(|(_, volume)| self.today.all() >= volume / 2);
        if self.date != 0 && date - self.date > FORGOTTEN {
            self.done = 0;
        } else if is_used && !self.blocked {
            self.done = self.done.saturating_add(1);
        }
        (self.date, self.today, self.blocked) = (date, Mails::default(), false);
    }
}

/// Milliseconds.
const HOUR: i64 = Duration::from_hours(1).as_millis() as i64;
/// How much of an hour its volume is divided among projects, in milliseconds; then anybody has what is left.
const SHARED_FOR: i64 = Duration::from_mins(45).as_millis() as i64;
/// Most projects that are told apart in an hour.
const MOST_PROJECTS: usize = 500;

/// How many mails of a day's volume an hour has.
fn hourly(volume: u32) -> u32 {
    (volume / HOURS).max(FEWEST)
}

fn left(most: u32, used: u32) -> u32 {
    most.saturating_sub(used)
}

fn sum(a: Mails, b: Mails) -> Mails {
    Mails { urgent: a.urgent.saturating_add(b.urgent), bulk: a.bulk.saturating_add(b.bulk) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ProjectNumber = ProjectNumber(1);
    const TWO: ProjectNumber = ProjectNumber(2);

    fn at(day: i64, hour: i64) -> Timestamp {
        Timestamp((20_000 * 24 + day * 24 + hour) * HOUR)
    }

    /// Takes as much as it may at each hour of a day.
    fn spend(state: &mut WarmUp, plan: &Plan, day: i64) -> u32 {
        let waiting = Mails { urgent: 1_000_000, bulk: 1_000_000 };
        (0..24).map(|hour| state.take(plan, ONE, waiting, at(day, hour)).all()).sum()
    }

    #[test]
    fn each_day_has_its_volume_and_the_last_ends_it() {
        let (plan, mut state) = (Plan::try_from(vec![80, 160, 400]).unwrap(), WarmUp::default());
        assert_eq!([0, 1, 2].map(|day| spend(&mut state, &plan, day)), [80, 160, 400]);
        let waiting = Mails { urgent: 7, bulk: 1_000_000 };
        assert_eq!(state.take(&plan, ONE, waiting, at(3, 0)), waiting);
        assert_eq!(state.day(&plan), None);
    }

    #[test]
    fn an_hour_has_an_eighth_and_urgent_mail_a_fifth_of_it_for_itself() {
        let (plan, mut state) = (Plan::try_from(vec![800]).unwrap(), WarmUp::default());
        let bulk = Mails { urgent: 0, bulk: 1_000 };
        assert_eq!(state.take(&plan, ONE, bulk, at(0, 0)).bulk, 80);
        let urgent = Mails { urgent: 1_000, bulk: 1_000 };
        assert_eq!(state.take(&plan, ONE, urgent, at(0, 0)), Mails { urgent: 20, bulk: 0 });
        state.give_back(ONE, Mails { urgent: 0, bulk: 5 });
        assert_eq!(state.take(&plan, ONE, bulk, at(0, 0)).bulk, 5);
        assert_eq!(WarmUp::next_hour(at(0, 0).plus(Duration::from_mins(5))), at(0, 1));
    }

    #[test]
    fn a_day_counts_only_when_it_was_used_and_without_a_block() {
        let (plan, mut state) = (Plan::try_from(vec![80, 160, 320]).unwrap(), WarmUp::default());
        state.take(&plan, ONE, Mails { urgent: 3, bulk: 0 }, at(0, 0));
        assert_eq!(spend(&mut state, &plan, 1), 80, "three mails were too few");
        assert_eq!(spend(&mut state, &plan, 2), 160);
        state.blocked();
        assert_eq!(spend(&mut state, &plan, 3), 160);
        assert_eq!(spend(&mut state, &plan, 40), 80, "a month later nobody knows the address");
    }

    #[test]
    fn projects_that_got_too_little_have_a_share_in_the_next_hour() {
        let (plan, mut state) = (Plan::try_from(vec![80]).unwrap(), WarmUp::default());
        let wanted = |urgent| Mails { urgent, bulk: 0 };
        assert_eq!(state.take(&plan, ONE, wanted(300), at(0, 0)).urgent, 10, "nobody else has asked");
        assert_eq!(state.take(&plan, TWO, wanted(3), at(0, 0)).urgent, 0);
        let late = at(0, 1).plus(Duration::from_mins(46));
        assert_eq!(state.take(&plan, ONE, wanted(300), at(0, 1)).urgent, 5);
        assert_eq!(state.take(&plan, ONE, wanted(300), at(0, 1)).urgent, 0);
        assert_eq!(state.take(&plan, TWO, wanted(3), at(0, 1)).urgent, 3);
        assert_eq!(state.take(&plan, ONE, wanted(300), late).urgent, 2, "what nobody wanted");
        assert_eq!(state.take(&plan, ONE, wanted(300), at(0, 2)).urgent, 10, "the other one was content");
    }

    #[test]
    fn it_says_where_the_plan_stands() {
        let (plan, mut state) = (Plan::try_from(vec![80, 160]).unwrap(), WarmUp::default());
        let standing = |state: &WarmUp, day| {
            state.standing(&plan, at(day, 1)).map(|s| (s.day, s.volume, s.hourly, s.today))
        };
        assert_eq!(standing(&state, 0), Some((1, 80, 10, 0)));
        spend(&mut state, &plan, 0);
        assert_eq!(standing(&state, 0), Some((1, 80, 10, 80)));
        assert_eq!(standing(&state, 1), Some((2, 160, 20, 0)));
        let mut known = WarmUp::finished(at(0, 0));
        assert_eq!((standing(&known, 0), standing(&known, 31)), (None, Some((1, 80, 10, 0))));
        let waiting = Mails { urgent: 0, bulk: 1_000_000 };
        assert_eq!(known.take(&plan, ONE, waiting, at(20, 0)), waiting);
        assert_eq!(standing(&known, 45), None, "mail has left meanwhile");
    }

    #[test]
    fn a_plan_rises() {
        assert_eq!(Plan::try_from(vec![2, 1]), Err(PlanError::Falls));
        assert_eq!(Plan::try_from(vec![0, 1]), Err(PlanError::Falls));
        assert_eq!(Plan::try_from(vec![1; 91]), Err(PlanError::TooLong));
        assert!(Plan::try_from(Vec::new()).is_ok(), "no plan: no limit");
        let read: Plan = serde_json::from_str("[5,10]").unwrap();
        assert_eq!(read, Plan(vec![5, 10]));
        assert!(serde_json::from_str::<Plan>("[10,5]").is_err());
        assert_eq!((Plan::default().0.len(), Plan::default().0[29]), (30, 1_000_000));
    }
}
