//! Reads what SES publishes, both as events of configuration sets (`eventType`) and as notifications of identities and
//! of received mail (`notificationType`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use mailwright_core::time::Timestamp;
use serde_json::Value;

use super::envelope::MAX_MESSAGE;
use super::json::{self, LONG, Lists, SHORT};
use super::notification::{
    Bounce, BounceKind, Click, Complaint, Delay, Delivery, Header, Inbound, InboundAction, MailNews, MailRef,
    Notification, NotificationError, Recipient, Subscription, Tag, TopicChoice, Verdict, Verdicts, Visit,
    What,
};

/// What SES publishes when a topic becomes the destination of events.
const VALIDATION: &str = "Successfully validated SNS topic for Amazon SES event publishing.";
/// The type of what it publishes when a topic becomes that of an identity.
const SUBSCRIBED: &str = "AmazonSnsSubscriptionSucceeded";

/// How many elements of a list are kept. SES itself takes 50 recipients for a mail.
const RECIPIENTS: usize = 100;
const HEADERS: usize = 200;
const TAGS: usize = 100;
const VALUES: usize = 20;

impl Notification {
    /// Reads the message of a notification.
    ///
    /// What makes the news usable has to be there: its type, the id of the mail, and the object that belongs to the
    /// type. Other fields that are not as SES documents them count as absent, longer lists are cut (see
    /// [`MailNews::cut`]), and texts are made one line of bounded length.
    pub fn parse(message: &str) -> Result<Self, NotificationError> {
        if message.len() > MAX_MESSAGE {
            return Err(NotificationError::TooLong);
        }
        if message.trim() == VALIDATION {
            return Ok(Self::Validation);
        }
        let root: Value =
            serde_json::from_str(message).map_err(|error| NotificationError::Json(error.to_string()))?;
        let name = json::text(&root, "eventType", SHORT)
            .or_else(|| json::text(&root, "notificationType", SHORT))
            .ok_or(NotificationError::Missing("eventType"))?;
        let mut lists = Lists::default();
        let (what, at) = match name.as_str() {
            SUBSCRIBED => return Ok(Self::Validation),
            "Send" => (What::Sent, None),
            "Delivery" => read(&root, "delivery", |object| delivery(object, &mut lists))?,
            "Open" => read(&root, "open", |object| What::Opened(visit(object)))?,
            "Click" => read(&root, "click", |object| click(object, &mut lists))?,
            "Bounce" => read(&root, "bounce", |object| bounce(object, &mut lists))?,
            "Complaint" => read(&root, "complaint", |object| complaint(object, &mut lists))?,
            "DeliveryDelay" => read(&root, "deliveryDelay", |object| delay(object, &mut lists))?,
            "Reject" => {
                read(&root, "reject", |object| What::Rejected { reason: json::text(object, "reason", LONG) })?
            }
            "Rendering Failure" => read(&root, "failure", |object| What::RenderingFailed {
                template: json::text(object, "templateName", SHORT),
                error: json::text(object, "errorMessage", LONG),
            })?,
            "Subscription" => read(&root, "subscription", |object| subscription(object, &mut lists))?,
            "Received" => {
                let receipt = object(&root, "receipt")?;
                (What::Received(Box::new(inbound(&root, receipt, &mut lists)?)), moment(receipt))
            }
            _ => return Ok(Self::Other { name }),
        };
        let mail = mail(object(&root, "mail")?, &mut lists)?;
        let at = at.or(mail.sent_at);
        Ok(Self::Mail(Box::new(MailNews { mail, what, at, cut: lists.cut })))
    }
}

/// Reads the object that belongs to a type, and when that happened.
fn read(
    root: &Value,
    name: &'static str,
    what: impl FnOnce(&Value) -> What,
) -> Result<(What, Option<Timestamp>), NotificationError> {
    let object = object(root, name)?;
    Ok((what(object), moment(object)))
}

fn object<'v>(root: &'v Value, name: &'static str) -> Result<&'v Value, NotificationError> {
    root.get(name).filter(|value| value.is_object()).ok_or(NotificationError::Missing(name))
}

fn moment(object: &Value) -> Option<Timestamp> {
    json::instant(object, "timestamp")
}

fn mail(mail: &Value, lists: &mut Lists) -> Result<MailRef, NotificationError> {
    let common = mail.get("commonHeaders").unwrap_or(&Value::Null);
    let header = |value: &Value| {
        let name = json::id(value, "name")?;
        Some(Header { name, value: json::text(value, "value", LONG).unwrap_or_default() })
    };
    let truncated = mail.get("headersTruncated");
    let mut mail = MailRef {
        provider_id: json::id(mail, "messageId").ok_or(NotificationError::Missing("mail.messageId"))?,
        message_id: None,
        source: json::text(mail, "source", LONG).filter(|source| source != "<>"),
        destination: lists.addresses(mail, "destination", RECIPIENTS),
        sent_at: moment(mail),
        headers: lists.first(mail, "headers", HEADERS).iter().filter_map(header).collect(),
        // a string in some of the documentation
        headers_truncated: truncated.is_some_and(|value| *value == Value::Bool(true) || value == "true"),
        from: lists.lines(common, "from", RECIPIENTS),
        to: lists.lines(common, "to", RECIPIENTS),
        subject: json::text(common, "subject", LONG),
        tags: tags(mail, "tags", lists),
    };
    let given = mail.header("Message-ID").filter(|value| !value.is_empty());
    let common = common.get("messageId").and_then(Value::as_str);
    mail.message_id = given.or(common).and_then(|text| {
        let bare = text.trim().trim_start_matches('<').trim_end_matches('>');
        json::line(bare, LONG)
    });
    Ok(mail)
}

