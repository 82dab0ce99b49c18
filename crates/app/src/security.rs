//! How well a project's mail is received (reference 3.6).

use std::time::Duration;

use mailwright_core::project::Project;
use mailwright_core::reputation::{Figures, Health, Totals};
use mailwright_store::email;
use mailwright_store::suspension::{self, Suspension};

use crate::App;
use crate::error::Result;

/// How long a project counts as new.
const NEW: Duration = Duration::from_hours(30 * 24);
/// Days of a week.
const WEEK: i64 = 7;
/// How many suspensions are shown.
const SHOWN: i64 = 20;

/// The figures of a project and what they mean.
#[derive(Debug, Clone)]
pub struct Security {
    /// The figures.
    pub figures: Figures,
    /// The judgement.
    pub health: Health,
    /// Times for which the project was disabled, newest first.
    pub suspensions: Vec<Suspension>,
}

impl App {
    /// How well a project's mail is received.
    pub async fn security(&self, project: &Project) -> Result<Security> {
        let (number, now) = (project.number, self.0.clock.now());
        let created_at = self.project(project).await?.created_at;
        let (figures, suspensions) = self
            .0
            .db
            .read(move |rx| {
                Box::pin(async move {
                    let (ever, days) = email::reception(rx, number, email::day(now), WEEK).await?;
                    let is_new = now.since(created_at) < NEW;
                    Ok((figures(ever, &days, is_new), suspension::recent(rx, number, SHOWN).await?))
                })
            })
            .await?;
        Ok(Security { figures, health: Health::of(&figures), suspensions })
    }
}

/// Sums up days, the latest first. A day is one of the calendar, so that the last 24 hours are today and yesterday.
fn figures(ever: Totals, days: &[Totals], is_new: bool) -> Figures {
    let sum = |days: &[Totals]| {
        days.iter().fold(Totals::default(), |sum, day| Totals {
            total: sum.total + day.total,
            bounces: sum.bounces + day.bounces,
            complaints: sum.complaints + day.complaints,
        })
    };
    Figures { day: sum(&days[..days.len().min(2)]), week: sum(days), ever, is_new }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_days_of_the_calendar() {
        let one = Totals { total: 1, bounces: 1, complaints: 0 };
        let found = figures(Totals { total: 9, ..one }, &[one; 7], true);
        assert_eq!((found.day.total, found.week.total, found.ever.total), (2, 7, 9));
        assert_eq!(figures(one, &[], false).week, Totals::default());
    }
}
