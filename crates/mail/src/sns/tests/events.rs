use serde_json::{Value, json};

use super::{at, fixture, json as fixture_json, news, news_of};
use crate::sns::{
    Bounce, BounceKind, Click, Complaint, Delay, Delivery, Header, MAX_MESSAGE, Notification,
    NotificationError, Recipient, Subscription, Tag, TopicChoice, Visit, What,
};

#[expect(clippy::unnecessary_wraps, reason = "it is what the fields have")]
fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn tag(name: &str, values: &[&str]) -> Tag {
    Tag { name: name.to_owned(), values: values.iter().map(ToString::to_string).collect() }
}

#[test]
fn the_mail_is_read() {
    for name in [
        "send",
        "delivery",
        "open",
        "click",
        "bounce",
        "complaint",
        "delivery_delay",
        "reject",
        "rendering_failure",
        "subscription",
    ] {
        let news = news(name);
        let mail = news.mail;
        assert_eq!(
            mail.provider_id, "0100018f3a7c21de-5b0e8a51-6c1f-4a57-9b53-8a2f4c1d7e90-000000",
            "{name}"
        );
        assert_eq!(mail.message_id.as_deref(), Some("0198a1b2c3d4@mail.example.com"));
        assert_eq!(mail.source.as_deref(), Some("Mila Example <news@mail.example.com>"));
        assert_eq!(mail.destination, ["anna@example.org"]);
        assert_eq!(mail.sent_at, Some(at("2026-03-02T08:15:30.412Z")));
        assert_eq!(mail.headers.len(), 7);
        assert_eq!(mail.header("x-mail"), Some("em_0198a1b2"));
        assert_eq!(mail.header("X-Other"), None);
        assert!(!mail.headers_truncated);
        assert_eq!(mail.from, ["Mila Example <news@mail.example.com>"]);
        assert_eq!(mail.to, ["Anna <anna@example.org>"]);
        assert_eq!(mail.subject.as_deref(), Some("The news of March"));
        assert_eq!(mail.tag("project"), Some("p1"));
        assert_eq!(mail.tag("ses:configuration-set"), Some("mailwright"));
        assert_eq!(mail.tag("Project"), None);
        assert!(!news.cut);
    }
}

#[test]
fn deliveries_are_read() {
    assert_eq!(news("send").what, What::Sent);
    let news = news("delivery");
    let expected = Delivery {
        recipients: vec!["anna@example.org".to_owned()],
        smtp_response: text("250 2.6.0 Message received"),
        reporting_mta: text("mta.eu-west-1.example.net"),
    };
    assert_eq!(news.what, What::Delivered(expected));
    assert_eq!(news.at, Some(at("2026-03-02T08:15:33.907Z")));
}

#[test]
fn opens_and_clicks_are_read() {
    let open = news("open");
    let What::Opened(visit) = &open.what else { panic!("{open:?}") };
    assert_eq!(visit.ip, Some("198.51.100.7".parse().unwrap()));
    assert!(visit.user_agent.as_ref().unwrap().starts_with("Mozilla/5.0 (iPhone; CPU iPhone OS 18_3"));
    assert_eq!(open.at, Some(at("2026-03-02T09:01:19.652Z")));

    let click = news("click");
    let expected = Click {
        visit: Visit {
            ip: Some("2001:db8::7".parse().unwrap()),
            user_agent: text("Mozilla/5.0 (X11; Linux x86_64; rv:135.0) Gecko/20100101 Firefox/135.0"),
        },
        link: text("https://example.com/shop?utm_source=news&x=%C3%BC"),
        link_tags: vec![tag("kind", &["button", "image"]), tag("place", &["top"])],
    };
    assert_eq!(click.what, What::Clicked(expected));
    assert_eq!(click.at, Some(at("2026-03-02T09:02:57.011Z")));

    let mut odd = fixture_json("click");
    odd["click"] =
        json!({"ipAddress": "unknown", "link": "x".repeat(9000), "linkTags": null, "userAgent": 1});
    let odd = news_of(&odd);
    let visit = Visit { ip: None, user_agent: None };
    assert_eq!(odd.what, What::Clicked(Click { visit, link: None, link_tags: Vec::new() }));
    assert_eq!(odd.at, odd.mail.sent_at, "the only time there is");
}

#[test]
fn bounces_are_read() {
    let news = news("bounce");
    let expected = Bounce {
        kind: BounceKind::Permanent,
        sub_type: text("NoEmail"),
        recipients: vec![Recipient {
            address: "anna@example.org".to_owned(),
            action: text("failed"),
            status: text("5.1.1"),
            diagnostic: text("smtp; 550 5.1.1 user unknown"),
        }],
        feedback_id: text("0100018f3a7c34aa-9f0c1d7e-11aa-4b6c-8d1e-2f3a4b5c6d7e-000000"),
        reporting_mta: text("dns; mta.example.org"),
    };
    assert_eq!(news.what, What::Bounced(expected));
    assert_eq!(news.at, Some(at("2026-03-02T08:15:35.210Z")));

    for (kind, expected) in [
        (json!("Permanent"), BounceKind::Permanent),
        (json!("Transient"), BounceKind::Transient),
        (json!("Undetermined"), BounceKind::Undetermined),
        (json!("permanent"), BounceKind::Undetermined),
        (Value::Null, BounceKind::Undetermined),
    ] {
        for (sub_type, is_suppressed) in
            [("General", false), ("Suppressed", true), ("OnAccountSuppressionList", true)]
        {
            let mut document = fixture_json("bounce");
            document["bounce"]["bounceType"] = kind.clone();
            document["bounce"]["bounceSubType"] = json!(sub_type);
            let What::Bounced(bounce) = news_of(&document).what else { panic!("{document}") };
            assert_eq!(bounce.kind, expected, "{kind}");
            assert_eq!(bounce.is_of_suppression_list(), is_suppressed, "{sub_type}");
        }
    }
}

