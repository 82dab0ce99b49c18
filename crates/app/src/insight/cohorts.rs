//! Contacts by the month in which they were created, and who of them still opens.

use mailwright_core::month::Month;
use mailwright_core::project::Project;
use mailwright_store::body;
use mailwright_store::insight::cohorts as store;

use crate::App;
use crate::error::Result;

/// How many contacts of a month opened mails in a month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CohortMonth {
    /// When the contacts were created.
    pub created: Month,
    /// When they opened mails.
    pub month: Month,
    /// How many contacts of the first month there are.
    pub contacts: i64,
    /// How many of them opened a mail in the second.
    pub opened: i64,
}

impl App {
    /// The contacts of the last months, this one included, with each month since. Months without contacts are left out.
    pub async fn cohorts(&self, project: &Project, months: i64) -> Result<Vec<CohortMonth>> {
        let (number, now) = (project.number, Month::of(self.clock().now()));
        let from = now.plus(1 - months).start();
        let cohorts = self.read(body!(async |rx| store::read(rx, number, from).await)).await?;
        let present = cohorts.into_iter().filter(|(_, cohort)| cohort.contacts > 0);
        let rows = present.flat_map(|(created, cohort)| {
            (created.number()..=now.number()).map(move |month| CohortMonth {
                created,
                month: Month::from_number(month),
                contacts: cohort.contacts,
                opened: cohort.opened.get(&Month::from_number(month)).copied().unwrap_or_default(),
            })
        });
        Ok(rows.collect())
    }
}
