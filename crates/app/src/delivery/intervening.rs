//! What operators and projects want done with mail that waits: noting it, ending it, listing it.

use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::InterventionId;
use mailwright_core::intervention::{Intervention, InterventionKind, Scope};
use mailwright_core::project::Project;
use mailwright_store::delivery::intervention as store;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::{Tx, body, project};
use serde_json::json;

use crate::App;
use crate::error::{Error, Resource, Result};

/// Most of all projects together: they must not take the operator's.
const MOST_OF_PROJECTS: usize = 20_000;
/// Most of a project for itself.
pub const MOST_OF_PROJECT: usize = 20;
/// Most of a project that have ended: each is kept for some seconds, so that all of its mail is let go. Without a
/// limit, there would be as many as a project makes requests.
pub const MOST_ENDED: usize = 200;
/// Most interventions of the instance.
pub const MOST: usize = 20_000;
/// Most mails that are counted.
pub const COUNTED: i64 = 10_000;
/// Most that are in force at a time.
pub(super) const MOST_IN_FORCE: i64 = (MOST + MOST_OF_PROJECTS) as i64;

/// Something that is wanted, before it has an id.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What. That a site is resumed is wanted by [`App::resume_site`].
    pub kind: InterventionKind,
    /// With which mail: of a project, for a domain or for a site. Not for a domain and a site.
    pub scope: Scope,
    /// By which transport it leaves, where it is to leave by another.
    pub transport: Option<String>,
    /// Why, for people.
    pub reason: Option<String>,
}

impl App {
    /// Notes what an operator wants.
    pub async fn intervene(&self, wanted: Wanted) -> Result<Intervention> {
        if wanted.scope == Scope::default() {
            return Err(Error::BadRequest("Name a project, a domain or a site.".into()));
        }
        if wanted.scope.domain.is_some() && wanted.scope.site.is_some() {
            return Err(Error::BadRequest("Name a domain or a site, not both.".into()));
        }
        match (&wanted.kind, &wanted.transport) {
            (InterventionKind::Reroute, None) => {
                return Err(Error::BadRequest("Name the transport by which the mail is to leave.".into()));
            }
            (InterventionKind::Reroute, Some(name)) if !self.transports().has(name) => {
                let names = self.transports().names().join(", ");
                return Err(Error::BadRequest(format!(
                    "There is no transport with the name {name}. There are: {names}. Transports that stand in a file \
                     are known with --config."
                )));
            }
            _ => {}
        }
        self.store_intervention(wanted, Actor::Operator, MOST).await
    }

    /// Notes what a project wants done with its own mail. Returns it with how many mails wait for it.
    pub async fn intervene_for(
        &self,
        project: &Project,
        actor: &Actor,
        wanted: Wanted,
    ) -> Result<(Intervention, i64)> {
        let scope = Scope { project: Some(project.number), ..wanted.scope };
        let wanted = Wanted { scope, ..wanted };
        let made = self.store_intervention(wanted, actor.clone(), MOST_OF_PROJECT).await?;
        let (project, id) = (project.number, made.id);
        let waiting = self.read(body!(async |rx| store::waiting(rx, project, id, COUNTED).await)).await?;
        Ok((made, waiting))
    }

    /// Stores what is wanted. Where the same is in force already, nothing is stored, and that is returned. What is
    /// given up depends on the time at which that was wanted, so it is never the same.
    async fn store_intervention(&self, wanted: Wanted, actor: Actor, most: usize) -> Result<Intervention> {
        let now = self.0.clock.now();
        let new = Intervention {
            id: InterventionId::new(now, rand::random()),
            kind: wanted.kind,
            scope: wanted.scope,
            transport: wanted.transport,
            reason: wanted.reason,
            created_by: actor.to_string(),
            created_name: actor.name().map(str::to_owned),
            created_at: now,
            ended_at: None,
        };
        let stored = new.clone();
        let in_force = self.write(body!(async |tx| {
            if stored.kind != InterventionKind::Expire
                && let Some(same) = store::same(tx, &stored).await?
            {
                return Ok(Some(same));
            }
            check_room(tx, &stored, most).await?;
            store::add(tx, &stored).await?;
            if let Some(project) = stored.scope.project {
                audit::record(tx, project, &actor, &entry(Action::InterventionMade, &stored), now).await?;
            }
            Ok(None)
        }));
        if let Some(same) = in_force.await? {
            return Ok(same);
        }
        let Scope { project, domain, site } = &new.scope;
        tracing::info!(id = %new.id, kind = new.kind.as_str(), project = project.map(|project| project.0),
            domain = domain.as_deref(), site = site.as_deref(), by = new.created_by, "mail is intervened in");
        Ok(new)
    }

