//! Text fields. Each rule is written once, and serves parsing, the API document and error reports.

use std::borrow::Cow;

use mailwright_app::sending::source::MAX_MJML;
use mailwright_core::address::{EmailAddress, Mailbox};
use mailwright_core::intervention::site_name;
use mailwright_core::issue::Issue;
use mailwright_core::short_text::counted;
use mailwright_core::suppression::MAX_PATTERN;
use mailwright_core::template_language::MAX_SOURCE;
use mailwright_core::time::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

/// Whether a text has the form that a schema's `format` names.
fn has_format(format: &str, text: &str) -> bool {
    match format {
        "email" => EmailAddress::parse(text).is_some(),
        "uuid" => text.parse::<uuid::fmt::Hyphenated>().is_ok(),
        "single-line" => !text.contains(['\r', '\n']),
        "file-name" => !text.contains(['\r', '\n', '"']),
        "content-id" => text.chars().all(|c| c.is_ascii_graphic() && !"<>()\"\\".contains(c)),
        "mailbox" => Mailbox::parse(text).is_some_and(|m| EmailAddress::parse(&m.address).is_some()),
        "plain-name" => mailwright_core::name::is_plain(text),
        "plain-text" => !mailwright_core::name::holds_hidden(text),
        "site" => site_name(text).is_some(),
        "language" => is_language(text),
        "date" => Timestamp::parse(text).is_some(),
        _ => true,
    }
}

/// The form that a schema's `format` names, as a regular expression for readers of the document, who do not know the
/// formats of this service.
fn pattern(format: &str) -> String {
    // what `core::name::is_plain` does not take
    const HIDDEN: &str = concat!(
        r"\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f",
        r"\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb",
    );
    match format {
        "single-line" => r"^[^\u0000\r\n]*$".into(),
        "file-name" => r#"^[^\u0000\r\n"]*$"#.into(),
        "content-id" => r"^[!#-'*-;=?-\[\]-~]*$".into(),
        "plain-name" => format!(r"^[^{HIDDEN}]*[^\s{HIDDEN}][^{HIDDEN}]*$"),
        "plain-text" => format!("^[^{HIDDEN}]*$"),
        "site" => {
            const LABEL: &str = "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?";
            let domain = format!(r"{LABEL}(\.{LABEL})*\.?");
            format!(r"^{domain}(\+{domain}){{0,2}}(\+[0-9A-Fa-f]{{16}})?$")
        }
        "language" => "^[a-z]{2}(-[A-Z]{2})?$".into(),
        _ => r"^[^\u0000]*$".into(),
    }
}

/// An address in ASCII. A domain in another script is taken as well, and stored in ASCII.
pub(crate) const ADDRESS: &str = "^[A-Za-z0-9_'+][A-Za-z0-9_'+-]*(\\.[A-Za-z0-9_'+-]+)*@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z]{2,63}$";

/// The same in angle brackets, behind a name or none.
pub(crate) const MAILBOX: &str = "^[A-Za-z0-9 ]*<[A-Za-z0-9_'+-]+(\\.[A-Za-z0-9_'+-]+)*@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z]{2,63}>$";

/// `en`, or `pt-BR`.
fn is_language(text: &str) -> bool {
    let (language, region) = text.split_once('-').map_or((text, None), |(l, r)| (l, Some(r)));
    language.len() == 2
        && language.bytes().all(|b| b.is_ascii_lowercase())
        && region.is_none_or(|region| region.len() == 2 && region.bytes().all(|b| b.is_ascii_uppercase()))
}

/// What is wrong with a text under its schema.
pub(crate) fn issue(schema: &Value, text: &str, at: &str) -> Option<Issue> {
    if let Some(names) = schema["enum"].as_array() {
        if names.iter().any(|name| name == text) {
            return None;
        }
        let names = names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
        return Some(
            Issue::new(at, "invalid_enum_value", format!("Must be one of {names}.")).received(clip(text)),
        );
    }
    let length = text.chars().count() as u64;
    if let Some(least) = schema["minLength"].as_u64().filter(|least| length < *least) {
        return Some(Issue::new(
            at,
            "too_small",
            format!("Must have at least {}.", counted(least, "character")),
        ));
    }
    if let Some(most) = schema["maxLength"].as_u64().filter(|most| length > *most) {
        return Some(Issue::new(at, "too_big", format!("Must have at most {}.", counted(most, "character"))));
    }
    if text.contains('\0') {
        return Some(Issue::new(at, "invalid_string", "Must not contain the NUL character."));
    }
    let format = schema["format"].as_str()?;
    let message = match format {
        "email" => "Must be an email address.",
        "uuid" => "Must be an id, which is a UUID, not a name.",
        "single-line" => "Must not contain line ends.",
        "file-name" => "Must not contain line ends or double quotes.",
        "content-id" => {
            "Must be printable ASCII without spaces, angle brackets, parentheses, quotes and backslashes."
        }
        "mailbox" => "Must be an email address, or a name with one in angle brackets: Ada <ada@example.com>.",
        "plain-name" => "Must have a visible character, and no line ends, control or invisible characters.",
        "plain-text" => "Must not contain line ends, control or invisible characters.",
        "site" => "Must be the name of a site, such as google.com or a.example+b.example.",
        "date" => "Must be a date such as 2030-01-31T10:20:30Z.",
        "language" => "Must be a language such as en, or a language and a region such as pt-BR.",
        _ => "Does not have the required format.",
    };
    (!has_format(format, text)).then(|| Issue::new(at, "invalid_string", message))
}

