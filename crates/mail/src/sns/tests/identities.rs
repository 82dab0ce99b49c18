//! Notifications of identities and of received mail, which have no tags and often no headers.

use serde_json::json;

use super::{at, json as fixture_json, news, news_of};
use crate::sns::{BounceKind, InboundAction, Notification, NotificationError, Verdict, Verdicts, What};

#[test]
fn bounces_are_read() {
    let news = news("identity_bounce");
    assert_eq!(news.mail.destination, ["anna@example.org", "bert@example.org", "carla@example.org"]);
    assert!(news.mail.headers.is_empty() && news.mail.tags.is_empty());
    assert_eq!((news.mail.message_id, news.mail.subject), (None, None));
    let What::Bounced(bounce) = news.what else { panic!() };
    assert_eq!((bounce.kind, bounce.sub_type.as_deref()), (BounceKind::Transient, Some("MailboxFull")));
    let recipients: Vec<_> = bounce
        .recipients
        .iter()
        .map(|of| (of.address.as_str(), of.action.as_deref(), of.status.as_deref(), of.diagnostic.as_deref()))
        .collect();
    assert_eq!(
        recipients,
        [
            ("anna@example.org", Some("failed"), Some("4.2.2"), Some("smtp; 452 4.2.2 mailbox full")),
            ("bert@example.org", Some("delayed"), Some("4.0.0"), None),
        ]
    );

    let What::Bounced(bounce) = super::news("identity_bounce_without_dsn").what else { panic!() };
    assert_eq!(bounce.kind, BounceKind::Undetermined);
    assert_eq!((bounce.reporting_mta, bounce.recipients[0].status.as_deref()), (None, None));
}

#[test]
fn complaints_are_read() {
    let report = news("identity_complaint");
    assert!(matches!(report.what, What::NotSpam(_)));
    assert_eq!(report.mail.message_id.as_deref(), Some("custom-message-id"));
    assert_eq!(report.mail.sent_at, Some(at("2026-03-02T08:15:30Z")), "with a space before the offset");
    assert!(report.mail.headers_truncated, "as a text");

    let What::Complained(complaint) = news("identity_complaint_without_report").what else { panic!() };
    assert_eq!(complaint.recipients, ["anna@example.org", "bert@example.org"]);
    assert_eq!((complaint.feedback_type.as_deref(), complaint.arrived_at), (None, None));
    assert!(complaint.is_of_suppression_list());
}

#[test]
fn deliveries_are_read() {
    let news = news("identity_delivery");
    let What::Delivered(delivery) = news.what else { panic!() };
    assert_eq!(delivery.recipients, ["anna@example.org"]);
    assert_eq!(delivery.smtp_response.as_deref(), Some("250 ok:  Message 64111812 accepted"));
}

#[test]
fn the_message_id_is_that_of_the_sender() {
    let mut document = fixture_json("identity_delivery");
    document["mail"]["headers"] = json!([]);
    assert_eq!(news_of(&document).mail.message_id.as_deref(), Some("custom-message-id"), "of commonHeaders");
    document["mail"]["commonHeaders"]["messageId"] = json!("<>");
    assert_eq!(news_of(&document).mail.message_id, None);
    document["mail"]["headers"] = json!([{"name": "message-ID", "value": " <a@b> "}]);
    assert_eq!(news_of(&document).mail.message_id.as_deref(), Some("a@b"));
}

#[test]
fn received_mail_is_read() {
    let news = news("received_text");
    assert_eq!(news.mail.provider_id, "d6iitobk75ur44p8kdnnp7g2n800");
    assert_eq!(news.mail.message_id.as_deref(), Some("77@example.org"));
    assert_eq!(news.mail.header("In-Reply-To"), Some("<0198a1b2c3d4@mail.example.com>"));
    assert_eq!(news.mail.source.as_deref(), Some("anna@example.org"));
    assert_eq!(news.mail.from, ["Anna <anna@example.org>"]);
    assert_eq!(news.at, Some(at("2026-03-04T20:32:34.158Z")));
    let What::Received(inbound) = news.what else { panic!() };
    assert_eq!(inbound.recipients, ["reply@in.example.com"]);
    assert_eq!(inbound.processing_millis, Some(222));
    let verdicts = Verdicts {
        spam: Some(Verdict::Pass),
        virus: Some(Verdict::Pass),
        spf: Some(Verdict::Gray),
        dkim: Some(Verdict::Pass),
        dmarc: Some(Verdict::Fail),
    };
    assert_eq!(inbound.verdicts, verdicts);
    assert_eq!(inbound.dmarc_policy.as_deref(), Some("reject"));
    let action = InboundAction { kind: Some("SNS".to_owned()), bucket: None, key: None };
    assert_eq!(inbound.action, Some(action));
    let content = String::from_utf8(inbound.content.unwrap()).unwrap();
    assert!(content.ends_with("\r\n\r\nThank you, grüße!\r\n"));
}

#[test]
fn the_content_may_be_in_base64() {
    let What::Received(inbound) = news("received_base64").what else { panic!() };
    let content = inbound.content.unwrap();
    assert!(content.ends_with(b"\r\n\r\nThank you, gr\xfc\xdfe!\r\n"), "not UTF-8, and whole");
    let mut document = fixture_json("received_base64");
    document["receipt"]["action"]["encoding"] = json!("Base64");
    assert!(matches!(news_of(&document).what, What::Received(again) if again.content == Some(content)));
    document["content"] = json!("no base64!");
    assert_eq!(Notification::parse(&document.to_string()), Err(NotificationError::Content));
}

#[test]
fn the_content_may_be_elsewhere() {
    let What::Received(inbound) = news("received_s3").what else { panic!() };
    assert_eq!(inbound.content, None);
    let action = InboundAction {
        kind: Some("S3".to_owned()),
        bucket: Some("inbound".to_owned()),
        key: Some("mail/d6iitobk75ur44p8kdnnp7g2n800".to_owned()),
    };
    assert_eq!(inbound.action, Some(action));
}

#[test]
fn odd_receipts_lose_nothing_else() {
    let mut document = fixture_json("received_text");
    document["mail"]["source"] = json!("");
    let receipt = &mut document["receipt"];
    receipt["processingTimeMillis"] = json!("222");
    receipt["spamVerdict"] = json!({"status": "DISABLED"});
    receipt["virusVerdict"] = json!({"status": "PROCESSING_FAILED"});
    receipt["spfVerdict"] = json!("PASS");
    receipt["dkimVerdict"] = json!({"status": "pass"});
    receipt["dmarcVerdict"] = json!(null);
    receipt["action"] = json!("SNS");
    let news = news_of(&document);
    assert_eq!(news.mail.source, None);
    let What::Received(inbound) = news.what else { panic!() };
    let verdicts = Verdicts {
        spam: Some(Verdict::Disabled),
        virus: Some(Verdict::ProcessingFailed),
        ..Verdicts::default()
    };
    assert_eq!((inbound.verdicts, inbound.processing_millis), (verdicts, Some(222)));
    assert_eq!(inbound.action, None);
    assert!(inbound.content.is_some());
}
