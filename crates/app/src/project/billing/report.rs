//! How many mails projects had in a month, for those who bill by other means.

use mailwright_core::billing::Category;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::month::Month;
use mailwright_core::project::Project;
use mailwright_store::body;
use mailwright_store::project as store;
use mailwright_store::project::billing::usage::{self, Used};

use crate::App;
use crate::error::Result;

/// Projects that are read together.
const PROJECTS: i64 = 200;

/// How many mails of a category a project had in a month.
#[derive(Debug, Clone)]
pub struct UsageLine {
    /// The project.
    pub project: Project,
    /// The category.
    pub category: Category,
    /// Mails.
    pub mails: i64,
    /// Units: 1 for a mail, 2 for one with attachments.
    pub units: i64,
}

impl App {
    /// Tells how many mails each project had in a month: a line for each category with any. It holds a few hundred projects in
    /// memory at a time.
    pub async fn report_usage<E: From<crate::Error>>(
        &self,
        month: Month,
        mut told: impl FnMut(&UsageLine) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut after = ProjectNumber(i64::MIN);
        loop {
            let page = self.usage_page(month, after).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = last.number;
            // the instance's own mails are nobody's to pay for
            for (project, used) in page.into_iter().filter(|(project, _)| !project.is_system()) {
                for category in Category::ALL {
                    let (mails, units) = (used.mails[category.place()], used.units[category.place()]);
                    if mails != 0 || units != 0 {
                        told(&UsageLine { project: project.clone(), category, mails, units })?;
                    }
                }
            }
        }
    }

    async fn usage_page(&self, month: Month, after: ProjectNumber) -> Result<Vec<(Project, Used)>> {
        self.read(body!(async |rx| {
            let mut page = Vec::new();
            for number in store::numbers(rx, after, PROJECTS).await? {
                let Some(project) = store::get(rx, number).await? else { continue };
                let used = usage::of_months(rx, number, [month]).await?.remove(&month);
                page.push((project, used.unwrap_or_default()));
            }
            Ok(page)
        }))
        .await
    }
}
