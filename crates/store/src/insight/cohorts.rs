//! Contacts by the month in which they were created (UTC), and how many of them opened mails in each month since.
//!
//! `contact_months` has a row for each contact and month with an open. A transaction that records opens adds those that
//! are missing, and counts them; one that takes the last open of a month back removes the row. So a year of cohorts is some
//! counters, whatever the number of contacts.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::event::EMAIL_OPEN;
use mailwright_core::ids::{ContactId, EventId, ProjectNumber};
use mailwright_core::month::Month;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::insight::counter::{self, BEYOND_DIGITS, Counter, Sums};

/// Contacts with an open in a month.
pub(crate) type Opened = BTreeSet<(ProjectNumber, ContactId, Month)>;

/// What the name of the counter of a cohort is, or of those of it who opened mails in a month.
fn name(created: Month, opened: Option<Month>) -> String {
    match opened {
        None => format!("{:06}", created.number()),
        Some(month) => format!("{:06} {:06}", created.number(), month.number()),
    }
}

fn cohort_of(contact: ContactId) -> Month {
    Month::of(contact.instant())
}

/// Counts a contact that was created, or removed.
pub(crate) fn count(sums: &mut Sums, project: ProjectNumber, contact: ContactId, delta: i64) {
    sums.add(project, Counter::Cohort, &name(cohort_of(contact), None), delta);
}

/// Notes contacts with an open in a month, and counts those that had none before.
pub(crate) async fn note(tx: &Tx<'_>, opened: &Opened, sums: &mut Sums) -> Result<()> {
    if opened.is_empty() {
        return Ok(());
    }
    let new = tx
        .each_returning(
            "insert into contact_months (project_id, contact_id, month) select r.project_id, r.contact_id, r.month \
             from {rows r: project_id int, contact_id id, month int} where true \
             on conflict (project_id, contact_id, month) do nothing returning project_id, contact_id, month",
            &[
                Arg::Ints(opened.iter().map(|(project, ..)| Some(project.0)).collect()),
                Arg::Ids(opened.iter().map(|(_, contact, _)| Some((*contact).into())).collect()),
                Arg::Ints(opened.iter().map(|(.., month)| Some(month.number())).collect()),
            ],
            |r| Ok((ProjectNumber(r.get(0)?), r.get::<ContactId>(1)?, Month::from_number(r.get(2)?))),
        )
        .await?;
    for (project, contact, month) in new {
        sums.add(project, Counter::Cohort, &name(cohort_of(contact), Some(month)), 1);
    }
    Ok(())
}

/// Removes the months of opens that were taken back, unless others are left in them.
pub(crate) async fn take_back(
    tx: &Tx<'_>,
    project: ProjectNumber,
    opens: &BTreeSet<(ContactId, Month)>,
    sums: &mut Sums,
) -> Result<()> {
    for (contact, month) in opens {
        let gone = tx
            .execute(
                "delete from contact_months where project_id = $1 and contact_id = $2 and month = $3 and not exists \
                 (select 1 from events e where e.project_id = $1 and e.contact_id = $2 and e.name = $4 \
                 and e.id >= $5 and e.id < $6)",
                args![
                    project,
                    *contact,
                    month.number(),
                    EMAIL_OPEN,
                    EventId::first_of(month.start()),
                    EventId::first_of(month.end()),
                ],
            )
            .await?;
        sums.add(project, Counter::Cohort, &name(cohort_of(*contact), Some(*month)), -(gone as i64));
    }
    Ok(())
}

/// Forgets a contact that is removed.
pub(crate) async fn forget(
    tx: &Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    sums: &mut Sums,
) -> Result<()> {
    count(sums, project, contact, -1);
    let months = tx
        .all(
            "delete from contact_months where project_id = $1 and contact_id = $2 returning month",
            args![project, contact],
            |r| r.get::<i64>(0),
        )
        .await?;
    for month in months {
        sums.add(project, Counter::Cohort, &name(cohort_of(contact), Some(Month::from_number(month))), -1);
    }
    Ok(())
}

/// The contacts that were created in a month.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cohort {
    /// How many there are.
    pub contacts: i64,
    /// How many of them opened mails, by month.
    pub opened: BTreeMap<Month, i64>,
}

/// The cohorts from a month on.
pub async fn read(rx: &Rx<'_>, project: ProjectNumber, from: Timestamp) -> Result<BTreeMap<Month, Cohort>> {
    let names = (&*name(Month::of(from), None), BEYOND_DIGITS);
    let counters = counter::between(rx, project, Counter::Cohort, names).await?;
    let mut cohorts: BTreeMap<Month, Cohort> = BTreeMap::new();
    for (name, value) in counters {
        let (created, opened) =
            name.split_once(' ').map_or((name.as_str(), None), |(of, month)| (of, Some(month)));
        let (Ok(created), opened) = (created.parse().map(Month::from_number), opened.map(str::parse)) else {
            continue;
        };
        let cohort = cohorts.entry(created).or_default();
        match opened {
            None => cohort.contacts += value,
            Some(Ok(month)) => *cohort.opened.entry(Month::from_number(month)).or_default() += value,
            Some(Err(_)) => {}
        }
    }
    Ok(cohorts)
}
