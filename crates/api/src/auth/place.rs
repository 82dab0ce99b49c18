//! Which project a request is about.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::header::HeaderName;
use axum::http::request::Parts;
use mailwright_app::Resource;
use mailwright_app::project::key::Identity;
use mailwright_core::ids::ProjectId;

use super::site::is_said_to_be_own;
use crate::error::ApiError;

const PROJECT_ID: HeaderName = HeaderName::from_static("x-project-id");
/// The same in a query.
const PROJECT: &str = "projectId";

/// How a request names its project, where no key does.
#[derive(Debug)]
pub(super) enum Place {
    /// In its path; `None` when what stands there is no id.
    Path(Option<ProjectId>, String),
    /// In `X-Project-Id`, or in the parameter or field `projectId` where no header can be set.
    Header(Option<ProjectId>),
}

impl Place {
    pub(super) async fn of_path<S: Send + Sync>(parts: &mut Parts, state: &S) -> Self {
        let text = match RawPathParams::from_request_parts(parts, state).await {
            Ok(found) => found
                .iter()
                .find(|(name, _)| matches!(*name, "id" | "projectId"))
                .map(|(_, text)| text.to_owned())
                .unwrap_or_default(),
            Err(_) => String::new(),
        };
        Self::Path(text.parse().ok(), text)
    }

    /// What the header says, or else the parameter. A request that may change something, or that a page of another origin
    /// makes, has to set the header.
    pub(super) fn of_request(parts: &Parts) -> Self {
        if let Some(header) = parts.headers.get(PROJECT_ID) {
            return Self::Header(header.to_str().ok().and_then(|text| text.trim().parse().ok()));
        }
        if !parts.method.is_safe() || is_said_to_be_own(&parts.headers) == Some(false) {
            return Self::Header(None);
        }
        let query = parts.uri.query().unwrap_or_default().as_bytes();
        let named = form_urlencoded::parse(query).find(|(name, _)| name == PROJECT);
        Self::Header(named.and_then(|(_, text)| text.trim().parse().ok()))
    }

    /// The project that is asked for, as far as the request names one.
    pub(super) fn asked(&self) -> Option<ProjectId> {
        match self {
            Self::Header(id) | Self::Path(id, _) => *id,
        }
    }

    /// The answer to somebody who is no member of the project.
    pub(super) fn stranger(&self) -> ApiError {
        match self {
            Self::Header(_) => ApiError::not_a_member(),
            Self::Path(_, text) => ApiError::not_found(Resource::Project, text),
        }
    }
}

/// Who asks, unless the request's path names another project.
pub(super) fn of_place(caller: Identity, place: &Place) -> Result<Identity, ApiError> {
    match place {
        Place::Path(asked, _) if *asked != Some(caller.project.id) => Err(place.stranger()),
        _ => Ok(caller),
    }
}