/// Tags: an object that has a list of values for each name.
fn tags(holder: &Value, name: &str, lists: &mut Lists) -> Vec<Tag> {
    let Some(all) = holder.get(name) else { return Vec::new() };
    let names = all.as_object().into_iter().flat_map(|tags| tags.keys());
    lists.cut |= names.clone().count() > TAGS;
    let tag = |name: &String| {
        let values = lists.lines(all, name, VALUES);
        Some(Tag { name: json::line(name, SHORT)?, values })
    };
    names.take(TAGS).filter_map(tag).collect()
}

fn delivery(object: &Value, lists: &mut Lists) -> What {
    What::Delivered(Delivery {
        recipients: lists.addresses(object, "recipients", RECIPIENTS),
        smtp_response: json::text(object, "smtpResponse", LONG),
        reporting_mta: json::text(object, "reportingMTA", LONG),
    })
}

fn visit(object: &Value) -> Visit {
    Visit { ip: json::ip(object, "ipAddress"), user_agent: json::text(object, "userAgent", LONG) }
}

fn click(object: &Value, lists: &mut Lists) -> What {
    What::Clicked(Click {
        visit: visit(object),
        link: json::link(object, "link"),
        link_tags: tags(object, "linkTags", lists),
    })
}

fn bounce(object: &Value, lists: &mut Lists) -> What {
    let kind = json::text(object, "bounceType", SHORT).and_then(|name| BounceKind::from_name(&name));
    What::Bounced(Bounce {
        kind: kind.unwrap_or(BounceKind::Undetermined),
        sub_type: json::text(object, "bounceSubType", SHORT),
        recipients: recipients(object, "bouncedRecipients", lists),
        feedback_id: json::id(object, "feedbackId"),
        reporting_mta: json::text(object, "reportingMTA", LONG),
    })
}

fn recipients(object: &Value, name: &str, lists: &mut Lists) -> Vec<Recipient> {
    let recipient = |value: &Value| {
        Some(Recipient {
            address: json::address(value.get("emailAddress")?.as_str()?)?,
            action: json::text(value, "action", SHORT),
            status: json::text(value, "status", SHORT),
            diagnostic: json::text(value, "diagnosticCode", LONG),
        })
    };
    lists.first(object, name, RECIPIENTS).iter().filter_map(recipient).collect()
}

fn complaint(object: &Value, lists: &mut Lists) -> What {
    let complaint = Complaint {
        recipients: recipients(object, "complainedRecipients", lists)
            .into_iter()
            .map(|recipient| recipient.address)
            .collect(),
        feedback_type: json::text(object, "complaintFeedbackType", SHORT),
        sub_type: json::text(object, "complaintSubType", SHORT),
        feedback_id: json::id(object, "feedbackId"),
        user_agent: json::text(object, "userAgent", LONG),
        arrived_at: json::instant(object, "arrivalDate"),
    };
    let feedback_type = complaint.feedback_type.as_deref().unwrap_or_default();
    if feedback_type.eq_ignore_ascii_case("not-spam") {
        What::NotSpam(complaint)
    } else {
        What::Complained(complaint)
    }
}

fn delay(object: &Value, lists: &mut Lists) -> What {
    What::Delayed(Delay {
        recipients: recipients(object, "delayedRecipients", lists),
        delay_type: json::text(object, "delayType", SHORT),
        expires_at: json::instant(object, "expirationTime"),
    })
}

fn subscription(object: &Value, lists: &mut Lists) -> What {
    let chosen = object.get("newTopicPreferences").unwrap_or(&Value::Null);
    let choice = |value: &Value| {
        let wanted = json::text(value, "subscriptionStatus", SHORT)? == "OptIn";
        Some(TopicChoice { topic: json::text(value, "topicName", SHORT)?, wanted })
    };
    What::SubscriptionChanged(Subscription {
        contact_list: json::text(object, "contactList", SHORT),
        source: json::text(object, "source", SHORT),
        unsubscribed_from_all: chosen.get("unsubscribeAll") == Some(&Value::Bool(true)),
        topics: lists
            .first(chosen, "topicSubscriptionStatus", RECIPIENTS)
            .iter()
            .filter_map(choice)
            .collect(),
    })
}

fn inbound(root: &Value, receipt: &Value, lists: &mut Lists) -> Result<Inbound, NotificationError> {
    let verdict = |name| Verdict::from_name(receipt.get(name)?.get("status")?.as_str()?);
    let action = receipt.get("action").filter(|action| action.is_object());
    let encoding = action.and_then(|action| json::text(action, "encoding", SHORT)).unwrap_or_default();
    let content = root.get("content").and_then(Value::as_str).map(|text| content(text, &encoding));
    Ok(Inbound {
        recipients: lists.addresses(receipt, "recipients", RECIPIENTS),
        processing_millis: receipt.get("processingTimeMillis").and_then(millis),
        verdicts: Verdicts {
            spam: verdict("spamVerdict"),
            virus: verdict("virusVerdict"),
            spf: verdict("spfVerdict"),
            dkim: verdict("dkimVerdict"),
            dmarc: verdict("dmarcVerdict"),
        },
        dmarc_policy: json::text(receipt, "dmarcPolicy", SHORT),
        action: action.map(|action| InboundAction {
            kind: json::text(action, "type", SHORT),
            bucket: json::text(action, "bucketName", SHORT),
            key: json::text(action, "objectKey", LONG),
        }),
        content: content.transpose()?,
    })
}

/// A number of milliseconds, which the documentation calls a string and shows as a number.
fn millis(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn content(text: &str, encoding: &str) -> Result<Vec<u8>, NotificationError> {
    if !encoding.eq_ignore_ascii_case("base64") {
        return Ok(text.as_bytes().to_vec());
    }
    let bare: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    BASE64.decode(bare).map_err(|_| NotificationError::Content)
}
