//! What requests about campaigns say.

use mailwright_core::campaign::AudienceType;
use mailwright_core::email::Reason;
use mailwright_core::ids::{SegmentId, TopicId};
use mailwright_core::issue::Issue;
use mailwright_core::patch::Patch;
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::error::{ApiError, Result};
use crate::fields::{Description, Email, Html, Mjml, Name, SenderName, Subject};
use crate::filter::FilterTree;
use crate::schema::Payload;
use crate::sending::edited::{self, EditorDocument};

/// Most bytes of a body with a campaign in it.
const MAX_BODY: usize = 25 * 1024 * 1024;

/// A campaign to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateCampaignRequest {
    pub(super) name: Name,
    pub(super) description: Option<Description>,
    pub(super) subject: Subject,
    /// Required, unless there is `mjml`.
    pub(super) body: Option<Html>,
    /// MJML that the body is made from.
    pub(super) mjml: Option<Mjml>,
    /// The document of the editor that made the MJML.
    pub(super) document: Option<EditorDocument>,
    /// Its domain must be verified.
    pub(super) from: Email,
    pub(super) from_name: Option<SenderName>,
    pub(super) reply_to: Option<Email>,
    /// `MARKETING` by default.
    pub(super) r#type: Option<TemplateType>,
    /// Whether opens and clicks of its mails are tracked. Left out or null: what the project says.
    pub(super) tracking: Option<bool>,
    /// The topic that it belongs to: contacts that are not in it do not get it.
    pub(super) topic_id: Option<TopicId>,
    pub(super) audience_type: AudienceType,
    /// Required for an audience of type `SEGMENT`.
    pub(super) segment_id: Option<SegmentId>,
    /// Required for an audience of type `FILTERED`: a filter tree.
    #[schema(value_type = Option<FilterTree>)]
    pub(super) audience_condition: Option<Value>,
}

impl Payload for CreateCampaignRequest {
    const MAX_BODY: usize = MAX_BODY;

    fn check(&self) -> Vec<Issue> {
        let mut issues = edited::check_document(self.document.as_ref());
        issues.extend(edited::check_present(self.body.as_ref(), self.mjml.as_ref()));
        issues
    }

    fn check_across(&self) -> Vec<Issue> {
        edited::check_together(self.body.as_ref(), self.mjml.as_ref(), self.document.as_ref())
    }
}

/// A campaign to replace, or parts of it: fields that are left out stay as they are.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpdateCampaignRequest {
    pub(super) name: Option<Name>,
    /// null clears it.
    #[serde(default)]
    #[schema(value_type = Option<Description>)]
    pub(super) description: Patch<Description>,
    pub(super) subject: Option<Subject>,
    /// Takes away the MJML and the document that there were.
    pub(super) body: Option<Html>,
    /// MJML that the body is made from.
    pub(super) mjml: Option<Mjml>,
    /// The document of the editor that made the MJML. Without it there is none any more.
    pub(super) document: Option<EditorDocument>,
    /// Its domain must be verified.
    pub(super) from: Option<Email>,
    /// null clears it.
    #[serde(default)]
    #[schema(value_type = Option<SenderName>)]
    pub(super) from_name: Patch<SenderName>,
    /// null clears it.
    #[serde(default)]
    #[schema(value_type = Option<Email>)]
    pub(super) reply_to: Patch<Email>,
    pub(super) r#type: Option<TemplateType>,
    /// null leaves it to the project.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub(super) tracking: Patch<bool>,
    /// null takes it out of its topic.
    #[serde(default)]
    #[schema(value_type = Option<TopicId>)]
    pub(super) topic_id: Patch<TopicId>,
    pub(super) audience_type: Option<AudienceType>,
    pub(super) segment_id: Option<SegmentId>,
    /// A filter tree.
    #[schema(value_type = Option<FilterTree>)]
    pub(super) audience_condition: Option<Value>,
}

impl Payload for UpdateCampaignRequest {
    const MAX_BODY: usize = MAX_BODY;

    fn check(&self) -> Vec<Issue> {
        edited::check_document(self.document.as_ref())
    }

    fn check_across(&self) -> Vec<Issue> {
        edited::check_together(self.body.as_ref(), self.mjml.as_ref(), self.document.as_ref())
    }
}

/// When a campaign is to be sent. A field of another name is refused: a misspelt one would send to everybody at once.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SendCampaignRequest {
    /// When to start: any date in the future that JavaScript's `Date` reads, in UTC if it has no offset, or
    /// milliseconds since 1970. Left out or null: now.
    #[schema(value_type = Option<Value>)]
    pub(super) scheduled_for: Option<Value>,
}

impl Payload for SendCampaignRequest {}

/// A time in a request: a text that JavaScript's `Date` reads, or milliseconds since 1970. A missing value and null
/// mean now. Any other value that is no date is refused, since a campaign that was sent cannot be taken back.
pub(super) fn date(given: Option<&Value>) -> Result<Option<Timestamp>> {
    let parsed = match given {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => Timestamp::parse_any(text),
        Some(Value::Number(number)) => number.as_f64().and_then(instant),
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => None,
    };
    parsed.map(Some).ok_or_else(|| {
        ApiError::bad_request(
            "scheduledFor must be a date of the years 0 to 9999, such as \"2030-01-31T09:30:00.000Z\". \
             Leave it out, or pass null, to send now.",
        )
    })
}

/// The instant so many milliseconds after 1970, fractions cut off; `None` for what no timestamp can say.
fn instant(millis: f64) -> Option<Timestamp> {
    // beyond it whole numbers are not exact, and JavaScript knows no dates
    const MOST: f64 = 8.64e15;
    (millis.abs() <= MOST).then(|| Timestamp::from_millis(millis.trunc() as i64))?
}

/// Mails that can be tried once more.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Retriable {
    /// The mails that failed.
    Failed,
    /// The mails in doubt, which may have been taken: a recipient may get a second copy.
    InDoubt,
}

/// Which mails are tried once more.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RetryCampaignRequest {
    /// `FAILED` by default.
    pub(super) state: Option<Retriable>,
    /// Only those that failed for this reason.
    pub(super) reason: Option<Reason>,
}

impl Payload for RetryCampaignRequest {}

/// Whom a test goes to.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TestCampaignRequest {
    pub(super) email: Email,
}

impl Payload for TestCampaignRequest {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whatever_is_a_date_is_one_and_only_null_means_now() {
        assert_eq!(date(None).unwrap(), None);
        assert_eq!(date(Some(&json!(null))).unwrap(), None);
        for (given, millis) in [
            (json!(0), 0),
            (json!(-0.0), 0),
            (json!(1000), 1000),
            (json!(1000.9), 1000),
            (json!(-1.5), -1),
            (json!(253_402_300_799_999_i64), 253_402_300_799_999),
            (json!("1970-01-01T00:00:01Z"), 1000),
            (json!("0"), 946_684_800_000),
        ] {
            assert_eq!(date(Some(&given)).unwrap(), Some(Timestamp(millis)), "{given}");
        }
        for wrong in [
            json!(""),
            json!(" "),
            json!("soon"),
            json!(false),
            json!(true),
            json!({}),
            json!([]),
            json!([0]),
            json!(253_402_300_800_000_i64),
            json!(8.64e15),
            json!(1e18),
            json!(1e300),
            json!(-1e300),
            json!(u64::MAX),
            json!(i64::MIN),
            json!("+010000-01-01"),
        ] {
            assert!(date(Some(&wrong)).is_err(), "{wrong}");
        }
    }
}
