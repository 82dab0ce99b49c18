//! Entries of the feed as clients see them (reference 7).

use mailwright_app::insight::activity::{Campaign, Entry, Event, Execution, Mail, What};
use mailwright_core::activity::ActivityType;
use mailwright_core::bounce::BounceClass;
use mailwright_core::ids::ContactId;
use mailwright_core::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// Something that happened.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ActivityView {
    id: String,
    r#type: ActivityType,
    #[schema(value_type = String, format = DateTime)]
    timestamp: Timestamp,
    /// Address of the contact; missing where it is about none, or the contact was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    contact_email: Option<String>,
    /// The contact; missing where it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    contact_id: Option<ContactId>,
    /// What else there is to tell, by type.
    #[schema(value_type = Object)]
    metadata: Value,
}

impl From<Entry> for ActivityView {
    fn from(entry: Entry) -> Self {
        let r#type = entry.kind();
        let metadata = match entry.what {
            What::Event(event) => of_event(r#type, *event),
            What::Created => json!({}),
            What::Execution(execution) => of_execution(execution),
            What::Campaign(campaign) => of_campaign(campaign),
        };
        Self {
            id: entry.place.entry_id(),
            r#type,
            timestamp: entry.place.at,
            contact_email: entry.email.map(|email| email.to_string()),
            contact_id: entry.contact,
            metadata,
        }
    }
}

fn of_event(kind: ActivityType, event: Event) -> Value {
    let mut metadata = match event.mail {
        Some(mail) => of_mail(kind, mail),
        None => Map::new(),
    };
    match kind {
        ActivityType::EmailReceived => metadata.extend(received(event.data.as_ref())),
        kind if kind.as_str().starts_with("email.") => {}
        _ => {
            metadata.insert("eventName".into(), event.name.into());
            metadata.insert("eventData".into(), event.data.unwrap_or(Value::Null));
        }
    }
    Value::Object(metadata)
}

/// What the event says of a mail that came in: nothing was sent.
fn received(data: Option<&Value>) -> impl Iterator<Item = (String, Value)> {
    ["subject", "from", "fromHeader", "to", "emailId"].into_iter().map(move |name| {
        let value = data.and_then(|data| data.get(name)).cloned().unwrap_or(Value::Null);
        (name.to_owned(), value)
    })
}

fn of_mail(kind: ActivityType, mail: Mail) -> Map<String, Value> {
    let mut metadata = Map::new();
    let mut put = |name: &str, value: Value| {
        metadata.insert(name.to_owned(), value);
    };
    put("emailId", json!(mail.id));
    put("subject", mail.subject.into());
    put("from", mail.from.into());
    put("fromName", mail.from_name.into());
    put("replyTo", mail.reply_to.into());
    put("to", mail.recipient.into());
    put("toName", mail.recipient_name.into());
    put("sourceType", mail.source.as_str().into());
    put("templateId", json!(mail.template));
    if let Some(campaign) = mail.campaign {
        put("campaignId", json!(campaign));
        put("campaignName", mail.campaign_name.into());
    }
    if let Some(workflow) = mail.workflow {
        put("workflowId", json!(workflow));
        put("workflowName", mail.workflow_name.into());
    }
    match kind {
        ActivityType::EmailOpened => put("totalOpens", mail.opens.into()),
        ActivityType::EmailClicked => put("totalClicks", mail.clicks.into()),
        ActivityType::EmailBounced => {
            put("error", mail.error.into());
            put("bounceClass", mail.bounce_class.map(BounceClass::as_str).into());
        }
        _ => {}
    }
    metadata
}

fn of_execution(execution: Execution) -> Value {
    json!({
        "workflowId": execution.workflow,
        "workflowName": execution.workflow_name,
        "status": execution.status.as_str(),
        "exitReason": execution.exit_reason,
    })
}

fn of_campaign(campaign: Campaign) -> Value {
    json!({
        "campaignId": campaign.id,
        "campaignName": campaign.name,
        "subject": campaign.subject,
        "totalRecipients": campaign.recipients,
        "audienceType": campaign.audience.as_str(),
        "segmentName": campaign.segment_name,
    })
}