#[test]
fn complaints_are_read() {
    let news = news("complaint");
    let expected = Complaint {
        recipients: vec!["anna@example.org".to_owned()],
        feedback_type: text("abuse"),
        sub_type: None,
        feedback_id: text("0100018f3a7c99bb-1f0c1d7e-22bb-4b6c-8d1e-2f3a4b5c6d7e-000000"),
        user_agent: text("ReturnPathFBL/2.0"),
        arrived_at: Some(at("2026-03-02T08:15:34Z")),
    };
    assert_eq!(news.what, What::Complained(expected.clone()));
    assert!(!expected.is_of_suppression_list());
    assert_eq!(news.at, Some(at("2026-03-03T10:00:00Z")));
    for (kind, is_complaint) in [
        (json!("fraud"), true),
        (json!("other"), true),
        (json!("virus"), true),
        (json!(""), true),
        (Value::Null, true),
        (json!("not-spam"), false),
        (json!("Not-Spam"), false),
    ] {
        let mut document = fixture_json("complaint");
        document["complaint"]["complaintFeedbackType"] = kind.clone();
        assert_eq!(matches!(news_of(&document).what, What::Complained(_)), is_complaint, "{kind}");
        assert_eq!(matches!(news_of(&document).what, What::NotSpam(_)), !is_complaint, "{kind}");
    }
}

#[test]
fn what_happens_less_often_is_read() {
    let delay = Delay {
        recipients: vec![Recipient {
            address: "anna@example.org".to_owned(),
            action: None,
            status: text("4.4.1"),
            diagnostic: text("smtp; 421 4.4.1 Unable to connect to remote host"),
        }],
        delay_type: text("TransientCommunicationFailure"),
        expires_at: Some(at("2026-03-02T22:15:30.412Z")),
    };
    assert_eq!(news("delivery_delay").what, What::Delayed(delay));
    assert_eq!(news("delivery_delay").at, Some(at("2026-03-02T08:25:40.095Z")));
    assert_eq!(news("reject").what, What::Rejected { reason: text("Bad content") });
    assert_eq!(news("reject").at, Some(at("2026-03-02T08:15:30.412Z")), "it has no time of its own");
    let failed = What::RenderingFailed {
        template: text("Welcome"),
        error: text("Attribute 'firstName' is not present in the rendering data."),
    };
    assert_eq!(news("rendering_failure").what, failed);
    let topic = |name: &str| TopicChoice { topic: name.to_owned(), wanted: false };
    let subscription = Subscription {
        contact_list: text("readers"),
        source: text("UnsubscribeHeader"),
        unsubscribed_from_all: true,
        topics: vec![topic("news"), topic("offers")],
    };
    assert_eq!(news("subscription").what, What::SubscriptionChanged(subscription));
}

