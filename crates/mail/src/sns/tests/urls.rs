use serde_json::json;
use url::Url;

use super::{envelope, json as fixture_json};
use crate::sns::{Envelope, Hosts, UrlError, certificate_url, subscribe_url};

fn with_certificate_at(url: &str) -> Envelope {
    let mut envelope = envelope(&fixture_json("envelope_notification"));
    envelope.signing_cert_url = url.to_owned();
    envelope
}

#[test]
fn certificates_are_fetched_from_amazon() {
    for url in [
        "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
        "https://sns.ap-southeast-2.amazonaws.com/SimpleNotificationService-a.pem",
        "https://sns.us-gov-west-1.amazonaws.com/SimpleNotificationService-a.pem",
        "https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-a.pem",
        "https://sns.eusc-de-east-1.amazonaws.eu/SimpleNotificationService-a.pem",
    ] {
        assert_eq!(certificate_url(&with_certificate_at(url), &Hosts::Amazon).unwrap().as_str(), url);
    }
}

/// Addresses that no certificate of SNS has.
const HOSTILE: [&str; 60] = [
    "",
    "x",
    "/x.pem",
    "//sns.us-east-1.amazonaws.com/x.pem",
    "https:sns.us-east-1.amazonaws.com/x.pem",
    "https:/sns.us-east-1.amazonaws.com/x.pem",
    "https:///sns.us-east-1.amazonaws.com/x.pem",
    "https:\\\\sns.us-east-1.amazonaws.com\\x.pem",
    "http://sns.us-east-1.amazonaws.com/x.pem",
    "ftp://sns.us-east-1.amazonaws.com/x.pem",
    "file:///etc/ssl/x.pem",
    "data:application/x-pem-file,x.pem",
    "HTTPS://sns.us-east-1.amazonaws.com/x.pem",
    " https://sns.us-east-1.amazonaws.com/x.pem",
    "https://sns.us-east-1.amazonaws.com/x.pem ",
    "https://sns.us-\teast-1.amazonaws.com/x.pem",
    "https://sns.us-east-1.amazonaws.com:443/x.pem",
    "https://sns.us-east-1.amazonaws.com:8443/x.pem",
    "https://sns.us-east-1.amazonaws.com:80/x.pem",
    "https://sns.us-east-1.amazonaws.com./x.pem",
    "https://SNS.us-east-1.amazonaws.com/x.pem",
    "https://sns.us-east-1.amazonaws.com@example.com/x.pem",
    "https://sns.us-east-1.amazonaws.com:x@example.com/x.pem",
    "https://user@sns.us-east-1.amazonaws.com/x.pem",
    "https://user:secret@sns.us-east-1.amazonaws.com/x.pem",
    "https://@sns.us-east-1.amazonaws.com/x.pem",
    "https://example.com/sns.us-east-1.amazonaws.com/x.pem",
    "https://example.com/x.pem?sns.us-east-1.amazonaws.com/x.pem",
    "https://example.com/x.pem#sns.us-east-1.amazonaws.com/x.pem",
    "https://example.com\\@sns.us-east-1.amazonaws.com/x.pem",
    "https://sns.us-east-1.amazonaws.com.example.com/x.pem",
    "https://sns.us-east-1.amazonaws.com.eu/x.pem",
    "https://sns.us-east-1.amazonaws.eu/x.pem",
    "https://sns.eusc-de-east-1.amazonaws.com/x.pem",
    "https://sns.eusc-.amazonaws.eu/x.pem",
    "https://sns.us-east-1.amazonaws.cn/x.pem",
    "https://sns.us-east-1.amazonaws.co/x.pem",
    "https://sns.us-east-1.notamazonaws.com/x.pem",
    "https://sns.us-east-1.s3.amazonaws.com/x.pem",
    "https://sns.evil.s3.amazonaws.com/x.pem",
    "https://bucket.s3.amazonaws.com/x.pem",
    "https://sns.amazonaws.com/x.pem",
    "https://sns..amazonaws.com/x.pem",
    "https://sns.us-east.amazonaws.com/x.pem",
    "https://sns.us-1.amazonaws.com/x.pem",
    "https://sns.us--1.amazonaws.com/x.pem",
    "https://sns.us-east-12.amazonaws.com/x.pem",
    "https://sns.usa-east-1.amazonaws.com/x.pem",
    "https://sns.us-e4st-1.amazonaws.com/x.pem",
    "https://xsns.us-east-1.amazonaws.com/x.pem",
    "https://a.sns.us-east-1.amazonaws.com/x.pem",
    "https://sqs.us-east-1.amazonaws.com/x.pem",
    "https://sns-us-east-1.amazonaws.com/x.pem",
    "https://sns%2Eus-east-1.amazonaws.com/x.pem",
    "https://\u{ff53}ns.us-east-1.amazonaws.com/x.pem",
    "https://sns.us-east-1.amaz\u{43e}naws.com/x.pem",
    "https://127.0.0.1/x.pem",
    "https://[::1]/x.pem",
    "https://169.254.169.254/x.pem",
    "https://localhost/x.pem",
];

