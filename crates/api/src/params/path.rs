//! Parameters in the path.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use mailwright_app::Resource;
use mailwright_core::issue::Issue;

use crate::error::{ApiError, Result};
use crate::fields::clip;

/// The one parameter of a path. What is not UTF-8 is not the name of anything.
pub(crate) struct PathText(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(text)) => Ok(Self(text)),
            Err(_) => Err(ApiError::no_such_route(parts.uri.path())),
        }
    }
}

/// The two parameters of a path.
pub(crate) struct PathTexts(pub(crate) String, pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathTexts {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path((one, other))) => Ok(Self(one, other)),
            Err(_) => Err(ApiError::no_such_route(parts.uri.path())),
        }
    }
}

/// An id in a path. Whatever is not the id of something is not found.
pub(crate) fn id<T: FromStr>(text: &str, resource: Resource) -> Result<T> {
    text.parse().map_err(|_| ApiError::not_found(resource, text))
}

/// An id in a path whose form is part of the contract.
pub(crate) fn uuid<T: FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| {
        ApiError::invalid(vec![
            Issue::new("id", "invalid_string", "Must be an id, which is a UUID, not a name.")
                .received(clip(text)),
        ])
    })
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::http::{Request, StatusCode};
    use axum::routing::get;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn a_path_that_is_not_utf8_is_not_found() {
        let router: Router =
            Router::new().route("/{id}", get(|PathText(text): PathText| async move { text }));
        let answer = |path: &str| router.clone().oneshot(Request::get(path).body(Body::empty()).unwrap());
        assert_eq!(answer("/%C3%A9").await.unwrap().status(), StatusCode::OK);
        let answer = answer("/%FF").await.unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
        let error = answer.extensions().get::<ApiError>().unwrap().clone();
        let body = serde_json::to_value(error.envelope("id", mailwright_core::time::Timestamp(0))).unwrap();
        assert_eq!(body["error"]["code"], "RESOURCE_NOT_FOUND");
    }
}