#[test]
fn what_is_no_news_is_told_apart() {
    for text in [
        "Successfully validated SNS topic for Amazon SES event publishing.",
        "Successfully validated SNS topic for Amazon SES event publishing.\n",
        fixture("identity_subscribed"),
    ] {
        assert_eq!(Notification::parse(text), Ok(Notification::Validation));
    }
    let other = Notification::parse(r#"{"eventType": "Teleported", "mail": 1}"#);
    assert_eq!(other, Ok(Notification::Other { name: "Teleported".to_owned() }));
    let both = json!({"eventType": "Send", "notificationType": "Bounce", "mail": {"messageId": "x"}});
    assert_eq!(news_of(&both).what, What::Sent);
    for text in ["", "Hello", "{", "Successfully validated", "{\"eventType\": \"Send\"} x"] {
        let refused = Notification::parse(text);
        assert!(matches!(refused, Err(NotificationError::Json(_))), "{text}: {refused:?}");
    }
    for text in ["null", "1", "\"x\"", "[]", "{}", r#"{"eventType": 1}"#, r#"{"eventType": ""}"#] {
        assert_eq!(Notification::parse(text), Err(NotificationError::Missing("eventType")), "{text}");
    }
    let deep = "[".repeat(MAX_MESSAGE);
    assert!(matches!(Notification::parse(&deep), Err(NotificationError::Json(_))));
    assert_eq!(Notification::parse(&format!("{deep} ")), Err(NotificationError::TooLong));
}

#[test]
fn what_makes_the_news_usable_has_to_be_there() {
    for (name, object) in [
        ("delivery", "delivery"),
        ("open", "open"),
        ("click", "click"),
        ("bounce", "bounce"),
        ("complaint", "complaint"),
        ("delivery_delay", "deliveryDelay"),
        ("reject", "reject"),
        ("rendering_failure", "failure"),
        ("subscription", "subscription"),
        ("received_text", "receipt"),
        ("send", "mail"),
    ] {
        for value in [Value::Null, json!("x"), json!([])] {
            let mut document = fixture_json(name);
            document[object] = value;
            let refused = Notification::parse(&document.to_string());
            assert_eq!(refused, Err(NotificationError::Missing(object)), "{name}");
        }
    }
    for id in [Value::Null, json!(1), json!(""), json!("a\0b"), json!("x".repeat(300))] {
        let mut document = fixture_json("send");
        document["mail"]["messageId"] = id;
        let refused = Notification::parse(&document.to_string());
        assert_eq!(refused, Err(NotificationError::Missing("mail.messageId")));
    }
}

#[test]
fn long_lists_and_texts_are_cut() {
    let mut document = fixture_json("bounce");
    let recipient =
        |n: i32| json!({"emailAddress": format!("a{n}@example.org"), "diagnosticCode": "ü".repeat(3000)});
    document["bounce"]["bouncedRecipients"] = (0..20).map(recipient).collect();
    document["mail"]["headers"] = (0..200).map(|n| json!({"name": format!("X-{n}"), "value": "x"})).collect();
    let news = news_of(&document);
    assert!(!news.cut);
    assert_eq!(news.mail.headers.len(), 200);
    let What::Bounced(bounce) = news.what else { panic!() };
    assert_eq!(bounce.recipients[19].diagnostic.as_ref().unwrap().len(), 2048);

    let many = |n: i32| json!({"emailAddress": format!("a{n}@example.org")});
    for (pointer, list) in [
        ("/bounce/bouncedRecipients", (0..101).map(many).collect::<Value>()),
        ("/mail/headers", (0..201).map(|n| json!({"name": format!("X-{n}"), "value": "x"})).collect()),
        ("/mail/destination", (0..101).map(|n| json!(format!("a{n}@example.org"))).collect()),
        ("/mail/tags", Value::Object((0..101).map(|n| (format!("t{n:03}"), json!(["x"]))).collect())),
        ("/mail/tags/project", (0..21).map(|n| json!(n.to_string())).collect()),
    ] {
        let mut document = fixture_json("bounce");
        *document.pointer_mut(pointer).unwrap() = list;
        let news = news_of(&document);
        assert!(news.cut, "{pointer}");
        let What::Bounced(bounce) = &news.what else { panic!() };
        assert!(bounce.recipients.len() <= 100 && news.mail.headers.len() <= 200);
        assert!(news.mail.destination.len() <= 100 && news.mail.tags.len() <= 100);
        assert!(news.mail.tags.iter().all(|tag| tag.values.len() <= 20));
    }
}

#[test]
fn odd_fields_lose_nothing_else() {
    let mut document = fixture_json("bounce");
    document["mail"]["headers"] = json!([
        1,
        {"name": "X-Odd", "value": 5},
        {"name": "", "value": "x"},
        {"value": "x"},
        {"name": "Subject", "value": " two\r\n lines\u{0} "},
    ]);
    document["mail"]["tags"] = json!({"a": "x", "b": [1, "y", ""], "c": null});
    document["mail"]["commonHeaders"] = json!([]);
    document["mail"]["timestamp"] = json!(1_700_000_000);
    document["mail"]["source"] = json!("<>");
    document["mail"]["destination"] = json!("anna@example.org");
    document["bounce"]["timestamp"] = json!("soon");
    document["bounce"]["bouncedRecipients"] = json!([
        "anna@example.org",
        {"emailAddress": 1},
        {"emailAddress": " "},
        {"emailAddress": "a\nb@example.org"},
        {"emailAddress": "Anna <anna@example.org>", "status": 511},
        {"emailAddress": "rfc822; <bert@example.org>"},
        {"emailAddress": "RFC822;carla@example.org"},
    ]);
    let news = news_of(&document);
    let header = |name: &str, value: &str| Header { name: name.to_owned(), value: value.to_owned() };
    assert_eq!(news.mail.headers, [header("X-Odd", ""), header("Subject", "two   lines")]);
    assert_eq!(news.mail.tags, [tag("a", &[]), tag("b", &["y"]), tag("c", &[])]);
    assert_eq!((news.at, news.mail.sent_at, news.mail.source), (None, None, None));
    assert_eq!((news.mail.message_id, news.mail.subject), (None, None));
    assert!(news.mail.destination.is_empty() && !news.cut);
    let What::Bounced(bounce) = news.what else { panic!() };
    let addresses: Vec<_> = bounce.recipients.iter().map(|recipient| recipient.address.as_str()).collect();
    assert_eq!(addresses, ["anna@example.org", "bert@example.org", "carla@example.org"]);
    assert_eq!(bounce.recipients[0].status, None);
}
