//! Contents and attachments that one contact's mails alone have. They go when the contact is erased.
//!
//! `sole_contact` is written by who stores a content, and set to null by the first who sends it to somebody else. That
//! writes the row, so of the two that change it at the same time one waits for the other: what is removed here is stored
//! anew by whoever sends it then.

use mailwright_core::ids::{ContactId, ProjectNumber};
use serde_json::Value as Json;

use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;

/// What went with a contact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Gone {
    pub(crate) contents: u64,
    pub(crate) attachments: u64,
}

/// Removes those of some contents that no other contact's mail has, with their links and attachments.
pub(crate) async fn forget(
    tx: &Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    hashes: &[Vec<u8>],
) -> Result<Gone> {
    if hashes.is_empty() {
        return Ok(Gone::default());
    }
    let set = || Arg::Blobs(hashes.iter().map(|hash| Some(hash.as_slice().into())).collect());
    let gone: Vec<Json> = tx
        .all(
            "delete from contents where project_id = $1 and sole_contact = $2 and hash {in $3} \
             returning {json_out attachments}",
            &[project.into(), contact.into(), set()],
            |r| r.get(0),
        )
        .await?;
    tx.execute(
        "delete from content_links where project_id = $1 and sole_contact = $2 and hash {in $3}",
        &[project.into(), contact.into(), set()],
    )
    .await?;
    let files: Vec<Vec<u8>> = gone.iter().flat_map(attached).collect();
    let contents = gone.len() as u64;
    if files.is_empty() {
        return Ok(Gone { contents, attachments: 0 });
    }
    let files = Arg::Blobs(files.into_iter().map(|hash| Some(hash.into())).collect());
    let attachments = tx
        .execute(
            "delete from attachments where project_id = $1 and sole_contact = $2 and hash {in $3}",
            &[project.into(), contact.into(), files],
        )
        .await?;
    Ok(Gone { contents, attachments })
}

/// The hashes of what is attached to a content.
fn attached(attachments: &Json) -> Vec<Vec<u8>> {
    let files = attachments.as_array().map(Vec::as_slice).unwrap_or_default();
    files.iter().filter_map(|file| bytes(file["hash"].as_str()?)).collect()
}

/// Reads hexadecimal digits; `None` when they are none.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().as_chunks::<2>().0;
    pairs.iter().map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hashes_are_read_from_what_is_stored_of_attachments() {
        let stored = json!([{"hash": "00ff10", "filename": "a"}, {"filename": "b"}, {"hash": "zz"}]);
        assert_eq!(attached(&stored), [vec![0, 255, 16]]);
        assert!(attached(&json!({})).is_empty());
    }
}
