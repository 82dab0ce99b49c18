//! Parameters in the query, and in the path (`path.rs`). Those in the query are read as leniently as the contract says: an
//! unreadable one counts as absent.
//!
//! The bounds of a number and the names of a choice are written once, as a type that serves reading and the API
//! document.

mod path;

use std::collections::HashMap;
use std::convert::Infallible;
use std::str::FromStr;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use mailwright_app::project::MOST_LISTED;
use mailwright_core::ids::ProjectId;
use mailwright_core::issue::Issue;
use mailwright_core::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::de::value::{Error, StrDeserializer};
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::error::{ApiError, Result};
use crate::fields::clip;

pub(crate) use path::{PathText, PathTexts, id, uuid};

/// What the address of a file or a page carries that a browser opens by itself.
#[expect(dead_code, reason = "it documents the parameter, which the session reads")]
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OpenedInBrowser {
    /// The project, in an address that a browser opens with a session, where it cannot send `X-Project-Id`
    #[param(rename = "projectId")]
    project_id: Option<ProjectId>,
}

/// The parameters of a request; of several with one name the last counts.
pub(crate) struct Params(HashMap<String, String>);

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> std::result::Result<Self, Infallible> {
        let mut given = Query::try_from_uri(&parts.uri)
            .map_or_else(|_| HashMap::<String, String>::new(), |Query(map)| map);
        // no stored text has it; leaving the parameter out would answer another question
        for text in given.values_mut().filter(|text| text.contains('\0')) {
            *text = text.replace('\0', "\u{fffd}");
        }
        Ok(Self(given))
    }
}

impl Params {
    /// A parameter that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
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
    pub(crate) fn bounded<B: Bounded>(&self) -> i64 {
        match self.integer(B::NAME) {
            None | Some(0) => B::DEFAULT,
            Some(number) => number.clamp(1, B::MOST),
        }
    }

    /// One of the names of a type; any other counts as absent.
    pub(crate) fn choice<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        T::deserialize(StrDeserializer::<Error>::new(self.text(name)?)).ok()
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

    /// The id of something. What is no id is refused.
    pub(crate) fn id<T: FromStr>(&self, name: &str) -> Result<Option<T>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| ApiError::bad_request(format!("{name} must be a UUID.")))
    }

    /// Whether `dir` asks for descending order, which is the default.
    pub(crate) fn descending(&self) -> bool {
        !matches!(self.choice("dir"), Some(Direction::Asc))
    }

    /// The cursor of a list. One that cannot be read is refused: going on from the start would repeat rows silently.
    pub(crate) fn cursor<T: FromStr>(&self) -> Result<Option<T>> {
        let Some(text) = self.0.get("cursor").filter(|text| !text.is_empty()) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| {
            ApiError::bad_request("The cursor does not belong to this list. Start again without a cursor.")
        })
    }
}

/// A request without parameters. A parameter that the client expects to change the action must not be ignored, so it is
/// refused.
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

/// A whole number in a query: from 1 up to a bound. What is no number, and 0, counts as the default, and what lies
/// outside of the bounds as the nearest one.
pub(crate) trait Bounded {
    /// The parameter.
    const NAME: &'static str;
    /// The value if the parameter is missing.
    const DEFAULT: i64;
    /// The greatest.
    const MOST: i64;
}

macro_rules! bounded {
    ($(#[$doc:meta])* $type:ident, $name:literal, $default:expr, $most:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $type;

        impl Bounded for $type {
            const NAME: &'static str = $name;
            const DEFAULT: i64 = $default;
            const MOST: i64 = $most;
        }

        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                whole_number::<Self>()
            }
        }

        impl ToSchema for $type {}
    };
}

