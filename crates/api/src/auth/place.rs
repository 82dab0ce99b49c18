//! Which project a request is about.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::HeaderMap;
use axum::http::header::HeaderName;
use axum::http::request::Parts;
use mailwright_app::Resource;
use mailwright_app::project::key::Identity;
use mailwright_core::ids::ProjectId;

use crate::error::ApiError;

const PROJECT_ID: HeaderName = HeaderName::from_static("x-project-id");

/// How a request names its project, where no key does.
#[derive(Debug)]
pub(super) enum Place {
    /// In its path; `None` when what stands there is no id.
    Path(Option<ProjectId>, String),
    /// In `X-Project-Id`, as it stands there.
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

    pub(super) fn of_header(headers: &HeaderMap) -> Self {
        let id = || headers.get(PROJECT_ID)?.to_str().ok()?.trim().parse().ok();
        Self::Header(id())
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
