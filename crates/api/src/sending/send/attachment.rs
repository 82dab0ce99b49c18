//! Attachments of a mail, and how long they make it.

use base64::Engine;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use mailwright_app::App;
use mailwright_app::sending::content::File;
use mailwright_core::issue::Issue;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::fields::{Base64Text, ContentId, FileName, MediaType};

/// A file that is attached to a mail.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attachment {
    /// Name of the file.
    pub(super) filename: FileName,
    /// The file in base64.
    pub(super) content: Base64Text,
    /// MIME type.
    pub(super) content_type: MediaType,
    /// Name by which the HTML refers to an inline file, as `cid:<contentId>`.
    pub(super) content_id: Option<ContentId>,
    /// How the file is shown; `attachment` by default.
    pub(super) disposition: Option<Disposition>,
}

/// How an attached file is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Disposition {
    /// Beside the mail.
    Attachment,
    /// Inside the HTML.
    Inline,
}

/// Bytes that a part takes beside its content, and a message beside its parts.
const PART_BYTES: usize = 1024;

/// Whether the message would be longer than `most` bytes (contract, Limits). An estimate: what variables and a template
/// make of it is known only when it is rendered.
pub(super) fn too_long(
    html: usize,
    text: Option<usize>,
    headers: usize,
    files: &[File],
    most: usize,
) -> Option<Issue> {
    // in quoted-printable, once as HTML and once as text
    let body = html * 7 / 5 + text.unwrap_or(html) * 7 / 5;
    // in base64, 57 bytes to a line of 78
    let attached: usize = files.iter().map(|file| file.content.len().div_ceil(57) * 78 + PART_BYTES).sum();
    if body + attached + headers + PART_BYTES <= most {
        return None;
    }
    let field = match text {
        _ if attached > body => "attachments",
        Some(text) if text > html => "text",
        _ => "body",
    };
    let megabytes = most / 1024 / 1024;
    let message = format!(
        "The whole message, encoded, with text part and attachments, must have at most {megabytes} \
                 MB."
    );
    Some(Issue::new(field, "too_big", message))
}

/// How many bytes a text in base64 stands for, padded or not.
fn decoded_len(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

/// Decodes the attachments, within the limits of the contract.
pub(super) fn files(attachments: Vec<Attachment>, app: &App) -> Result<Vec<File>, ApiError> {
    let limits = app.settings().attachments;
    let issue =
        |field: String, code, message: String| ApiError::invalid(vec![Issue::new(field, code, message)]);
    if attachments.len() > limits.count {
        return Err(issue(
            "attachments".into(),
            "too_big",
            format!("Must have at most {} elements.", limits.count),
        ));
    }
    let total: usize = attachments.iter().map(|a| decoded_len(&a.content.0)).sum();
    if total > limits.total_bytes {
        let megabytes = limits.total_bytes / 1024 / 1024;
        return Err(issue(
            "attachments".into(),
            "custom",
            format!("All attachments together must have at most {megabytes} MB, before they are encoded."),
        ));
    }
    // files that other systems encoded without padding are no reason to refuse a mail
    let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let base64 = GeneralPurpose::new(&ALPHABET, lenient);
    let mut issues = Vec::new();
    let mut files = Vec::with_capacity(attachments.len());
    for (index, attachment) in attachments.into_iter().enumerate() {
        match base64.decode(attachment.content.0.as_bytes()) {
            Ok(content) => files.push(File {
                filename: attachment.filename.0,
                content_type: attachment.content_type.0,
                content_id: attachment.content_id.map(String::from),
                inline: attachment.disposition == Some(Disposition::Inline),
                content: content.into(),
            }),
            Err(_) => issues.push(Issue::new(
                format!("attachments.{index}.content"),
                "invalid_string",
                "Must be base64 text: the standard alphabet, without a data: prefix and without line ends.",
            )),
        }
    }
    if issues.is_empty() { Ok(files) } else { Err(ApiError::invalid(issues)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1024 * 1024;

    fn file(bytes: usize) -> File {
        File {
            filename: "a.bin".into(),
            content_type: "application/octet-stream".into(),
            content_id: None,
            inline: false,
            content: vec![0; bytes].into(),
        }
    }

    #[test]
    fn files_are_measured_as_they_will_arrive() {
        for bytes in 0..10 {
            let padded = base64::engine::general_purpose::STANDARD.encode(vec![7; bytes]);
            assert_eq!(decoded_len(&padded), bytes);
            assert_eq!(decoded_len(padded.trim_end_matches('=')), bytes);
        }
    }

    #[test]
    fn a_message_has_at_most_forty_megabytes() {
        let field = |html, files: &[File]| too_long(html, None, 100, files, 40 * MB).map(|issue| issue.field);
        assert_eq!(field(0, &[]), None);
        assert_eq!(field(14 * MB, &[]), None);
        assert_eq!(field(15 * MB, &[]).as_deref(), Some("body"));
        assert_eq!(field(9 * MB, &[file(10 * MB)]), None);
        assert_eq!(field(10 * MB, &[file(10 * MB)]).as_deref(), Some("body"));
        assert_eq!(field(1000, &[file(30 * MB)]).as_deref(), Some("attachments"));
        assert_eq!(too_long(0, None, 100, &[], 1000).map(|issue| issue.code), Some("too_big"));
        let with_text = |html, text| too_long(html, Some(text), 100, &[], 40 * MB).map(|issue| issue.field);
        assert_eq!(with_text(28 * MB, 100), None);
        assert_eq!(with_text(100, 28 * MB), None);
        assert_eq!(with_text(100, 29 * MB).as_deref(), Some("text"));
        assert_eq!(with_text(29 * MB, 100).as_deref(), Some("body"));
    }
}