#[test]
fn hostile_addresses_are_refused() {
    let elsewhere = Hosts::only(&Url::parse("http://localhost:4566").unwrap()).unwrap();
    for url in HOSTILE {
        for hosts in [&Hosts::Amazon, &elsewhere] {
            let refused = certificate_url(&with_certificate_at(url), hosts);
            assert!(matches!(refused, Err(UrlError::Host | UrlError::Syntax)), "{url} gives {refused:?}");
        }
        let mut envelope = envelope(&fixture_json("envelope_subscription"));
        let query = envelope.subscribe_url.as_ref().unwrap().split_once('?').unwrap().1.to_owned();
        envelope.subscribe_url = Some(format!("{}?{query}", url.trim_end_matches("x.pem")));
        assert!(subscribe_url(&envelope, &Hosts::Amazon).is_err(), "{url}");
    }
}

#[test]
fn other_things_at_a_host_of_sns_are_no_certificates() {
    for rest in [
        "",
        "/",
        "/.pem",
        "/x/.pem",
        "/x.pem/",
        "/x.pem/y",
        "/x.PEM",
        "/x.key",
        "/xpem",
        "/?Action=ListTopics&x=.pem",
        "/x.pem?y",
        "/x.pem?",
        "/x.key?y=z.pem",
        "/x%00.pem",
        "/%2e%2e/x.pem%2f.pem",
        "/x.key;.pem?",
    ] {
        let url = format!("https://sns.us-east-1.amazonaws.com{rest}");
        let refused = certificate_url(&with_certificate_at(&url), &Hosts::Amazon);
        assert!(matches!(refused, Err(UrlError::Certificate | UrlError::Syntax)), "{rest} gives {refused:?}");
    }
    for rest in ["/x.pem#", "/x.pem#y", "/../x.pem", "/./x.pem", "/a/%2e%2e/x.pem", "\\x.pem"] {
        let url = format!("https://sns.us-east-1.amazonaws.com{rest}");
        assert_eq!(
            certificate_url(&with_certificate_at(&url), &Hosts::Amazon),
            Err(UrlError::Syntax),
            "{rest}"
        );
    }
}

#[test]
fn one_other_service_can_be_allowed() {
    let hosts = Hosts::only(&Url::parse("http://localhost:4566/anything").unwrap()).unwrap();
    let url = "http://localhost:4566/_aws/sns/SimpleNotificationService-a.pem";
    assert_eq!(certificate_url(&with_certificate_at(url), &hosts).unwrap().as_str(), url);
    for url in [
        "https://localhost:4566/x.pem",
        "http://localhost/x.pem",
        "http://localhost:4567/x.pem",
        "http://127.0.0.1:4566/x.pem",
        "http://localhost.example.com:4566/x.pem",
        "http://localhost:4566@example.com/x.pem",
        "https://sns.us-east-1.amazonaws.com/x.pem",
    ] {
        let refused = certificate_url(&with_certificate_at(url), &hosts);
        assert!(matches!(refused, Err(UrlError::Host | UrlError::Syntax)), "{url} gives {refused:?}");
    }
    let url = "http://localhost:4566/x.key";
    assert_eq!(certificate_url(&with_certificate_at(url), &hosts), Err(UrlError::Certificate));
    for none in ["file:///x", "data:x", "ftp://localhost"] {
        assert_eq!(Hosts::only(&Url::parse(none).unwrap()), None);
    }

    let mut envelope = envelope(&fixture_json("envelope_subscription"));
    let amazons = envelope.subscribe_url.clone().unwrap();
    assert_eq!(subscribe_url(&envelope, &hosts), Err(UrlError::Host));
    let there = amazons.replace("https://sns.eu-west-1.amazonaws.com/", "http://localhost:4566/sns");
    envelope.subscribe_url = Some(there.clone());
    assert_eq!(subscribe_url(&envelope, &hosts).unwrap().as_str(), there);
}

#[test]
fn a_confirmation_confirms_the_subscription_it_speaks_of() {
    let whole = envelope(&fixture_json("envelope_subscription"));
    let url = whole.subscribe_url.clone().unwrap();
    assert_eq!(subscribe_url(&whole, &Hosts::Amazon).unwrap().as_str(), url);
    let escaped = url.replace("arn:aws:sns:", "arn%3Aaws%3Asns%3A");
    let token = whole.token.clone().unwrap();
    for (text, is_good) in [
        (escaped, true),
        (format!("{url}&AuthenticateOnUnsubscribe=true"), true),
        (url.replace("ConfirmSubscription", "Unsubscribe"), false),
        (url.replace("ConfirmSubscription", "confirmsubscription"), false),
        (url.replace("Action=", "action="), false),
        (url.replace(":mail", ":other"), false),
        (url.replace(&token, "x"), false),
        (url.replace(&token, ""), false),
        (url.replace("Token=", "T="), false),
        (format!("{url}&Token={token}"), false),
        (format!("{url}&Action=DeleteTopic"), false),
        (format!("{url}&TopicArn=arn:aws:sns:eu-west-1:1:other"), false),
        (url.replace("/?", "/other?"), false),
        (format!("{url}#x"), false),
        (url.split_once('?').unwrap().0.to_owned(), false),
    ] {
        let envelope = Envelope { subscribe_url: Some(text.clone()), ..whole.clone() };
        assert_eq!(subscribe_url(&envelope, &Hosts::Amazon).is_ok(), is_good, "{text}");
    }
    for name in ["envelope_notification", "envelope_unsubscription"] {
        let envelope = envelope(&fixture_json(name));
        assert_eq!(subscribe_url(&envelope, &Hosts::Amazon), Err(UrlError::Kind));
    }
    let mut document = fixture_json("envelope_subscription");
    document["Token"] = json!("x");
    assert_eq!(subscribe_url(&envelope(&document), &Hosts::Amazon), Err(UrlError::Confirmation));
}