/// The beginning of a text from a request, for an answer.
pub(crate) fn clip(text: &str) -> String {
    text.chars().take(100).collect()
}

macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $min:literal..=$max:expr, $format:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq)]
        pub(crate) struct $name(pub(crate) String);

        /// Never the text itself, which can be a password.
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({} bytes)", stringify!($name), self.0.len())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                if ($min..=$max).contains(&text.chars().count()) && !text.contains('\0') && has_format($format, &text) {
                    Ok(Self(text))
                } else {
                    Err(serde::de::Error::custom(concat!("not a valid ", stringify!($name))))
                }
            }
        }

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let mut schema = ObjectBuilder::new()
                    .schema_type(Type::String)
                    .min_length(Some($min))
                    .max_length(Some($max))
                    .pattern(Some(pattern($format)));
                if !$format.is_empty() {
                    schema = schema.format(Some(SchemaFormat::Custom($format.into())));
                }
                schema.into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }
    };
}

text!(
    /// Subject of a mail.
    Subject, 1..=998, "single-line"
);
text!(
    /// HTML of a template, with variables.
    Html, 1..=MAX_SOURCE, ""
);
text!(
    /// MJML of a template, with variables.
    Mjml, 1..=MAX_MJML, ""
);
text!(
    /// Subject of a mail that somebody writes.
    DraftSubject, 0..=998, "single-line"
);
text!(
    /// HTML of a mail that somebody writes, with variables.
    DraftHtml, 0..=MAX_SOURCE, ""
);
text!(
    /// HTML of a mail, with variables. The whole message has a limit of its own.
    MailHtml, 1..=40_000_000, ""
);
text!(
    /// Plain text of a mail, with variables. The whole message has a limit of its own.
    MailText, 1..=40_000_000, ""
);
text!(
    /// An address, or a name with an address in angle brackets.
    MailboxText, 1..=1000, "mailbox"
);
text!(
    /// A name shown with an address.
    DisplayName, 0..=255, "single-line"
);
text!(
    /// The name of a campaign's sender.
    SenderName, 0..=100, "single-line"
);
text!(
    /// The internal name of something.
    Name, 1..=100, ""
);
text!(
    /// An internal note.
    Description, 0..=500, ""
);
text!(
    /// Name of an event.
    EventName, 1..=255, ""
);
text!(
    /// Value of a custom header (RFC 5322).
    HeaderValue, 0..=998, "single-line"
);
text!(
    /// Name of an attached file.
    FileName, 1..=255, "file-name"
);
text!(
    /// MIME type of an attached file.
    MediaType, 1..=255, "single-line"
);
text!(
    /// Name by which HTML refers to an inline file: `cid:<name>`.
    ContentId, 1..=255, "content-id"
);
text!(
    /// Base64 text.
    Base64Text, 1..=60_000_000, ""
);
text!(
    /// A domain name.
    DomainText, 3..=253, ""
);
text!(
    /// Whoever runs mail servers, as reasons of mail that waits name it.
    SiteText, 1..=253, "site"
);
text!(
    /// Why something is wanted, for people.
    ReasonText, 0..=500, "plain-text"
);
text!(
    /// A name that others are shown: of a project, a key or a person.
    PlainName, 1..=100, "plain-name"
);
text!(
    /// A language, with or without a region.
    Language, 2..=5, "language"
);
text!(
    /// A password to check.
    Password, 1..=1000, ""
);
text!(
    /// A password to set.
    NewPassword, 8..=1000, ""
);
text!(
    /// A code of a second factor, or a recovery code.
    Code, 6..=40, ""
);
text!(
    /// What a link that was sent to somebody carries.
    LinkToken, 64..=64, ""
);
text!(
    /// Any text of moderate length.
    ShortText, 0..=1000, ""
);

text!(
    /// An instant or a date.
    DateText, 1..=40, "date"
);
text!(
    /// A pattern of addresses.
    AddressPattern, 1..=MAX_PATTERN, ""
);

/// An email address, normalised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Email(pub(crate) EmailAddress);

impl<'de> Deserialize<'de> for Email {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        EmailAddress::parse(&text).map(Self).ok_or_else(|| serde::de::Error::custom("not an email address"))
    }
}

impl PartialSchema for Email {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::Custom("email".into());
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(format))
            .pattern(Some(ADDRESS))
            .max_length(Some(1016))
            .into()
    }
}

impl ToSchema for Email {
    fn name() -> Cow<'static, str> {
        "Email".into()
    }
}

/// Custom fields of a contact: any JSON object.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub(crate) struct DataObject(pub(crate) mailwright_core::custom_data::Data);

impl PartialSchema for DataObject {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some(
                "Custom fields. null deletes a key; {value, persistent: false} is for this request only.",
            ))
            .additional_properties(Some(RefOr::T(Schema::Object(
                ObjectBuilder::new().schema_type(utoipa::openapi::schema::SchemaType::AnyValue).build(),
            ))))
            .into()
    }
}

impl ToSchema for DataObject {
    fn name() -> Cow<'static, str> {
        "DataObject".into()
    }
}
