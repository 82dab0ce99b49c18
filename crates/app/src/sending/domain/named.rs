//! Domains as whoever runs the instance names them: by their name, of whatever project.

use mailwright_core::address::DomainName;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::project::Project;
use mailwright_store::feedback::origin;
use mailwright_store::sending::{domain as store, domain_key};
use mailwright_store::{body, project};

use super::records::DomainWithRecords;
use crate::App;
use crate::error::{Error, Resource, Result};

/// Projects that are read at a time.
const PROJECTS: i64 = 200;

impl App {
    /// Tells each domain of a project, or of all projects: those of one together, the newest first.
    pub async fn each_domain<E: From<Error>>(
        &self,
        of: Option<&Project>,
        mut tell: impl FnMut(&Project, &DomainWithRecords) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        if let Some(project) = of {
            return self.domains(project).await?.iter().try_for_each(|domain| tell(project, domain));
        }
        let mut after = ProjectNumber(i64::MIN);
        loop {
            let page = self.projects_after(after).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.number;
            for project in &page {
                self.domains(project).await?.iter().try_for_each(|domain| tell(project, domain))?;
            }
        }
    }

    /// The domain with a name and its project: that which is named (see [`App::find_project`]), or the only one that has
    /// the domain.
    pub async fn find_domain(
        &self,
        name: &DomainName,
        of: Option<&str>,
    ) -> Result<(Project, DomainWithRecords)> {
        let projects = match of {
            Some(project) => vec![self.find_project(project).await?],
            None => self.projects_with(name).await?,
        };
        let unknown = || Error::not_found(Resource::Domain, name);
        match &projects[..] {
            [] => Err(unknown()),
            [project] => {
                let (number, wanted) = (project.number, name.clone());
                let found = self.read(body!(async |rx| {
                    let Some(domain) = store::by_name(rx, number, &wanted).await? else { return Ok(None) };
                    let keys = domain_key::of(rx, number, domain.id).await?;
                    Ok(Some((domain, keys)))
                }));
                let (domain, keys) = found.await?.ok_or_else(unknown)?;
                let identities = self.identities(number, domain.id).await?;
                Ok((project.clone(), self.with_records(domain, keys, identities)))
            }
            several => Err(Error::Conflict(to_choose_from(name, several))),
        }
    }

    async fn projects_with(&self, name: &DomainName) -> Result<Vec<Project>> {
        let name = name.to_string();
        self.read(body!(async |rx| {
            let mut found = Vec::new();
            for number in origin::projects_of_domain(rx, &name).await? {
                found.extend(project::get(rx, number).await?);
            }
            Ok(found)
        }))
        .await
    }

    async fn projects_after(&self, after: ProjectNumber) -> Result<Vec<Project>> {
        self.read(body!(async |rx| {
            let mut page = Vec::new();
            for number in project::numbers(rx, after, PROJECTS).await? {
                page.extend(project::get(rx, number).await?);
            }
            Ok(page)
        }))
        .await
    }
}

/// Why the name of a domain is not enough, and the projects to choose from.
fn to_choose_from(name: &DomainName, found: &[Project]) -> String {
    let mut text =
        format!("Several projects have the domain {name}. Name the one that is meant with --project:");
    for project in found {
        text.push_str(&format!("\n  {}  {}", project.id, project.name));
    }
    text
}
