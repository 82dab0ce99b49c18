//! Serving uploaded pictures, to anybody: readers of mails, their mail programs and proxies.
//!
//! What people uploaded is served as a picture and as nothing else: its type is one of four, browsers must not guess
//! another one, and whoever opens it as a page gets an empty sandbox without scripts. No cookie is read or set. What a URL
//! leads to never changes, so everybody may keep it for good.

use std::ops::Range;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use mailwright_app::{App, Resource};
use mailwright_core::upload::PictureName;

use super::range::{Asked, asked};
use crate::error::{ApiError, ErrorEnvelope, Result};
use crate::params::PathTexts;

/// Below it are the pictures.
const PATH: &str = "/uploads/";

/// Bytes that are read at a time: so much of a picture is in memory for each of its readers.
const PIECE: u64 = 256 * 1024;

/// Whether a request is for a picture, or one for an operation whose path is this template.
pub(crate) fn is_picture(method: &Method, path: &str) -> bool {
    let is_read = *method == Method::GET || *method == Method::HEAD;
    is_read && path.strip_prefix(PATH).is_some_and(|rest| rest.contains('/'))
}

/// Get an uploaded picture
///
/// For everybody, without a key. Takes `If-None-Match`, and `Range` for one part.
#[utoipa::path(get, path = "/uploads/{projectId}/{file}", tag = "Uploads", operation_id = "getUpload", security(()),
    params(
        ("projectId" = String, Path),
        ("file" = String, Path, description = "The SHA-256 of the picture and the ending of its type, such as `<hash>.png`")),
    responses(
        (status = 200, description = "The picture", content(
            (Vec<u8> = "image/jpeg"), (Vec<u8> = "image/png"), (Vec<u8> = "image/gif"), (Vec<u8> = "image/webp"))),
        (status = 206, description = "A part of it", content(
            (Vec<u8> = "image/jpeg"), (Vec<u8> = "image/png"), (Vec<u8> = "image/gif"), (Vec<u8> = "image/webp"))),
        (status = 304, description = "The client has it"),
        (status = 404, description = "There is no such picture", body = ErrorEnvelope),
        (status = 416, description = "It does not have that part")))]
pub(crate) async fn picture(
    State(app): State<App>,
    PathTexts(project, file): PathTexts,
    method: Method,
    headers: HeaderMap,
) -> Result<Response> {
    let none = || ApiError::not_found(Resource::Upload, &file);
    // what cannot be a picture is not looked for
    let name = PictureName::parse(&file).ok_or_else(none)?;
    let project = project.parse().map_err(|_| none())?;
    let served = app.served_picture(project, name).await?.ok_or_else(none)?;
    let size = u64::try_from(served.size).unwrap_or_default();
    let tag = format!("\"{}\"", name.hex());
    let head = head(&name, &tag);
    if has_it(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, head).into_response());
    }
    let wanted = if method == Method::GET && may_be_part(&headers, &tag) {
        asked(headers.get(header::RANGE).and_then(|value| value.to_str().ok()), size)
    } else {
        Asked::Whole
    };
    let (status, part) = match wanted {
        Asked::Beyond => return Ok(beyond(size)),
        Asked::Part(part) => (StatusCode::PARTIAL_CONTENT, part),
        Asked::Whole => (StatusCode::OK, 0..size),
    };
    let mut response = (status, head).into_response();
    let sent = response.headers_mut();
    sent.insert(header::CONTENT_LENGTH, HeaderValue::from(part.end - part.start));
    if status == StatusCode::PARTIAL_CONTENT {
        let place = format!("bytes {}-{}/{size}", part.start, part.end - 1);
        sent.insert(header::CONTENT_RANGE, HeaderValue::try_from(place).map_err(|_| none())?);
    }
    if method != Method::HEAD {
        // so that a store that is away is an answer, not a connection that breaks
        let (first, rest) = piece(part);
        let first = app.picture_part(&served.object, first).await?.ok_or_else(none)?;
        *response.body_mut() = body(app, served.object, first, rest);
    }
    Ok(response)
}

/// What every answer says that is about a picture.
fn head(name: &PictureName, tag: &str) -> HeaderMap {
    let mut head = HeaderMap::new();
    for (name, value) in [
        (header::CONTENT_TYPE, name.kind.as_str()),
        (header::ACCEPT_RANGES, "bytes"),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
    ] {
        head.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::from_str(tag) {
        head.insert(header::ETAG, tag);
    }
    head
}

fn beyond(size: u64) -> Response {
    let mut response = StatusCode::RANGE_NOT_SATISFIABLE.into_response();
    if let Ok(place) = HeaderValue::try_from(format!("bytes */{size}")) {
        response.headers_mut().insert(header::CONTENT_RANGE, place);
    }
    response
}

/// Whether the client has the picture already (RFC 9110 section 13.1.2).
fn has_it(headers: &HeaderMap, tag: &str) -> bool {
    let named = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    named
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

/// Whether the client wants a part of this picture, and the whole one if it has become another one (section 13.1.5).
fn may_be_part(headers: &HeaderMap, tag: &str) -> bool {
    headers.get(header::IF_RANGE).is_none_or(|known| known.as_bytes() == tag.as_bytes())
}

/// The first bytes of a part, as many as are read at a time, and the others.
fn piece(part: Range<u64>) -> (Range<u64>, Range<u64>) {
    let end = part.end.min(part.start + PIECE);
    (part.start..end, end..part.end)
}

/// The bytes, read as fast as the client takes them.
fn body(app: App, object: String, first: Bytes, rest: Range<u64>) -> Body {
    if rest.is_empty() {
        return first.into();
    }
    Body::from_stream(stream::try_unfold((Some(first), rest), move |(first, rest)| {
        let (app, object) = (app.clone(), object.clone());
        async move {
            if let Some(first) = first {
                return Ok(Some((first, (None, rest))));
            }
            if rest.is_empty() {
                return Ok(None);
            }
            let (next, rest) = piece(rest);
            // the picture was deleted meanwhile, or the store is away: the connection breaks, as the length tells
            let next = app.picture_part(&object, next).await.map_err(std::io::Error::other)?;
            let next = next.ok_or_else(|| std::io::Error::other("the picture is gone"))?;
            Ok::<_, std::io::Error>(Some((next, (None, rest))))
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_told_from_the_other_endpoints() {
        for (method, path, is) in [
            (Method::GET, "/uploads/p/h.png", true),
            (Method::HEAD, "/uploads/p/h.png", true),
            (Method::GET, "/uploads/{projectId}/{file}", true),
            (Method::DELETE, "/uploads/p/h.png", false),
            (Method::GET, "/uploads", false),
            (Method::GET, "/uploads/image", false),
            (Method::POST, "/uploads/image", false),
        ] {
            assert_eq!(is_picture(&method, path), is, "{method} {path}");
        }
    }

    #[test]
    fn a_client_names_what_it_has() {
        let known = |value: &'static str| {
            has_it(&HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_static(value))]), "\"a\"")
        };
        assert!(known("\"a\"") && known("W/\"a\"") && known("\"b\", \"a\"") && known("*"));
        assert!(!known("a") && !known("\"b\"") && !known("\"\""));
        assert!(!has_it(&HeaderMap::new(), "\"a\""));
    }
}