bounded!(
    /// Which page of a list, from 1.
    PageNumber, "page", 1, 1_000_000_000
);
bounded!(
    /// Rows of a page whose number is given.
    PageSize, "pageSize", 20, 100
);
bounded!(
    /// Projects of a page.
    ProjectsPageSize, "pageSize", MOST_LISTED, MOST_LISTED
);
bounded!(
    /// Rows of a page that a cursor leads to.
    RowLimit, "limit", 20, 100
);
bounded!(
    /// Entries of the feed of everything that happens.
    ActivityLimit, "limit", 50, 100
);
bounded!(
    /// Minutes of the past.
    Minutes, "minutes", 5, 60
);
bounded!(
    /// Months of cohorts.
    CohortMonths, "months", 12, 36
);
bounded!(
    /// Domains of recipients.
    DomainLimit, "limit", 20, 250
);
bounded!(
    /// Links of campaigns.
    LinkLimit, "limit", 10, 100
);
bounded!(
    /// Days from now on.
    DaysAhead, "daysAhead", 30, 90
);
bounded!(
    /// Days until now that reports are about.
    ReportDays, "days", 30, 90
);
bounded!(
    /// How long a stream lasts.
    StreamSeconds, "seconds", 600, 600
);
bounded!(
    /// The best campaigns.
    TopCampaignLimit, "limit", 10, 50
);
bounded!(
    /// The most frequent events.
    TopEventLimit, "limit", 5, 20
);
bounded!(
    /// Events of a project.
    EventLimit, "limit", 100, 1000
);
bounded!(
    /// Events of a contact.
    ContactEventLimit, "limit", 50, 1000
);
bounded!(
    /// Values of a field.
    ValueLimit, "limit", 100, 200
);

pub(crate) fn whole_number<B: Bounded>() -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1.0))
        .maximum(Some(B::MOST))
        .default(Some(B::DEFAULT.into()))
        .into()
}

/// Which way a list is sorted.
#[derive(Debug, Clone, Copy, serde::Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(default = "desc")]
pub(crate) enum Direction {
    /// From the greatest, or the newest.
    Desc,
    /// From the least, or the oldest.
    Asc,
}

/// By what templates and campaigns are sorted.
#[derive(Debug, Clone, Copy, serde::Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(default = "createdAt")]
pub(crate) enum NamedSort {
    /// When it was created.
    CreatedAt,
    /// When it last changed.
    UpdatedAt,
    /// Its name.
    Name,
}

/// By what workflows are sorted.
#[derive(Debug, Clone, Copy, serde::Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(default = "createdAt")]
pub(crate) enum WorkflowSort {
    /// When it was created.
    CreatedAt,
    /// When it last changed.
    UpdatedAt,
    /// Its name.
    Name,
    /// The number of its steps.
    Steps,
}

/// By what contacts are sorted.
#[derive(Debug, Clone, Copy, serde::Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(default = "createdAt")]
pub(crate) enum ContactSort {
    /// When it was created.
    CreatedAt,
    /// Its address.
    Email,
}

/// A parameter that is one of some names; any other is refused.
pub(crate) fn one_of<T: Copy>(
    params: &Params,
    parameter: &str,
    parse: fn(&str) -> Option<T>,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<Option<T>> {
    let Some(text) = params.text(parameter) else { return Ok(None) };
    parse(text).map(Some).ok_or_else(|| {
        let known = all.iter().map(|value| name(*value)).collect::<Vec<_>>().join(", ");
        ApiError::bad_request(format!("{parameter} must be one of {known}."))
    })
}

#[cfg(test)]
mod tests {
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
            assert_eq!(params.bounded::<RowLimit>(), expected, "{text}");
        }
    }

    #[test]
    fn a_choice_that_there_is_not_counts_as_none() {
        for (text, expected) in
            [("", true), ("desc", true), ("asc", false), ("ASC", true), ("up", true), ("\0", true)]
        {
            let params = Params(HashMap::from([("dir".to_owned(), text.to_owned())]));
            assert_eq!(params.descending(), expected, "{text}");
        }
    }
}
