//! The envelope of a message, and the line that tells its way (RFC 5321 section 4.4).

use std::net::IpAddr;

use mail_builder::headers::date::Date;
use mailwright_core::time::Timestamp;

use super::address::Path;

/// What a client says of a message before its content, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The address that the client connects from.
    pub client: IpAddr,
    /// What the client called itself in EHLO or HELO: letters, digits and `.-_:[]`, at most 255.
    pub client_name: String,
    /// Whether it said EHLO, not HELO.
    pub extended: bool,
    /// The version of TLS, such as `TLSv1_3`, when the connection is encrypted.
    pub tls: Option<&'static str>,
    /// The sender, to whom a bounce would go; `None` for the null sender of bounces.
    pub mail_from: Option<Path>,
    /// The size that the client announced (RFC 1870), in bytes: no more than a hint.
    pub announced_size: Option<u64>,
    /// The body that the client announced (RFC 6152).
    pub body: Body,
    /// Whether addresses and header may be UTF-8 (RFC 6531).
    pub smtputf8: bool,
    /// The recipients that were accepted, each once.
    pub recipients: Vec<Path>,
}

/// The type of a body (RFC 6152).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Body {
    /// ASCII. Many clients send other bytes all the same.
    #[default]
    SevenBit,
    /// Any bytes.
    EightBitMime,
}

impl Envelope {
    pub(super) fn new(client: IpAddr) -> Self {
        Self {
            client,
            client_name: String::new(),
            extended: false,
            tls: None,
            mail_from: None,
            announced_size: None,
            body: Body::default(),
            smtputf8: false,
            recipients: Vec::new(),
        }
    }

    /// Forgets the message, and remembers the client.
    pub(super) fn clear(&mut self) {
        *self = Self {
            client_name: std::mem::take(&mut self.client_name),
            extended: self.extended,
            tls: self.tls,
            ..Self::new(self.client)
        };
    }

    /// The name of the protocol in `Received` (RFC 3848, RFC 6531 section 4.3).
    pub fn protocol(&self) -> &'static str {
        match (self.extended, self.smtputf8, self.tls.is_some()) {
            (false, ..) => "SMTP",
            (true, false, false) => "ESMTP",
            (true, false, true) => "ESMTPS",
            (true, true, false) => "UTF8SMTP",
            (true, true, true) => "UTF8SMTPS",
        }
    }

    /// The value of the field `Received`, to be put before the content: folded, without the name of the field and
    /// without a line end after it. `our_name` is our host name, `id` what the message is called in our log. Recipients
    /// are not in it: one must not learn of the others.
    pub fn received(&self, our_name: &str, id: &str, at: Timestamp) -> String {
        let client = match self.client.to_canonical() {
            IpAddr::V4(address) => format!("[{address}]"),
            IpAddr::V6(address) => format!("[IPv6:{address}]"),
        };
        let tls = self.tls.map(|version| format!(" ({})", safe(version))).unwrap_or_default();
        let date = Date::new(at.0.clamp(Timestamp::FIRST.0, Timestamp::LAST.0).div_euclid(1000)).to_rfc822();
        format!(
            "from {} ({client})\r\n\tby {} with {}{tls}\r\n\tid {};\r\n\t{date}",
            safe(&self.client_name),
            safe(our_name),
            self.protocol(),
            safe(id),
        )
    }
}

/// `text` with only such characters as neither end a field, nor a comment, nor a word of it.
fn safe(text: &str) -> String {
    let kept = text.chars().take(255).map(|c| match c {
        c if c.is_ascii_alphanumeric() => c,
        '.' | '-' | '_' | ':' | '[' | ']' => c,
        _ => '?',
    });
    let kept: String = kept.collect();
    if kept.is_empty() { "unknown".to_owned() } else { kept }
}

#[cfg(test)]
mod tests {
    use mail_parser::{HeaderValue, MessageParser};

    use super::*;

    fn envelope() -> Envelope {
        let mut envelope = Envelope::new("192.0.2.1".parse().unwrap());
        envelope.client_name = "mx.example.com".to_owned();
        envelope.extended = true;
        envelope
    }

    #[test]
    fn received_tells_the_way() {
        let mut envelope = envelope();
        let value = envelope.received("in.example.net", "m-1", Timestamp(1_700_000_000_000));
        let expected = "from mx.example.com ([192.0.2.1])\r\n\tby in.example.net with ESMTP\r\n\tid m-1;\r\n\
             \tTue, 14 Nov 2023 22:13:20 +0000";
        assert_eq!(value, expected);
        envelope.tls = Some("TLSv1_3");
        envelope.smtputf8 = true;
        envelope.client = "2001:db8::1".parse().unwrap();
        let value = envelope.received("in.example.net", "m-1", Timestamp(0));
        assert!(value.contains("([IPv6:2001:db8::1])"), "{value}");
        assert!(value.contains("with UTF8SMTPS (TLSv1_3)"), "{value}");
        envelope.extended = false;
        assert_eq!(envelope.protocol(), "SMTP");
    }

    #[test]
    fn received_is_one_field_whatever_is_in_it() {
        let mut envelope = envelope();
        for name in ["a\r\nSubject: x", "a) (b", "a;b", "", "\u{e4}\0", &"x".repeat(5000)] {
            envelope.client_name = name.to_owned();
            for at in [i64::MIN, -1, 0, i64::MAX] {
                let value = envelope.received(name, name, Timestamp(at));
                let message = format!("Received: {value}\r\n\r\nbody");
                let message = MessageParser::default().parse(message.as_bytes()).unwrap();
                assert_eq!(message.headers().len(), 1, "{value}");
                assert!(matches!(message.headers()[0].value, HeaderValue::Received(_)), "{value}");
                assert!(value.split("\r\n").all(|line| line.len() <= 998), "{value}");
            }
        }
    }
}
