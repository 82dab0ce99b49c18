//! Rows whose address cannot receive mail are not imported, where that is asked for.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::import::Columns;
use mailwright_store::Result as StoreResult;

use super::chunks::Chunk;
use crate::App;

/// The chunk with those rows among its failures, each with the reason.
pub(super) async fn verified(
    app: &App,
    project: ProjectNumber,
    chunk: &Chunk<Columns>,
) -> StoreResult<Chunk<Columns>> {
    let addresses: Vec<String> = chunk.rows.iter().map(|row| row.email.to_string()).collect();
    let found = app.verify_many(project, &addresses).await?;
    let mut failures = chunk.failures.clone();
    let mut rows = Vec::with_capacity(chunk.rows.len());
    for (row, found) in chunk.rows.iter().zip(found) {
        if found.valid {
            rows.push(row.clone());
        } else {
            failures.push(row.failed(found.reasons.join(" ")));
        }
    }
    failures.sort_by_key(|failure| failure.row);
    Ok(Chunk { rows, failures, end: chunk.end })
}
