//! The bodies of transactions and reads: closures whose future borrows the transaction.
//!
//! [`body!`](crate::body) writes one. An `async` closure cannot be used: nothing says yet that the future of an `async`
//! closure is `Send`.

use futures_util::future::BoxFuture;

use crate::database::error::{Error, Result};
use crate::database::tx::{Rx, Tx};
use crate::database::undone::{Answer, Refusal, Undone};

/// The body of a transaction or a read, for the methods of [`Db`](crate::Db): `body!(async |tx| work(tx, id).await)`.
/// It owns what it uses of the variables around it.
#[macro_export]
macro_rules! body {
    (async |$tx:ident| $body:block) => {
        move |$tx| Box::pin(async move $body)
    };
    (async |$tx:ident| $body:expr) => {
        move |$tx| Box::pin(async move { $body })
    };
}

/// The body of a read. There is one type for all of them, so that what runs it is compiled once.
pub(crate) type ReadBody =
    Box<dyn for<'t, 'c> FnOnce(&'t mut Rx<'c>) -> BoxFuture<'t, Result<Answer>> + Send>;
/// The body of a transaction, of one type for the same reason.
pub(crate) type WriteBody =
    Box<dyn for<'t, 'c> FnOnce(&'t mut Tx<'c>) -> BoxFuture<'t, Result<Answer, Undone>> + Send>;

pub(crate) fn read_body<T, F>(body: F) -> ReadBody
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Rx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
{
    Box::new(move |rx| answering(body(rx)))
}

pub(crate) fn write_body<T, E, F>(body: F) -> WriteBody
where
    T: Send + 'static,
    E: Refusal,
    F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, E>> + Send + 'static,
{
    Box::new(move |tx| {
        let work = body(tx);
        Box::pin(async move { work.await.map(|found| Box::new(found) as Answer).map_err(Undone::of) })
    })
}

fn answering<T: Send + 'static>(work: BoxFuture<'_, Result<T>>) -> BoxFuture<'_, Result<Answer>> {
    Box::pin(async move { work.await.map(|found| Box::new(found) as Answer) })
}

pub(crate) fn written<T: Send + 'static, E: Refusal>(outcome: Result<Answer, Undone>) -> Result<T, E> {
    let answer = outcome.map_err(Undone::into_error::<E>)?;
    Ok(answered(answer)?)
}

pub(crate) fn answered<T: Send + 'static>(answer: Answer) -> Result<T> {
    match answer.downcast::<T>() {
        Ok(found) => Ok(*found),
        Err(_) => Err(Error::Statement("a body answered with something else".into())),
    }
}
