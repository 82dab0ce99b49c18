//! An endpoint of a project that pages also open with a form, whose answer a frame shows. A form sends no headers, so
//! that it names the project in a field. The session is looked at before the form is read, and the membership after.

use std::marker::PhantomData;

use axum::extract::{FromRef, FromRequest, Request};
use axum::http::header::AUTHORIZATION;
use mailwright_app::App;
use mailwright_core::ids::ProjectId;
use mailwright_core::project::Project;
use serde_json::{Map, Value};

use super::cookie::session_cookie;
use super::extract::{Caller, enter, split};
use super::needs::Needs;
use super::permit::count_person;
use super::place::Place;
use super::session::signed_in;
use crate::error::{ApiError, Failure};
use crate::page::Form;
use crate::schema::{Body, Payload};
use crate::visit::Visit;

/// A body that can come as a form, and can name its project.
pub(crate) trait FormBody: Payload {
    /// The project that it names.
    fn project(&self) -> Option<ProjectId>;

    /// The fields of a form as those of the body in JSON.
    fn of_form(fields: Vec<(String, String)>) -> Result<Map<String, Value>, ApiError>;
}

/// The access of [`ProjectAccess`](super::ProjectAccess), with the body.
pub(crate) struct FormAccess<C, T>(
    pub(crate) Project,
    pub(crate) Caller,
    pub(crate) T,
    pub(crate) PhantomData<C>,
);

impl<S, C, T> FromRequest<S> for FormAccess<C, T>
where
    S: Send + Sync,
    App: FromRef<S>,
    C: Needs,
    T: FormBody,
{
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let app = App::from_ref(state);
        let (parts, body) = request.into_parts();
        let place = Place::of_request(&parts);
        let may_be_in_body = !parts.headers.contains_key(AUTHORIZATION)
            && place.asked().is_none()
            && session_cookie(&app, &parts.headers).is_some();
        let found = if may_be_in_body {
            // strangers have no body read
            let found = signed_in(&app, &parts, None).await?;
            count_person(&app, &parts, found.user.id)?;
            None
        } else {
            Some(enter::<C>(&app, &parts, place).await?)
        };
        let mut rest = Request::new(body);
        *rest.headers_mut() = parts.headers.clone();
        if let Some(visit) = parts.extensions.get::<Visit>() {
            rest.extensions_mut().insert(visit.clone());
        }
        let Body(body) = if Form::is_sent(&parts.headers) {
            Body::<T>::of_form(rest, T::of_form).await?
        } else {
            Body::<T>::read(rest).await?
        };
        let found = match found {
            Some(found) => found,
            None => enter::<C>(&app, &parts, Place::Header(body.project())).await?,
        };
        let (project, caller) = split(found);
        Ok(Self(project, caller, body, PhantomData))
    }
}
