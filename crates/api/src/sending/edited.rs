//! What requests and answers about templates and campaigns say of the source of their HTML.

use std::borrow::Cow;

use mailwright_app::sending::source::{Current, Edited, MAX_DOCUMENT, MAX_DOCUMENT_DEPTH, Texts};
use mailwright_core::audit::Actor;
use mailwright_core::custom_data;
use mailwright_core::issue::Issue;
use mailwright_core::time::Timestamp;
use mailwright_store::json_text;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::fields::{Html, Mjml, Subject};

/// The document of an editor: any JSON object.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct EditorDocument(pub(crate) Map<String, Value>);

impl PartialSchema for EditorDocument {
    fn schema() -> RefOr<Schema> {
        let anything = ObjectBuilder::new().schema_type(SchemaType::AnyValue).build();
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("The document of an editor, kept as it is. At most 1 MB as JSON text."))
            .additional_properties(Some(RefOr::T(Schema::Object(anything))))
            .into()
    }
}

impl ToSchema for EditorDocument {
    fn name() -> Cow<'static, str> {
        "EditorDocument".into()
    }
}

/// What is wrong with a document by itself.
pub(super) fn check_document(document: Option<&EditorDocument>) -> Vec<Issue> {
    let Some(EditorDocument(document)) = document else { return Vec::new() };
    if document.values().any(|value| custom_data::is_deeper(value, MAX_DOCUMENT_DEPTH - 1)) {
        let text = format!("Must have at most {MAX_DOCUMENT_DEPTH} objects and lists inside each other.");
        return vec![Issue::new("document", "too_big", text)];
    }
    if json_text(document).len() > MAX_DOCUMENT {
        return vec![Issue::new(
            "document",
            "too_big",
            format!("Must have at most {MAX_DOCUMENT} bytes as JSON."),
        )];
    }
    Vec::new()
}

/// What is wrong with HTML, MJML and document together.
pub(super) fn check_together(
    body: Option<&Html>,
    mjml: Option<&Mjml>,
    document: Option<&EditorDocument>,
) -> Vec<Issue> {
    let mut issues = check_either(body.is_some(), mjml.is_some());
    if document.is_some() && mjml.is_none() {
        let text = "A document needs the mjml that was made from it.";
        issues.push(Issue::new("document", "custom", text));
    }
    issues
}

/// Refuses HTML and MJML together.
pub(super) fn check_either(has_body: bool, has_mjml: bool) -> Vec<Issue> {
    if !(has_body && has_mjml) {
        return Vec::new();
    }
    let text = "Pass either body or mjml: the body is made from the MJML.";
    ["body", "mjml"].map(|field| Issue::new(field, "custom", text)).into()
}

/// The issue of something new that says nothing.
pub(super) fn check_present(body: Option<&Html>, mjml: Option<&Mjml>) -> Option<Issue> {
    let is_missing = body.is_none() && mjml.is_none();
    is_missing
        .then(|| Issue::new("body", "invalid_type", "Required, unless there is mjml.").received("undefined"))
}

/// The texts of a request.
pub(super) fn texts(
    subject: Option<Subject>,
    body: Option<Html>,
    mjml: Option<Mjml>,
    document: Option<EditorDocument>,
) -> Texts {
    Texts {
        subject: subject.map(String::from),
        body: body.map(String::from),
        mjml: mjml.map(String::from),
        document: document.map(|document| document.0),
    }
}

/// Who saved a version.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SaverView {
    /// `user`, `key`, `operator` or `service`.
    r#type: &'static str,
    /// Id of the user or of the key.
    id: Option<String>,
}

impl From<Actor> for SaverView {
    fn from(actor: Actor) -> Self {
        match actor {
            Actor::User { id, .. } => Self { r#type: "user", id: Some(id.to_string()) },
            Actor::Key { id, .. } => Self { r#type: "key", id: Some(id.to_string()) },
            Actor::Operator => Self { r#type: "operator", id: None },
            Actor::Service => Self { r#type: "service", id: None },
        }
    }
}

/// A template or a campaign with what it is made from.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EditedView<T> {
    #[serde(flatten)]
    of: T,
    /// The MJML that `body` was made from; null where the HTML was written as such.
    mjml: Option<String>,
    /// The document of the editor that made the MJML.
    #[schema(value_type = Option<EditorDocument>)]
    document: Option<Value>,
    /// Number of the current version, from 1. Former ones are at `/versions`.
    version: i64,
    /// When the current version was saved.
    #[schema(value_type = String, format = DateTime)]
    saved_at: Timestamp,
    /// Who saved it; null where that is not known any more.
    saved_by: Option<SaverView>,
}

impl<T> EditedView<T> {
    pub(super) fn new<O>(edited: Edited<O>, view: impl FnOnce(O) -> T) -> Self {
        let Edited { of, current: Current { source, number, saved_at, by } } = edited;
        Self {
            of: view(of),
            mjml: source.mjml,
            document: document_value(source.document.as_deref()),
            version: number,
            saved_at,
            saved_by: by.map(SaverView::from),
        }
    }
}

/// A stored document. It was JSON when it was stored.
pub(super) fn document_value(text: Option<&str>) -> Option<Value> {
    text.and_then(|text| serde_json::from_str(text).ok())
}