    /// Ends an intervention, and returns it: what it paused is tried again. A project can end its own only.
    pub async fn end_intervention(
        &self,
        project: Option<&Project>,
        actor: &Actor,
        id: InterventionId,
    ) -> Result<Intervention> {
        let (of, actor, now) = (project.map(|project| project.number), actor.clone(), self.0.clock.now());
        let by = actor.to_string();
        let ended = self.write(body!(async |tx| {
            let gone = || Error::not_found(Resource::Intervention, id);
            let found =
                store::get(tx, id).await?.filter(|found| found.ended_at.is_none()).ok_or_else(gone)?;
            if of.is_some_and(|of| found.scope.project != Some(of)) {
                return Err(gone());
            }
            if of.is_some() && found.is_of_operator() {
                return Err(Error::NotAllowed(
                    "The operator began this; only the operator can end it.".into(),
                ));
            }
            if !store::end(tx, id, now).await? {
                return Err(gone());
            }
            if let Some(project) = found.scope.project {
                audit::record(tx, project, &actor, &entry(Action::InterventionEnded, &found), now).await?;
            }
            Ok(found)
        }));
        let ended = ended.await?;
        let Scope { project, domain, site } = &ended.scope;
        tracing::info!(%id, kind = ended.kind.as_str(), project = project.map(|project| project.0),
            domain = domain.as_deref(), site = site.as_deref(), by, "mail is intervened in no longer");
        Ok(ended)
    }

    /// The interventions of a project that are in force, with how many mails wait for each.
    pub async fn interventions(&self, project: &Project) -> Result<Vec<(Intervention, i64)>> {
        let project = project.number;
        self.read(body!(async |rx| {
            let found = store::of_project(rx, project, MOST as i64).await?;
            let mut counted = Vec::with_capacity(found.len());
            for one in found {
                let waiting = store::waiting(rx, project, one.id, COUNTED).await?;
                counted.push((one, waiting));
            }
            Ok(counted)
        }))
        .await
    }

    /// All interventions that are in force, each with the project of its scope, where that is there.
    pub async fn all_interventions(&self) -> Result<Vec<(Intervention, Option<Project>)>> {
        self.read(body!(async |rx| {
            let mut found = Vec::new();
            for one in store::all(rx, MOST_IN_FORCE).await?.into_iter().filter(|one| one.ended_at.is_none()) {
                let project = match one.scope.project {
                    Some(number) => project::get(rx, number).await?,
                    None => None,
                };
                found.push((one, project));
            }
            Ok(found)
        }))
        .await
    }
}

/// Refuses an intervention that there is no room for: `most` may be in force of the operator, or of its project.
pub(super) async fn check_room(tx: &mut Tx<'_>, new: &Intervention, most: usize) -> Result<()> {
    let (of_operator, of_projects) = store::counts(tx).await?;
    let known = match new.scope.project {
        Some(project) if !new.is_of_operator() => {
            if of_projects as usize >= MOST_OF_PROJECTS {
                return Err(Error::BadRequest(format!(
                    "The projects of this instance have {MOST_OF_PROJECTS} interventions together, which is the limit. \
                     Ask whoever runs it."
                )));
            }
            if store::ended_of_project(tx, project).await? as usize >= MOST_ENDED {
                return Err(Error::BadRequest(format!(
                    "{MOST_ENDED} interventions were ended a moment ago. Try again in a minute."
                )));
            }
            store::of_project(tx, project, MOST as i64).await?.len()
        }
        _ => of_operator as usize,
    };
    if known >= most {
        return Err(Error::BadRequest(format!(
            "There are {most} interventions already, which is the limit. End some that are not needed before you make \
             another."
        )));
    }
    Ok(())
}

fn entry(action: Action, of: &Intervention) -> Entry {
    let target = of.scope.domain.clone().or_else(|| of.scope.site.clone());
    let entry = target.map_or_else(|| Entry::of_project(action), |target| Entry::new(action, target));
    entry.with(json!({ "kind": of.kind.as_str(), "reason": of.reason }))
}
