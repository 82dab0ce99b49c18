//! Erasing a person. A request removes the contact and stops its mail; the rest is done here, step by step, by any
//! process (see [`mailwright_store::audience::erasure`]).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ErasureId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_store::audience::erased;
use mailwright_store::audience::erasure::{self as store, Progress, Request};
use mailwright_store::body;
use mailwright_store::project::audit::{self, Entry};
use serde_json::json;

use crate::App;
use crate::background::project_work::ProjectWork;
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::error::{Error, Resource, Result};

pub use mailwright_store::audience::erasure::{Receipt, Whom};

/// How often it is looked for erasures that no waker announced, or that wait for an import.
const SWEEP: Duration = Duration::from_millis(500);
/// Most erasures that one round finds.
const FOUND: i64 = 500;
/// When a step is tried again that failed.
const PUT_OFF: Duration = Duration::from_secs(30);
/// Most erasures of a project that are under way.
pub const MAX_RUNNING: i64 = 1_000;

/// What is known of an address.
#[derive(Debug)]
pub struct Standing {
    /// Whether the address is kept out of the project.
    pub is_kept_out: bool,
    /// The newest receipts of erasures of the address.
    pub receipts: Vec<Receipt>,
}

pub(crate) fn start(app: &App, tasks: &Tasks) {
    let erasing = Erasing { app: app.clone(), work: ProjectWork::new(tasks) };
    Runner::new(app, "erasures", SWEEP).woken_by(&app.0.audience.erasures).start(tasks, erasing);
}

struct Erasing {
    app: App,
    work: ProjectWork,
}

impl Work for Erasing {
    async fn round(&mut self) -> Result<Next> {
        let now = self.app.clock().now();
        let due = self.app.read(body!(async |rx| store::due(rx, now, FOUND).await)).await?;
        let mut by_project: BTreeMap<ProjectNumber, Vec<ErasureId>> = BTreeMap::new();
        for (project, id) in due {
            by_project.entry(project).or_default().push(id);
        }
        for (project, ids) in by_project {
            let (app, work) = (self.app.clone(), self.work.clone());
            self.work.start("erasures", project, async move {
                app.go_on_erasing(project, ids, &work).await;
            });
        }
        Ok(Next::Woken)
    }
}

impl App {
    /// Erases a person. When this returns the contact is gone, and no mail is handed over to the person any more, but for
    /// what a mail server was being given. Everything else follows in the background. A person who was erased before has
    /// the receipt of that.
    pub async fn erase(
        &self,
        project: &Project,
        actor: &Actor,
        whom: Whom,
        keep_out: bool,
    ) -> Result<Receipt> {
        let (number, at) = (project.number, self.0.clock.now());
        let id = ErasureId::new(at, rand::random());
        let request = Request { project: number, id, whom, keep_out, actor: actor.clone(), at };
        let begun = self.write(body!(async |tx| {
            let begun = store::begin(tx, &request).await?;
            let begun = begun.ok_or_else(|| match &request.whom {
                Whom::Contact(id) => Error::not_found(Resource::Contact, id),
                Whom::Address(email) => Error::not_found(Resource::Contact, email),
            })?;
            if begun.is_new {
                if store::running(tx, request.project).await? > MAX_RUNNING {
                    return Err(Error::QueueFull(format!(
                        "{MAX_RUNNING} erasures of this project are under way already. Try again when some of them are done."
                    )));
                }
                let entry = Entry::new(Action::PersonErased, request.id.to_string())
                    .with(json!({ "keepOut": request.keep_out }));
                audit::record(tx, request.project, &request.actor, &entry, request.at).await?;
            }
            Ok(begun)
        }));
        let receipt = begun.await?.receipt;
        let id = receipt.id;
        while self.step_of_erasure(number, id).await? == Progress::Stopping {}
        self.0.audience.erasures.wake();
        self.erasure(project, id).await
    }

    async fn step_of_erasure(&self, number: ProjectNumber, id: ErasureId) -> Result<Progress> {
        let now = self.0.clock.now();
        self.write(body!(async |tx| Ok(store::step(tx, number, id, now).await?))).await
    }

    /// The receipt of an erasure.
    pub async fn erasure(&self, project: &Project, id: ErasureId) -> Result<Receipt> {
        let number = project.number;
        let found = self.read(body!(async |rx| store::get(rx, number, id).await)).await?;
        found.ok_or_else(|| Error::not_found(Resource::Erasure, id))
    }

    /// Whether an address was erased, and is kept out.
    pub async fn erasure_standing(&self, project: &Project, email: EmailAddress) -> Result<Standing> {
        const MOST: usize = 20;
        let number = project.number;
        self.read(body!(async |rx| {
            let erased = erased::get(rx, number, &email).await?;
            let receipts = store::of_address(rx, number, &email, MOST).await?;
            Ok(Standing { is_kept_out: erased.is_some_and(|erased| erased.kept_out), receipts })
        }))
        .await
    }

    /// Goes on with erasures of a project, one after the other.
    async fn go_on_erasing(&self, project: ProjectNumber, ids: Vec<ErasureId>, work: &ProjectWork) {
        let began = Instant::now();
        for id in ids {
            loop {
                let now = self.0.clock.now();
                let step =
                    self.write_in_background(body!(async |tx| Ok(store::step(tx, project, id, now).await?)));
                match step.await {
                    Ok(Progress::Stopping | Progress::More) if work.goes_on(began) => {}
                    Ok(Progress::Waits) => break,
                    Ok(Progress::Done) => {
                        tracing::info!(erasure = %id, project = project.0, "a person was erased");
                        break;
                    }
                    // others wait, or another transaction is at it: the next round goes on
                    Ok(_) => return,
                    Err(error) if error.is_contention() => return,
                    Err(error) => {
                        tracing::error!(%error, erasure = %id, project = project.0, "a step of an erasure failed, it is tried again later");
                        self.put_erasure_off(project, id).await;
                        break;
                    }
                }
            }
        }
    }

    async fn put_erasure_off(&self, project: ProjectNumber, id: ErasureId) {
        let until = self.0.clock.now().plus(PUT_OFF);
        let written =
            self.write_in_background(body!(async |tx| { Ok(store::put_off(tx, project, id, until).await?) }));
        if let Err(error) = written.await {
            tracing::warn!(%error, erasure = %id, "an erasure could not be put off");
        }
    }
}
