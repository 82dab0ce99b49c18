//! How many mails projects may still have, exactly: whoever accepts mails of a project with a limit holds its account until
//! the transaction ends, and reads the counters only then.
//!
//! A transaction asks before it locks contacts, and after it locked a campaign or claimed idempotency keys. All do so in
//! that order, so that none waits for another one in a circle. Where billing is not configured nothing is asked, and for
//! projects without a limit only their accounts are read.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::billing::{Category, Figures, Limits, is_warning};
use mailwright_core::ids::{NoticeId, ProjectNumber};
use mailwright_core::month::Month;
use mailwright_core::time::Timestamp;

use super::notice::{self, Notice};
use super::{account, usage};
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// What is left of the limits of some projects.
#[derive(Debug, Default)]
pub struct Allowances(BTreeMap<ProjectNumber, Held>);

/// The limits of a project, whose account is locked.
#[derive(Debug)]
struct Held {
    limits: Limits,
    noticed: (i64, i64),
    /// What is counted for each month so far.
    used: BTreeMap<Month, Figures>,
    /// The months in which mails were asked for.
    asked: BTreeSet<Month>,
}

impl Allowances {
    /// Locks the accounts of those of some projects that have a limit, and reads what they used in some months. `free` is
    /// how many mails may be had without a subscription; `None` where billing is not configured.
    pub async fn hold(
        tx: &Tx<'_>,
        free: Option<i64>,
        wanted: BTreeMap<ProjectNumber, BTreeSet<Month>>,
        now: Timestamp,
    ) -> Result<Self> {
        let Some(free) = free else { return Ok(Self::default()) };
        let numbers: Vec<_> = wanted.keys().copied().collect();
        if numbers.is_empty() {
            return Ok(Self::default());
        }
        let limited: Vec<_> = account::some(tx, &numbers)
            .await?
            .into_iter()
            .filter(|(_, account)| account.limits(free).is_any())
            .map(|(number, _)| number)
            .collect();
        if limited.is_empty() {
            return Ok(Self::default());
        }
        let mut held = BTreeMap::new();
        for (number, account) in account::lock(tx, &limited, now).await? {
            let limits = account.limits(free);
            if !limits.is_any() {
                continue; // subscribed meanwhile
            }
            let months = wanted.get(&number).cloned().unwrap_or_default();
            let used = usage::of_months(tx, number, months).await?;
            let used = used.into_iter().map(|(month, used)| (month, used.mails)).collect();
            held.insert(number, Held { limits, noticed: account.noticed, used, asked: BTreeSet::new() });
        }
        Ok(Self(held))
    }

    /// The same for one project and the month of a time.
    pub async fn of_project(
        tx: &Tx<'_>,
        free: Option<i64>,
        project: ProjectNumber,
        now: Timestamp,
    ) -> Result<Self> {
        Self::hold(tx, free, BTreeMap::from([(project, BTreeSet::from([Month::of(now)]))]), now).await
    }

    /// How many more mails a project may have; `None` for any number.
    pub fn room(&self, project: ProjectNumber, category: Category, at: Timestamp) -> Option<i64> {
        let held = self.0.get(&project)?;
        held.limits.room(category, &held.used.get(&Month::of(at)).copied().unwrap_or_default())
    }

    /// Takes mails from what is left: all of them, or none and false.
    pub fn take(&mut self, project: ProjectNumber, category: Category, at: Timestamp, mails: i64) -> bool {
        let room = self.room(project, category, at);
        let Some(held) = self.0.get_mut(&project) else { return true };
        let month = Month::of(at);
        held.asked.insert(month);
        if room.is_some_and(|room| room < mails) {
            return false;
        }
        held.used.entry(month).or_default()[category.place()] += mails;
        true
    }

    /// Notes that a mail was refused.
    pub fn refuse(&mut self, project: ProjectNumber, at: Timestamp) {
        if let Some(held) = self.0.get_mut(&project) {
            held.asked.insert(Month::of(at));
        }
    }

    /// Gives mails back that were taken and are not counted.
    pub fn give_back(&mut self, project: ProjectNumber, category: Category, at: Timestamp, mails: i64) {
        if let Some(held) = self.0.get_mut(&project) {
            held.used.entry(Month::of(at)).or_default()[category.place()] -= mails;
        }
    }

    /// Has the members told of limits that are reached or nearly so, once a month. A request for more mails than are left
    /// reaches no limit: fewer may still be accepted.
    pub async fn save(self, tx: &Tx<'_>, now: Timestamp) -> Result<()> {
        for (project, held) in self.0 {
            let Some(month) = held.asked.last().copied() else { continue };
            let told = if held.noticed.0 == month.number() { held.noticed.1 } else { 0 };
            let mut bits = told;
            for (category, most, used) in held.each(month) {
                let reached = used >= most;
                let wanted = if reached { notice::bits(category) } else { notice::bit(category, false) };
                if !(reached || is_warning(most, used)) || bits & wanted == wanted {
                    continue;
                }
                // who is told that it is reached need not be told that it nearly is
                bits |= wanted;
                let id = NoticeId::new(now, rand::random());
                notice::add(tx, &Notice { id, project, month, category, reached, used, most }).await?;
            }
            if bits != told {
                account::set_noticed(tx, project, (month.number(), bits)).await?;
            }
        }
        Ok(())
    }
}

/// How many more mails a project may have as far as is known now, without a lock; `None` for any number.
pub async fn room_now(
    rx: &Rx<'_>,
    free: Option<i64>,
    project: ProjectNumber,
    category: Category,
    now: Timestamp,
) -> Result<Option<i64>> {
    let Some(free) = free else { return Ok(None) };
    let month = Month::of(now);
    let Some((_, account)) = account::some(rx, &[project]).await?.pop() else { return Ok(None) };
    let limits = account.limits(free);
    if !limits.is_any() {
        return Ok(None);
    }
    let used = usage::of_months(rx, project, [month]).await?.remove(&month).unwrap_or_default();
    Ok(limits.room(category, &used.mails))
}

impl Held {
    /// Each limit of a month: what it is for, how much it is, and how much of it is used.
    fn each(&self, month: Month) -> Vec<(Option<Category>, i64, i64)> {
        let used = self.used.get(&month).copied().unwrap_or_default();
        let own = Category::ALL.into_iter().filter_map(|category| {
            let most = self.limits.of_category[category.place()]?;
            Some((Some(category), most, used[category.place()]))
        });
        let shared = self.limits.shared.map(|most| (None, most, used.iter().sum()));
        own.chain(shared).collect()
    }
}
