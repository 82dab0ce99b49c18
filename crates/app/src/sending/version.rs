//! The former versions of templates and campaigns.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::project::Project;
use mailwright_store::body;
use mailwright_store::sending::version as store;

use crate::App;
use crate::error::{Error, Resource, Result};
use crate::sending::source::{Listed, Owner, Version};

/// A page of former versions.
#[derive(Debug)]
pub struct VersionPage {
    /// The versions, newest first.
    pub versions: Vec<Listed>,
    /// Whether more follow.
    pub has_more: bool,
    /// How many there are in all, on the first page; 0 on later ones.
    pub total: i64,
}

impl App {
    /// A page of the former versions of a template or campaign: those before the version `before`, if it is given.
    pub async fn versions(
        &self,
        project: &Project,
        owner: Owner,
        before: Option<i64>,
        limit: usize,
    ) -> Result<VersionPage> {
        self.check_owner(project, owner).await?;
        let number = project.number;
        self.read(body!(async |rx| {
            let mut versions = store::list(rx, number, owner, before, limit + 1).await?;
            let has_more = versions.len() > limit;
            versions.truncate(limit);
            let total = if before.is_none() { store::count(rx, number, owner).await? } else { 0 };
            Ok(VersionPage { versions, has_more, total })
        }))
        .await
    }

    /// A former version of a template or campaign.
    pub async fn version(&self, project: &Project, owner: Owner, number: i64) -> Result<Version> {
        self.check_owner(project, owner).await?;
        self.former(project.number, owner, number).await
    }

    /// The same of one that is known to be there, or that is looked for later.
    pub(crate) async fn former(&self, project: ProjectNumber, owner: Owner, number: i64) -> Result<Version> {
        let found = self.read(body!(async |rx| store::get(rx, project, owner, number).await)).await?;
        found.ok_or_else(|| Error::not_found(Resource::Version, number))
    }

    async fn check_owner(&self, project: &Project, owner: Owner) -> Result<()> {
        match owner {
            Owner::Template(id) => self.template(project, id).await.map(drop),
            Owner::Campaign(id) => self.campaign(project, id).await.map(drop),
        }
    }
}
