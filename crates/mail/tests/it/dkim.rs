//! Signatures, verified by a library that is not ours.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, LazyLock};

use mail_auth::common::parse::TxtRecordParser;
use mail_auth::common::verify::DomainKey;
use mail_auth::hickory_resolver::config::{ResolverConfig, ResolverOpts};
use mail_auth::{AuthenticatedMessage, DkimResult, MessageAuthenticator, Parameters, ResolverCache, Txt};
use mailwright_core::time::Timestamp;
use mailwright_mail::dkim::{DkimError, KeyType, SigningKey, dkim_record};
use mailwright_mail::message::{Mailbox, Message};
use proptest::prelude::*;

const NOW: Timestamp = Timestamp(1_767_322_801_999);

/// A key and its record, made once: an RSA key takes a while.
type Pair = (SigningKey, String);
static RSA: LazyLock<Pair> = LazyLock::new(|| pair(KeyType::Rsa2048));
static ED25519: LazyLock<Pair> = LazyLock::new(|| pair(KeyType::Ed25519));

fn pair(kind: KeyType) -> Pair {
    let (private, public) = SigningKey::generate(kind).unwrap();
    (SigningKey::from_der(kind, &private).unwrap(), dkim_record(kind, &public))
}

/// A name server that only knows these records.
#[derive(Default)]
struct Records(HashMap<Box<str>, Txt>);

impl ResolverCache<Box<str>, Txt> for Records {
    fn get<Q>(&self, name: &Q) -> Option<Txt>
    where
        Box<str>: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.get(name).cloned()
    }

    fn remove<Q>(&self, _name: &Q) -> Option<Txt>
    where
        Box<str>: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        None
    }

    fn insert(&self, _name: Box<str>, _value: Txt, _valid_until: std::time::Instant) {}
}

/// What a receiver makes of a message whose key is `record`.
async fn verify(raw: &[u8], record: &str) -> DkimResult {
    let key = Arc::new(DomainKey::parse(record.as_bytes()).unwrap());
    let records = Records(HashMap::from([("s1._domainkey.example.com.".into(), Txt::DomainKey(key))]));
    let authenticator =
        MessageAuthenticator::new(ResolverConfig::default(), ResolverOpts::default()).unwrap();
    let message = AuthenticatedMessage::parse(raw).unwrap();
    let results = authenticator.verify_dkim(Parameters::new(&message).with_txt_cache(&records)).await;
    assert_eq!(results.len(), 1, "one signature");
    results[0].result().clone()
}

fn sign(pair: &Pair, raw: &[u8]) -> Vec<u8> {
    [pair.0.sign("example.com", "s1", raw, NOW).unwrap().as_bytes(), raw].concat()
}

fn our_message() -> Vec<u8> {
    Message {
        from: Mailbox {
            name: Some("Gr\u{fc}\u{df}e, from a shop with a long name that is folded ".repeat(3)),
            address: "a@example.com".into(),
        },
        to: Mailbox { name: None, address: "b@example.org".into() },
        reply_to: Some(Mailbox { name: None, address: "c@example.com".into() }),
        subject: &"A subject of many words ".repeat(10),
        html: "<p>Hello  \u{fc}</p>\n\n\n",
        text: None,
        headers: &[
            ("List-Unsubscribe".into(), "<https://example.com/u>".into()),
            ("List-Unsubscribe-Post".into(), "List-Unsubscribe=One-Click".into()),
            ("X-Unsigned".into(), "x".into()),
            ("List-Id".into(), "<a.example.com>".into()),
            ("Feedback-ID".into(), "a:b:c:shop".into()),
        ],
        attachments: &[],
        report: None,
        message_id: "1@example.com",
        date: NOW,
    }
    .to_mime()
}

#[tokio::test]
async fn both_kinds_verify() {
    let ours = our_message();
    for pair in [&*RSA, &*ED25519] {
        for raw in [
            &ours[..],
            b"From: a@example.com\r\n\r\n",
            b"From: a@example.com\r\n\r\nbody",
            b"From: a@example.com\r\nSubject: x\r\n\r\n\r\n\r\nbody \t \r\n\r\n  \r\nmore\r\n\r\n\r\n",
            b"from:a@example.com\r\nSUBJECT:  folded\r\n\tsubject \r\n  here\t\r\nTo:b@example.org\r\n\r\na\tb  c\r\n",
            b"From: a@example.com\r\nTo: first@example.org\r\nTo: second@example.org\r\nSubject:\r\n\r\n.\r\n..\r\n",
        ] {
            assert_eq!(verify(&sign(pair, raw), &pair.1).await, DkimResult::Pass, "{}", raw.escape_ascii());
        }
    }
}

#[tokio::test]
async fn what_relays_may_change_changes_nothing() {
    let text = String::from_utf8(sign(&RSA, &our_message())).unwrap();
    let relayed = format!("Received: from x\r\n{}\r\n\r\n", text.replace("Subject: A", "subject:   A"));
    assert_eq!(verify(relayed.as_bytes(), &RSA.1).await, DkimResult::Pass);
}

