//! Rows as JSON, or as CSV for clients that rather have that.

use std::borrow::Cow;

use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use mailwright_core::csv;
use serde::Serialize;

use crate::accept::prefers_csv;
use crate::json::Json;

/// A row of a table.
pub(super) trait Row: Serialize {
    /// The names of the columns.
    const HEADER: &'static [&'static str];

    /// The cells, in the order of the columns.
    fn cells(&self) -> Vec<String>;
}

/// Several rows.
pub(super) fn answer<R: Row>(headers: &HeaderMap, rows: Vec<R>) -> Response {
    if prefers_csv(headers) { csv_of(&rows) } else { Json(rows).into_response() }
}

/// The one row that there is; as JSON an object.
pub(super) fn answer_one<R: Row>(headers: &HeaderMap, row: R) -> Response {
    if prefers_csv(headers) { csv_of(&[row]) } else { Json(row).into_response() }
}

fn csv_of<R: Row>(rows: &[R]) -> Response {
    let mut out = String::new();
    csv::write(&mut out, R::HEADER.iter().copied().map(Cow::Borrowed));
    for row in rows {
        csv::write(&mut out, row.cells().iter().map(|cell| harmless(cell)));
    }
    ([(CONTENT_TYPE, "text/csv; charset=utf-8")], out).into_response()
}

/// A cell that no spreadsheet takes for a formula: names of events come from anybody. Numbers stay numbers.
fn harmless(cell: &str) -> Cow<'_, str> {
    if cell.parse::<f64>().is_ok() { Cow::Borrowed(cell) } else { csv::no_formula(cell) }
}
