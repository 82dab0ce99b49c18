//! The transactions of use cases.
//!
//! A body that ends with `Err` undoes everything that it wrote, whether the error is a refusal or a failure. If
//! something has to outlast a refusal, it is written in an earlier transaction of its own, as attempts to sign in are;
//! or the body ends with `Ok` and a value that says why it refused, as for a code that was used up or an invitation
//! that was counted.
//!
//! A write that another transaction gets in the way of is tried again. A failure of the store stays what it is
//! ([`Error::Store`](crate::Error)) until a client is told ([`Error::told`](crate::Error::told)).

use futures_util::future::BoxFuture;
use mailwright_core::ids::ProjectNumber;
use mailwright_store::{Door, Result as StoreResult, Rx, Tx};

use crate::App;
use crate::error::Result;

impl App {
    /// Reads a few rows by their keys.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        body: impl for<'t> FnOnce(&'t mut Rx<'_>) -> BoxFuture<'t, StoreResult<T>> + Send + 'static,
    ) -> Result<T> {
        Ok(self.0.db.read(body).await?)
    }

    /// Reads what may be every row of a project.
    pub(crate) async fn read_slow<T: Send + 'static>(
        &self,
        project: ProjectNumber,
        body: impl for<'t> FnOnce(&'t mut Rx<'_>) -> BoxFuture<'t, StoreResult<T>> + Send + 'static,
    ) -> Result<T> {
        Ok(self.0.db.read_slow(project, body).await?)
    }

    /// Reads by the door that the caller names.
    pub(crate) async fn read_by<T: Send + 'static>(
        &self,
        door: Door,
        body: impl for<'t> FnOnce(&'t mut Rx<'_>) -> BoxFuture<'t, StoreResult<T>> + Send + 'static,
    ) -> Result<T> {
        Ok(self.0.db.read_by(door, body).await?)
    }

    /// Runs the transaction of a use case, again when another one got in the way.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        body: impl for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Clone + Send + 'static,
    ) -> Result<T> {
        self.0.db.write(body).await
    }

    /// The same for some thousand rows that somebody waits for.
    pub(crate) async fn write_large<T: Send + 'static>(
        &self,
        body: impl for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Clone + Send + 'static,
    ) -> Result<T> {
        self.0.db.write_large(body).await
    }

    /// The same for what writes much, which lets interactive writes go first.
    pub(crate) async fn write_bulk<T: Send + 'static>(
        &self,
        body: impl for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Clone + Send + 'static,
    ) -> Result<T> {
        self.0.db.write_bulk(body).await
    }

    /// The same for work that comes again, which waits only for a moment for what another transaction holds.
    pub(crate) async fn write_in_background<T: Send + 'static>(
        &self,
        body: impl for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.0.db.write_in_background(body).await
    }
}