#[tokio::test]
async fn forgeries_fail() {
    let ours = our_message();
    for pair in [&*RSA, &*ED25519] {
        let text = String::from_utf8(sign(pair, &ours)).unwrap();
        for forged in [
            text.replace("Hello", "Hallo"),
            text.replace("Subject: A", "Subject: B"),
            text.replace("One-Click", "Two-Click"),
            text.replace("t=1767322801", "t=1767322802"),
            text.replace("\r\nTo: ", "\r\nFrom: <boss@bank.example>\r\nTo: "),
            format!("From: <boss@bank.example>\r\n{text}"),
            text.replace("List-Id: <a", "List-Id: <b"),
            text.replace("Feedback-ID: a", "Feedback-ID: b"),
        ] {
            assert_ne!(forged, text);
            assert_ne!(verify(forged.as_bytes(), &pair.1).await, DkimResult::Pass);
        }
        let other = if pair.0.kind() == KeyType::Ed25519 { &RSA.1 } else { &ED25519.1 };
        assert_ne!(verify(text.as_bytes(), other).await, DkimResult::Pass);
    }
}

/// What replays of a signed message add, on top or below.
#[tokio::test]
async fn nothing_that_readers_see_can_be_added() {
    let bare = b"From: a@example.com\r\n\r\nbody\r\n";
    for pair in [&*RSA, &*ED25519] {
        for ours in [&our_message()[..], bare] {
            let text = String::from_utf8(sign(pair, ours)).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            for added in [
                "From: boss@bank.example",
                "To: victim@x.example",
                "Cc: victim@x.example",
                "Subject: spoofed",
                "Date: Mon, 02 Mar 2020 10:00:00 +0000",
                "Reply-To: evil@x.example",
                "Content-Type: text/html",
                "List-Unsubscribe: <https://evil.example/>",
                "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
            ] {
                for forged in [format!("{added}\r\n{text}"), format!("{head}\r\n{added}\r\n\r\n{body}")] {
                    assert_ne!(verify(forged.as_bytes(), &pair.1).await, DkimResult::Pass, "{added}");
                }
            }
            let relayed = format!("Received: from x\r\nX-Spam-Score: 0\r\n{text}");
            assert_eq!(verify(relayed.as_bytes(), &pair.1).await, DkimResult::Pass);
        }
    }
}

#[test]
fn the_header_is_complete_and_folded() {
    let ours = our_message();
    for (pair, start) in [
        (
            &*RSA,
            "DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.com;\r\n\ts=s1; t=1767322801;\r\n\th=",
        ),
        (
            &*ED25519,
            "DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed; d=example.com;\r\n\ts=s1; t=1767322801;\r\n\th=",
        ),
    ] {
        let header = pair.0.sign("example.com", "s1", &ours, NOW).unwrap();
        assert!(header.starts_with(start), "{header}");
        assert!(header.ends_with("\r\n"));
        assert!(header.split("\r\n").all(|line| line.len() <= 78), "{header}");
        assert!(header.trim_end().split("\r\n").skip(1).all(|line| line.starts_with('\t')), "{header}");
        let flat: String = header.split_whitespace().collect();
        let names = "h=From:From:To:To:Cc:Subject:Subject:Date:Date:Reply-To:Reply-To:Content-Type:Content-Type:\
                     List-Unsubscribe:List-Unsubscribe:List-Unsubscribe-Post:List-Unsubscribe-Post:Message-ID:\
                     MIME-Version:List-Id:Feedback-ID;bh=";
        assert!(flat.contains(names), "{flat}");
        assert_eq!(header, pair.0.sign("example.com", "s1", &ours, NOW).unwrap(), "nothing is random");
    }
}

#[test]
fn line_ends_are_signed_as_they_are_sent() {
    let crlf = b"From: a@example.com\r\nTo: b@example.org\r\n\r\none\r\ntwo\r\n";
    let bare = b"From: a@example.com\nTo: b@example.org\r\rone\ntwo";
    let (key, _) = &*ED25519;
    let sign = |raw: &[u8]| key.sign("example.com", "s1", raw, NOW).unwrap();
    assert_eq!(sign(crlf), sign(bare));
}

#[test]
fn keys_are_checked() {
    let (rsa, public) = SigningKey::generate(KeyType::Rsa2048).unwrap();
    let (ed25519, short) = SigningKey::generate(KeyType::Ed25519).unwrap();
    assert_eq!((public.len(), short.len()), (392, 44));
    for (kind, der) in [
        (KeyType::Ed25519, &rsa[..]),
        (KeyType::Rsa2048, &ed25519),
        (KeyType::Rsa2048, b"no key"),
        (KeyType::Ed25519, b""),
    ] {
        assert!(matches!(SigningKey::from_der(kind, der), Err(DkimError::Key(_))));
    }
    let key = SigningKey::from_der(KeyType::Rsa2048, &rsa).unwrap();
    assert_eq!(format!("{key:?}"), "SigningKey(Rsa2048)");
    for (domain, selector) in [("", "s"), ("a..b", "s"), ("a;b", "s"), ("a.b", "s\r\nX: y"), ("a.b", "s s")] {
        assert!(matches!(key.sign(domain, selector, b"From: a\r\n\r\n", NOW), Err(DkimError::Name(_))));
    }
}

proptest! {
    #[test]
    fn any_body_verifies(
        words in prop::collection::vec(prop::sample::select(vec!["a", " ", "\t", "\r\n", "  ", ".", "b=", "\u{fc}"]), 0..40)
    ) {
        // The verifier does not count lines of white space at the end as empty, against RFC 6376 section 3.4.4 and other
        // verifiers; so the body ends in a word. What such lines become is tested beside the canonical form.
        let words = words.concat();
        let raw = format!("From: a@example.com\r\nSubject:{}\r\n\r\n{words}end", words.replace("\r\n", "\r\n "));
        let signed = sign(&ED25519, raw.as_bytes());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        prop_assert_eq!(runtime.block_on(verify(&signed, &ED25519.1)), DkimResult::Pass);
    }
}
