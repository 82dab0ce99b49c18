//! The wrappers that answers share.

use mailwright_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// The wrapper of public endpoints.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Success<T> {
    /// Always true.
    success: bool,
    /// The result.
    data: T,
}

impl<T> Success<T> {
    pub(crate) fn new(data: T) -> Self {
        Self { success: true, data }
    }
}

/// A page of a list that is read by cursor.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CursorPage<T> {
    /// The rows.
    pub(crate) data: Vec<T>,
    /// Where the next page starts; null on the last page.
    #[schema(required = true)]
    pub(crate) cursor: Option<String>,
    /// Whether more rows follow.
    pub(crate) has_more: bool,
    /// How many rows there are in all, on the first page; 0 on later ones.
    pub(crate) total: i64,
}

/// An optional time as the API shows it: ISO 8601, or null.
pub(crate) type Time = Option<Timestamp>;
