//! The workers of a cluster, and which of them has which project.
//!
//! Citus plans every statement on its coordinator, which takes many times longer than the statement itself. So a group
//! of coalesced writes is sent to the worker that has its projects, and names the parts of the tables there
//! ([`Part`](crate::database::part::Part)). Which part a project is in is asked of the coordinator and kept.
//!
//! **Moves.** While a part is moved, Citus holds a lock of its own on every server. Each transaction takes it as well,
//! shared, and then looks whether the part is still there (`Plans::begin_at`). If it is not, the transaction runs on the
//! coordinator, and the places are read again.
//!
//! **Servers that cannot be reached.** A server is connected to once before anything is sent to it: it may be known to the
//! coordinator under a name that means another server here. While it cannot be reached, what is about its projects is
//! sent to the coordinator, and a task tries again. So no request waits for a connection that will not come.

mod known;
mod reach;

use std::sync::Arc;

use deadpool_postgres::{Object, Pool};
use mailwright_core::ids::ProjectNumber;

use self::known::Known;
pub(crate) use self::known::Places;
pub(super) use self::reach::Reach;
use crate::database::part::Server;

pub(super) struct Workers {
    known: Known,
    reach: Arc<Reach>,
}

impl Workers {
    pub(super) fn new(reach: Reach) -> Self {
        Self { known: Known::default(), reach: Arc::new(reach) }
    }

    /// Where projects are. Those are left out whose place is not known, or whose server cannot be reached.
    pub(super) async fn places(&self, coordinator: &Pool, projects: &[ProjectNumber]) -> Places {
        let mut places = match self.known.places(coordinator, projects).await {
            Ok(places) => places,
            Err(error) => {
                // whatever is sent there next says so to its caller
                tracing::debug!(%error, "the coordinator did not say where projects are");
                return Places::new();
            }
        };
        places.retain(|_, part| self.reach.is_reached(coordinator, &part.server));
        places
    }

    /// The server that a project is on, if that is known already.
    pub(super) fn server_of(&self, project: ProjectNumber) -> Option<i64> {
        self.known.server_of(project)
    }

    /// A connection to the server of a part; `None` if it cannot be reached.
    pub(super) async fn connection(&self, coordinator: &Pool, server: &Server) -> Option<Object> {
        self.reach.connection(coordinator, server).await
    }

    /// Has the places read again before they are used.
    pub(super) fn forget(&self) {
        self.known.forget();
    }

    pub(super) fn renew(&self) {
        self.reach.renew();
    }

    pub(super) fn close(&self) {
        self.reach.close();
    }
}
