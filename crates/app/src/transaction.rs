//! The transactions of use cases. Whatever a body ends with but `Ok` undoes all that it wrote: a refusal as well as a
//! failure. What has to outlast a refusal is written in a transaction of its own before, or the body ends with `Ok` and
//! says in what it returns why it refused.

use futures_util::future::BoxFuture;
use mailwright_store::Tx;

use crate::App;
use crate::error::Result;

impl App {
    /// Runs the transaction of a use case, again when another one got in the way.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        body: impl for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Clone + Send + 'static,
    ) -> Result<T> {
        self.0.db.write(body).await
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
