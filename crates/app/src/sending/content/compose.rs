//! Composing a content from what a request or a campaign says.

use std::sync::Arc;

use mailwright_core::custom_data::Data;
use mailwright_store::json_text;
use mailwright_store::sending::content::{Bytes, Content, ContentHash};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::prepare::{Prepared, ROOM};

/// An attachment as a request brings it.
#[derive(Debug, Clone)]
pub struct File {
    /// Name shown to the recipient.
    pub filename: String,
    /// MIME type.
    pub content_type: String,
    /// Name by which the HTML refers to it.
    pub content_id: Option<String>,
    /// Whether it is shown inside the HTML.
    pub inline: bool,
    /// The bytes.
    pub content: Arc<[u8]>,
}

/// Puts a content together: its identity is the hash of all it consists of.
pub(crate) fn compose(
    subject: String,
    body: String,
    text: Option<String>,
    headers: &[(String, String)],
    files: &[File],
    tracking: Option<bool>,
) -> (Content, Vec<Bytes>) {
    let bytes: Vec<Bytes> = files
        .iter()
        .map(|file| Bytes { hash: Sha256::digest(&file.content).into(), content: Arc::clone(&file.content) })
        .collect();
    let attachments: Vec<Value> = files
        .iter()
        .zip(&bytes)
        .map(|(file, bytes)| {
            json!({
                "filename": file.filename,
                "contentType": file.content_type,
                "contentId": file.content_id,
                "inline": file.inline,
                "hash": hex::encode(bytes.hash),
            })
        })
        .collect();
    let (headers, attachments) = (json!(headers), Value::Array(attachments));
    let mut content = Content {
        hash: [0; 32],
        subject,
        body,
        text,
        headers,
        attachments,
        shared: Data::new(),
        tracking,
        links: None,
    };
    content.hash = identity(&content);
    (content, bytes)
}

/// The hash of all that a content consists of.
fn identity(content: &Content) -> ContentHash {
    let (headers, attachments) = (content.headers.to_string(), content.attachments.to_string());
    let shared = (!content.shared.is_empty()).then(|| json_text(&content.shared));
    let tracking = content.tracking.map(|tracking| tracking.to_string());
    let mut hasher = Sha256::new();
    let parts = [Some(&content.subject), Some(&content.body), Some(&headers), Some(&attachments)];
    for part in parts.into_iter().chain([shared.as_ref(), content.text.as_ref()]) {
        // what is not there is told from what is empty
        hasher.update(part.map_or(u64::MAX, |part| part.len() as u64).to_be_bytes());
        hasher.update(part.map_or("", String::as_str));
    }
    if let Some(tracking) = tracking {
        hasher.update(tracking);
    }
    hasher.finalize().into()
}

/// Puts the values of a request with a content, so that they are stored once for all recipients.
pub(crate) fn share(content: &mut Content, prepared: &Prepared, request: &Data) {
    let room = content.shared.remove(ROOM);
    content.shared = prepared.used(request).map(|(name, value)| (name.clone(), value.clone())).collect();
    content.shared.extend(room.map(|room| (ROOM.to_owned(), room)));
    content.hash = identity(content);
}

/// Bounds what values and loops add to a mail of a content, see [`Prepared::room`].
pub(crate) fn bound(content: &mut Content, room: usize) {
    content.shared.insert(ROOM.to_owned(), room.into());
    content.hash = identity(content);
}
