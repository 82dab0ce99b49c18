//! Actions that cannot be undone (deleting an account or a project, a reset, replacing keys) need recent proof of who
//! asks: a session of the last ten minutes, or the password in the body, with a code if there is a second factor. An
//! open browser or a stolen cookie is not enough.

use axum::extract::{FromRef, FromRequest, FromRequestParts, Request};
use mailwright_app::App;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Client, whoever_signed_in};
use crate::error::Failure;
use crate::fields::{Code, Password};
use crate::schema::{Body, Payload};

/// What shows that you are still who signed in. Not needed in the first ten minutes of a session.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ProofRequest {
    /// Your password.
    password: Option<Password>,
    /// Where you have a second factor: what the authenticator program shows, or a recovery code.
    code: Option<Code>,
}

impl Payload for ProofRequest {
    const MAX_BODY: usize = 16 * 1024;
}

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
        let app = App::from_ref(state);
        let (mut parts, body) = request.into_parts();
        let session = whoever_signed_in(&app, &parts, None).await?;
        if app.is_fresh(session.created_at) {
            return Ok(Self);
        }
        let Client(client) = Client::from_request_parts(&mut parts, state).await?;
        let Body(given) = Body::<ProofRequest>::read(Request::from_parts(parts, body)).await?;
        let (password, code) = (given.password.map(Into::into), given.code.map(Into::into));
        app.prove_again(&session.user, password, code, client).await?;
        Ok(Self)
    }
}
