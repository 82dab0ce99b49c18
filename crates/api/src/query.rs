//! Parameters in path and query. Those in the query are read as leniently as the contract says: what cannot be read counts as absent.

use std::collections::HashMap;
use std::convert::Infallible;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::extract::{Path, Query};
use axum::http::request::Parts;
use mailwright_app::Resource;
use mailwright_core::issue::Issue;
use mailwright_core::time::Timestamp;

use crate::error::{ApiError, Result};
use crate::text::clip;

/// The parameters of a request; of several with one name the last counts.
pub(crate) struct Params(HashMap<String, String>);

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> std::result::Result<Self, Infallible> {
        Ok(Self(Query::try_from_uri(&parts.uri).map_or_else(|_| HashMap::new(), |Query(map)| map)))
    }
}

impl Params {
    /// A parameter that is not empty and holds no NUL, which no stored text has.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty() && !text.contains('\0'))
    }

    /// The leading integer of a parameter; the nearest one that fits when it has too many digits.
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        let text = self.0.get(name)?.trim();
        let digits = text.strip_prefix('-').unwrap_or(text);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        if end == 0 {
            return None;
        }
        let number = digits[..end].parse().unwrap_or(i64::MAX);
        Some(if text.starts_with('-') { -number } else { number })
    }

    /// An integer within bounds; absent, unreadable and 0 give the default.
    pub(crate) fn bounded(&self, name: &str, default: i64, most: i64) -> i64 {
        match self.integer(name) {
            None | Some(0) => default,
            Some(number) => number.clamp(1, most),
        }
    }

    /// `true` or `false`, literally.
    pub(crate) fn boolean(&self, name: &str) -> Option<bool> {
        match self.0.get(name).map(String::as_str) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        }
    }

    /// An instant or a date. One that cannot be read is refused: leaving it out would answer another question.
    pub(crate) fn instant(&self, name: &str) -> Result<Option<Timestamp>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let refused =
            || ApiError::bad_request(format!("{name} must be a date such as 2025-01-31T10:20:30Z."));
        Timestamp::parse(text).map(Some).ok_or_else(refused)
    }

    /// Whether `dir` asks for descending order, which is the default.
    pub(crate) fn descending(&self) -> bool {
        self.0.get("dir").map(String::as_str) != Some("asc")
    }

    /// The cursor of a list. One that cannot be read is refused: going on from the start would repeat rows silently.
    pub(crate) fn cursor<T: FromStr>(&self) -> Result<Option<T>> {
        let Some(text) = self.0.get("cursor").filter(|text| !text.is_empty()) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| {
            ApiError::bad_request("The cursor does not belong to this list. Start again without a cursor.")
        })
    }
}

/// A request without parameters: one that was meant to change what is done must not be ignored.
pub(crate) struct NoParams;

impl<S: Send + Sync> FromRequestParts<S> for NoParams {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let mut given = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let Some((name, _)) = given.next() else { return Ok(Self) };
        let name = clip(&name);
        let message = format!("There is no parameter {name}. Put fields into the body, as JSON.");
        Err(ApiError::invalid(vec![Issue::new(name, "unrecognized_keys", message)]))
    }
}

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

/// An id in a path. Whatever is not the id of something is not found.
pub(crate) fn id<T: FromStr>(text: &str, resource: Resource) -> Result<T> {
    text.parse().map_err(|_| ApiError::not_found(resource, text))
}

/// An id in a path whose form is part of the contract.
pub(crate) fn uuid<T: FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| {
        ApiError::invalid(vec![
            Issue::new("id", "invalid_string", "Must be an id, which is a UUID, and not a name.")
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

    #[test]
    fn numbers_are_clamped_however_long_they_are() {
        let digits = "9".repeat(400);
        for (text, expected) in [
            ("", 20),
            ("x", 20),
            ("0", 20),
            ("-", 20),
            ("000", 20),
            ("7", 7),
            (" 7x", 7),
            ("-5", 1),
            ("101", 100),
            ("9223372036854775807", 100),
            ("9223372036854775808", 100),
            ("18446744073709551616", 100),
            ("-9223372036854775809", 1),
            (&digits, 100),
        ] {
            let params = Params(HashMap::from([("limit".to_owned(), text.to_owned())]));
            assert_eq!(params.bounded("limit", 20, 100), expected, "{text}");
        }
    }

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
