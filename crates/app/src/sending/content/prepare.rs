//! Preparing a content: its templates are parsed once.

use std::collections::BTreeSet;

use mailwright_core::custom_data::{self, Data};
use mailwright_core::template_language::Template;
use mailwright_mail::message::Attachment;
use mailwright_store::sending::content::Content;

use super::links::Links;

/// The name under which a content's shared values hold its room. No request has a value without a name.
pub(super) const ROOM: &str = "";

/// A content ready to be rendered for a recipient.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) subject: Template,
    pub(crate) body: Template,
    /// The plain text, where it is not made from the body.
    pub(crate) text: Option<Template>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) attachments: Vec<Attachment>,
    /// Names that subject, body and text use, at the top level.
    pub(crate) names: BTreeSet<String>,
    /// Values that are the same for all recipients; a mail's own values take precedence.
    pub(crate) shared: Data,
    /// How many bytes values and loops may add to subject, body and text of one mail together, if the request has very
    /// many recipients; `None` for the usual bound.
    pub(crate) room: Option<usize>,
    /// Whether its mails are tracked; `None` leaves it to the project.
    pub(crate) tracking: Option<bool>,
    /// Its links.
    pub(crate) links: Links,
    /// Whether values may bring links of their own.
    pub(crate) writes_markup: bool,
    pub(super) size: u64,
}

impl Prepared {
    pub(crate) fn new(content: &Content, attachments: Vec<Attachment>) -> Self {
        let subject = Template::parse_lenient(&content.subject);
        let is_tracked = content.tracking != Some(false);
        let (marks, links) = if is_tracked { Links::find(&content.body) } else { Default::default() };
        let body = Template::parse_marked(&content.body, &marks);
        let mut names = subject.variables();
        names.extend(body.variables());
        let text = content.text.as_deref().map(Template::parse_lenient);
        names.extend(text.iter().flat_map(Template::variables));
        let headers = content
            .headers
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|pair| Some((pair[0].as_str()?.to_owned(), pair[1].as_str()?.to_owned())))
            .collect();
        let bytes: usize = attachments.iter().map(|a| a.content.len()).sum();
        let mut shared = content.shared.clone();
        let room = shared.remove(ROOM).and_then(|room| room.as_u64()).map(|room| room as usize);
        let written = content.body.len() + content.text.as_ref().map_or(0, String::len);
        let size = (content.subject.len() + written * 3 + bytes + custom_data::size(&shared) + 512) as u64;
        Self {
            subject,
            writes_markup: is_tracked && body.writes_markup(),
            body,
            text,
            headers,
            attachments,
            names,
            shared,
            room,
            tracking: content.tracking,
            links,
            size,
        }
    }

    /// Whether the body links to the recipient's own subscription pages.
    pub(crate) fn has_subscription_link(&self) -> bool {
        self.names.contains("unsubscribeUrl") || self.names.contains("manageUrl")
    }
}
