//! Transactions that run on the server of a cluster that has the rows of their projects.

use std::slice;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use mailwright_core::ids::ProjectNumber;

use super::{BRIEFLY, Db, Engine};
use crate::database::body::{WriteBody, write_body, written};
use crate::database::detours::Detours;
use crate::database::error::{Error, Result};
use crate::database::part::Part;
use crate::database::postgres::{PartsOf, Plans};
use crate::database::sqlite::WriteKind::Interactive;
use crate::database::tx::Tx;
use crate::database::undone::{Answer, Refusal, Undone};

impl Db {
    /// The groups that are not sent to the servers of their projects.
    pub(crate) fn detours(&self) -> &Detours {
        &self.detours
    }

    /// The server of a cluster that a project is on, if that is known.
    pub(crate) fn server_of(&self, project: ProjectNumber) -> Option<i64> {
        let Engine::Postgres(engine) = &*self.engine else { return None };
        engine.server_of(project)
    }

    /// Like [`Db::write`] for a coalescer's group, whose statements find every row by its key. They wait for what other
    /// transactions hold for `wait` at most, and fail with [`Error::Contention`] then.
    ///
    /// If all rows are of parts of divided tables on one server, given in the order of their numbers, it runs on that
    /// server, and fails with [`Error::Elsewhere`] or [`Error::NoPart`] if it cannot run there.
    pub(crate) async fn write_group<T, F>(&self, wait: Duration, parts: &[Arc<Part>], body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        let (plans, body) = (Plans::Kept { wait }, write_body(body));
        written(match &*self.engine {
            Engine::Postgres(engine) if !parts.is_empty() => {
                self.noting_refusal(engine.write_at(parts, plans, body).await)
            }
            _ => self.transact(Interactive, plans, body).await,
        })
    }

    /// The parts of divided tables that projects are in, as far as groups of writes can be sent to them.
    pub(crate) async fn parts_of(&self, projects: &[ProjectNumber]) -> PartsOf {
        match &*self.engine {
            Engine::Sqlite(_) => PartsOf::new(),
            Engine::Postgres(engine) => engine.parts_of(projects).await,
        }
    }

    /// Like [`Db::try_write`] for rows of one project, which are found faster on their server.
    pub async fn try_write_of<T, E, F>(&self, project: ProjectNumber, body: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: Refusal,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, E>> + Clone + Send + 'static,
    {
        match self.at_part(project, write_body(body.clone())).await {
            Some(outcome) => written(outcome),
            None => self.try_write(body).await,
        }
    }

    /// Like [`Db::write`] for rows of one project, which are found faster on their server.
    pub async fn write_of<T, E, F>(&self, project: ProjectNumber, body: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: Refusal,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, E>> + Clone + Send + 'static,
    {
        match self.at_part(project, write_body(body.clone())).await {
            None | Some(Err(Undone::Failed(Error::Contention(_)))) => self.write(body).await,
            Some(outcome) => written(outcome),
        }
    }

    /// Like [`Db::write_in_background`] for rows of one project, which are found faster on their server.
    pub async fn write_in_background_of<T, E, F>(&self, project: ProjectNumber, body: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: Refusal,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, E>> + Clone + Send + 'static,
    {
        match self.at_part(project, write_body(body.clone())).await {
            Some(outcome) => written(outcome),
            None => self.write_in_background(body).await,
        }
    }

    /// Runs a transaction on the server that has a project; `None` if it cannot run there.
    async fn at_part(&self, project: ProjectNumber, body: WriteBody) -> Option<Result<Answer, Undone>> {
        let Engine::Postgres(engine) = &*self.engine else { return None };
        let part = engine.parts_of(&[project]).await.remove(&project)?;
        let plans = Plans::Fresh { wait: Some(BRIEFLY) };
        match self.noting_refusal(engine.write_at(slice::from_ref(&part), plans, body).await) {
            Err(Undone::Failed(Error::Elsewhere | Error::NoPart)) => None,
            outcome => Some(outcome),
        }
    }
}
