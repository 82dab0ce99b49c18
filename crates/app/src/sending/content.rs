//! The contents of mails, prepared once for all recipients of the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use mailwright_core::contact::Contact;
use mailwright_core::custom_data::{self, Data};
use mailwright_core::ids::ProjectNumber;
use mailwright_core::template::TemplateType;
use mailwright_core::template_language::Template;
use mailwright_mail::message::Attachment;
use mailwright_store::sending::content::{self, Bytes, Content, ContentHash};
use mailwright_store::{Db, json_text};
use quick_cache::sync::Cache;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Most bytes of prepared contents that are kept.
const CACHE_BYTES: u64 = 24 * 1024 * 1024;

/// The name under which a content's shared values hold its room. No request has a value without a name.
const ROOM: &str = "";

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
    /// Values that are the same for everybody who is sent this; a mail's own come before them.
    pub(crate) shared: Data,
    /// How many bytes values and loops may add to subject, body and text of a mail together, where it is one of very
    /// many.
    pub(crate) room: Option<usize>,
    size: u64,
}

impl Prepared {
    fn new(content: &Content, attachments: Vec<Attachment>) -> Self {
        let subject = Template::parse_lenient(&content.subject);
        let body = Template::parse_lenient(&content.body);
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
        let size = (content.subject.len() + written * 2 + bytes + custom_data::size(&shared) + 512) as u64;
        Self { subject, body, text, headers, attachments, names, shared, room, size }
    }

    /// The request's values that the content uses.
    fn used<'r>(&self, request: &'r Data) -> impl Iterator<Item = (&'r String, &'r Value)> {
        let all = self.names.contains("data");
        request.iter().filter(move |(name, _)| all || *name == "locale" || self.names.contains(*name))
    }

    /// Bytes of the request's values that the content uses.
    pub(crate) fn request_bytes(&self, request: &Data) -> usize {
        self.used(request).map(|(name, value)| name.len() + 4 + custom_data::value_size(value)).sum()
    }

    /// Bytes of a contact's data that a mail keeps.
    pub(crate) fn kept_bytes(&self, contact: &Contact) -> usize {
        self.request_bytes(&contact.data)
    }

    /// Whether the body links to the recipient's own subscription pages.
    pub(crate) fn has_subscription_link(&self) -> bool {
        self.names.contains("unsubscribeUrl") || self.names.contains("manageUrl")
    }

    /// The values a mail is rendered with, as they are now: of the names its content uses, the request's values before
    /// the contact's. `data` as a whole, when the content refers to it. What all recipients share is left out.
    pub(crate) fn variables(&self, contact: &Contact, request: &Data) -> Data {
        // a recipient's own name is the one value of a request that is not everybody's
        let is_shared = |name: &str| match self.shared.get(name) {
            Some(shared) => name != "name" || request.get(name) == Some(shared),
            None => false,
        };
        let value = |name: &str| {
            let found = request.get(name).or_else(|| contact.data.get(name));
            found.filter(|_| !is_shared(name))
        };
        let mut variables = Data::new();
        if self.names.contains("data") {
            for name in contact.data.keys().chain(request.keys()) {
                if let Some(found) = value(name)
                    && !variables.contains_key(name)
                {
                    variables.insert(name.clone(), found.clone());
                }
            }
        }
        for name in &self.names {
            if let Some(found) = value(name) {
                variables.insert(name.clone(), found.clone());
            }
        }
        if self.names.contains("subscribed")
            && !variables.contains_key("subscribed")
            && !self.shared.contains_key("subscribed")
        {
            variables.insert("subscribed".into(), contact.subscribed.into());
        }
        if let Some(locale @ Value::String(_)) = value("locale") {
            // what the mail says around its content can be in the recipient's language
            variables.insert("locale".into(), locale.clone());
        }
        variables
    }
}

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
    let mut content =
        Content { hash: [0; 32], subject, body, text, headers, attachments, shared: Data::new() };
    content.hash = identity(&content);
    (content, bytes)
}

