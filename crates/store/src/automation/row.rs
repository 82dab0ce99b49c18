//! The columns that workflows and their versions have in common.

use mailwright_core::workflow::graph::Graph;
use serde_json::Value as Json;

use crate::database::error::{Error, Result};
use crate::database::tx::Row;
use crate::database::value::Arg;

/// The place of the graph behind the columns of a list of workflows.
pub(super) const GRAPH: usize = 13;

/// Reads a graph.
pub(super) fn graph(row: &Row<'_>, column: usize) -> Result<Graph> {
    serde_json::from_value(row.get::<Json>(column)?).map_err(|error| Error::Corrupt {
        column,
        expected: "the graph of a workflow",
        detail: error.to_string(),
    })
}

pub(super) fn graph_json(graph: &Graph) -> Result<Json> {
    serde_json::to_value(graph).map_err(|error| Error::Corrupt {
        column: GRAPH,
        expected: "the graph of a workflow",
        detail: error.to_string(),
    })
}

pub(super) fn optional(json: Option<&Json>) -> Arg<'_> {
    json.map_or(Arg::Null, Into::into)
}
