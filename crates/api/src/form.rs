//! Multipart forms with a file (RFC 7578). The body is read piece by piece, so that no more of it is in memory than the file
//! and what is under way.

use std::collections::BTreeMap;
use std::fmt;

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use futures_util::StreamExt;
use multer::{Field, Multipart};

use crate::body::{self, failure};
use crate::error::{ApiError, Result};

/// Bytes that a body may have around the file: the lines between the parts, and small other fields.
const AROUND: usize = 64 * 1024;

/// A file of a form.
#[derive(Debug)]
pub(crate) struct FormFile {
    /// Its name, as the client says.
    pub(crate) name: Option<String>,
    /// Its type without parameters, as the client says.
    pub(crate) kind: Option<String>,
    pub(crate) content: Vec<u8>,
}

/// Why the body of a form ends early.
#[derive(Debug)]
enum Trouble {
    TooLarge,
    Body(axum::Error),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("the body is too large"),
            Self::Body(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Trouble {}

/// A form.
#[derive(Debug, Default)]
pub(crate) struct Form {
    /// Its file, if it has one.
    pub(crate) file: Option<FormFile>,
    /// Its other parts that were asked for, by name.
    pub(crate) fields: BTreeMap<String, String>,
}

/// Reads a form: the first part with the name `part` as a file of at most so many bytes, and the small parts `fields`.
/// What is left of a body that is too large is read by the middleware and by the connection, so that a client that is
/// still sending sees the answer.
pub(crate) async fn read(request: Request, part: &str, fields: &[&str], most: usize) -> Result<Form> {
    let whole = most + AROUND;
    if body::length(request.headers()).is_some_and(|length| length > whole) {
        return Err(ApiError::body_too_large(most));
    }
    let boundary = boundary(request.headers());
    let mut read = 0;
    let mut stream = request.into_body().into_data_stream().map(move |piece| {
        let piece = piece.map_err(Trouble::Body)?;
        read += piece.len();
        if read > whole { Err(Trouble::TooLarge) } else { Ok(piece) }
    });
    let mut form = Form::default();
    let Some(boundary) = boundary else {
        // no more of it is read than of a form
        while let Some(piece) = stream.next().await {
            piece.map_err(|trouble| told(trouble, most))?;
        }
        return Ok(form);
    };
    let mut parts = Multipart::new(stream, boundary);
    while let Some(field) = parts.next_field().await.map_err(|error| malformed(error, most))? {
        let name = field.name().unwrap_or_default().to_owned();
        if name == part && form.file.is_none() {
            form.file = Some(file_of(field, most).await?);
        } else if fields.contains(&name.as_str()) {
            let text = field.text().await.map_err(|error| malformed(error, most))?;
            form.fields.insert(name, text);
        }
    }
    Ok(form)
}

async fn file_of(mut field: Field<'_>, most: usize) -> Result<FormFile> {
    let mut file = FormFile {
        name: field.file_name().map(str::to_owned),
        kind: field.content_type().map(|kind| kind.essence_str().to_owned()),
        content: Vec::new(),
    };
    while let Some(piece) = field.chunk().await.map_err(|error| malformed(error, most))? {
        if file.content.len() + piece.len() > most {
            return Err(ApiError::body_too_large(most));
        }
        file.content.extend_from_slice(&piece);
    }
    Ok(file)
}

fn boundary(headers: &HeaderMap) -> Option<String> {
    multer::parse_boundary(headers.get(CONTENT_TYPE)?.to_str().ok()?).ok()
}

fn malformed(error: multer::Error, most: usize) -> ApiError {
    match error {
        multer::Error::StreamReadFailed(cause) => match cause.downcast::<Trouble>() {
            Ok(trouble) => told(*trouble, most),
            Err(cause) => ApiError::bad_request(format!("The form cannot be read: {cause}.")),
        },
        error => ApiError::bad_request(format!("The form cannot be read: {error}.")),
    }
}

fn told(trouble: Trouble, most: usize) -> ApiError {
    match trouble {
        Trouble::TooLarge => ApiError::body_too_large(most),
        Trouble::Body(error) => failure(&error),
    }
}
