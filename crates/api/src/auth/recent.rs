//! Actions that cannot be undone (deleting an account or a project, a reset, replacing keys) need recent proof of who
//! asks: a session of the last ten minutes, or the password in the body, with a code if there is a second factor. An
//! open browser or a stolen cookie is not enough. What is given is checked in any case: who sends a wrong password, or a
//! body that cannot be read, did not mean what would be done.

use axum::extract::{FromRef, FromRequest, FromRequestParts, Request};
use mailwright_app::App;
use serde::Deserialize;
use utoipa::ToSchema;

use super::client::Client;
use super::session::whoever_signed_in;
use crate::error::Failure;
use crate::fields::{Code, Password};
use crate::schema::{Body, Payload};

/// Proof that you are the person who signed in. Not needed in the first ten minutes of a session, but checked if given.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ProofRequest {
    /// Your password.
    password: Option<Password>,
    /// Required if you have a second factor: the code that the authenticator app shows, or a recovery code.
    code: Option<Code>,
}

impl Payload for ProofRequest {
    const MAX_BODY: usize = 16 * 1024;
}

/// A body that has the proof beside what it asks for.
pub(crate) trait HasProof: Payload {
    /// The password and the code, where they are given.
    fn proof(&mut self) -> (Option<Password>, Option<Code>);
}

impl HasProof for ProofRequest {
    fn proof(&mut self) -> (Option<Password>, Option<Code>) {
        (self.password.take(), self.code.take())
    }
}

/// The same as [`RecentProof`], with a body that asks for more.
pub(crate) struct Proven<T>(pub(crate) T);

/// A session that began a short time ago, or the password in the body. It reads the body, so it comes last; who may do
/// what the request asks for, the other extractors say before.
pub(crate) struct RecentProof;

impl<S> FromRequest<S> for RecentProof
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        Proven::<ProofRequest>::from_request(request, state).await.map(|_| Self)
    }
}

impl<S, T> FromRequest<S> for Proven<T>
where
    S: Send + Sync,
    App: FromRef<S>,
    T: HasProof,
{
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let app = App::from_ref(state);
        let (mut parts, body) = request.into_parts();
        let session = whoever_signed_in(&app, &parts, None).await?;
        let Client(client) = Client::from_request_parts(&mut parts, state).await?;
        let Body(mut given) = Body::<T>::read(Request::from_parts(parts, body)).await?;
        let (password, code) = given.proof();
        if app.is_fresh(session.created_at) && password.is_none() && code.is_none() {
            return Ok(Self(given));
        }
        let (password, code) = (password.map(Into::into), code.map(Into::into));
        app.prove_again(&session.user, password, code, client).await?;
        Ok(Self(given))
    }
}