/// The hash of all that a content consists of.
fn identity(content: &Content) -> ContentHash {
    let (headers, attachments) = (content.headers.to_string(), content.attachments.to_string());
    let shared = (!content.shared.is_empty()).then(|| json_text(&content.shared));
    let mut hasher = Sha256::new();
    let parts = [Some(&content.subject), Some(&content.body), Some(&headers), Some(&attachments)];
    for part in parts.into_iter().chain([shared.as_ref(), content.text.as_ref()]) {
        // what is not there is told from what is empty
        hasher.update(part.map_or(u64::MAX, |part| part.len() as u64).to_be_bytes());
        hasher.update(part.map_or("", String::as_str));
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

#[derive(Debug, Clone)]
struct BySize;

impl quick_cache::Weighter<(ProjectNumber, ContentHash), Arc<Prepared>> for BySize {
    fn weight(&self, _: &(ProjectNumber, ContentHash), prepared: &Arc<Prepared>) -> u64 {
        prepared.size
    }
}

/// Prepared contents by identity.
#[derive(Debug)]
pub(crate) struct Contents {
    db: Db,
    cache: Cache<(ProjectNumber, ContentHash), Arc<Prepared>, BySize>,
}

impl Contents {
    pub(crate) fn new(db: Db) -> Self {
        Self { db, cache: Cache::with_weighter(256, CACHE_BYTES, BySize) }
    }

    /// Prepares a content that a request brought.
    pub(crate) fn prepare(&self, project: ProjectNumber, content: &Content, files: &[File]) -> Arc<Prepared> {
        let key = (project, content.hash);
        if let Some(known) = self.cache.get(&key) {
            return known;
        }
        let attachments = files
            .iter()
            .map(|file| Attachment {
                filename: file.filename.clone(),
                content_type: file.content_type.clone(),
                content: Arc::clone(&file.content),
                content_id: file.content_id.clone(),
                inline: file.inline,
            })
            .collect();
        let prepared = Arc::new(Prepared::new(content, attachments));
        self.cache.insert(key, Arc::clone(&prepared));
        prepared
    }

    /// Prepares a stored content; `None` when it is gone.
    pub(crate) async fn get(
        &self,
        project: ProjectNumber,
        hash: &[u8],
    ) -> mailwright_store::Result<Option<Arc<Prepared>>> {
        let Ok(hash) = ContentHash::try_from(hash) else { return Ok(None) };
        let key = (project, hash);
        if let Some(known) = self.cache.get(&key) {
            return Ok(Some(known));
        }
        let found = self
            .db
            .read(move |rx| {
                Box::pin(async move {
                    let Some(content) = content::get(rx, project, &key.1).await? else { return Ok(None) };
                    let mut attachments = Vec::new();
                    for meta in content.attachments.as_array().into_iter().flatten() {
                        let hash = hex::decode(meta["hash"].as_str().unwrap_or_default()).unwrap_or_default();
                        let Some(bytes) = content::attachment(rx, project, &hash).await? else {
                            return Ok(None);
                        };
                        attachments.push(Attachment {
                            filename: meta["filename"].as_str().unwrap_or_default().to_owned(),
                            content_type: meta["contentType"].as_str().unwrap_or_default().to_owned(),
                            content: bytes.into(),
                            content_id: meta["contentId"].as_str().map(str::to_owned),
                            inline: meta["inline"] == true,
                        });
                    }
                    Ok(Some((content, attachments)))
                })
            })
            .await?;
        let Some((content, attachments)) = found else { return Ok(None) };
        let prepared = Arc::new(Prepared::new(&content, attachments));
        self.cache.insert(key, Arc::clone(&prepared));
        Ok(Some(prepared))
    }
}

/// The class of mail that content without a template is.
pub(crate) const INLINE_KIND: TemplateType = TemplateType::Transactional;
