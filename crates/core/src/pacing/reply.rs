//! What a refusal says about the source address rather than about the mail.

use std::net::IpAddr;

use crate::names;

names! {
    /// What a site wants of us.
    pub enum Signal {
        /// To send less: too much came, or too fast.
        Throttled = "throttled",
        /// Fewer connections at a time.
        Connections = "connections",
        /// Nothing: the source address is blocked.
        Blocked = "blocked",
        /// The same mail later: it knows the sender from then on. Says nothing about the pace.
        Greylisted = "greylisted",
    }
}

/// Phrases by what they mean, in lower case. The first that is found counts.
const PHRASES: [(Option<Signal>, &[&str]); 5] = [
    (Some(Signal::Greylisted), &["greylist", "graylist", "grey list", "gray list", "grey-list", "postgrey"]),
    (
        Some(Signal::Connections),
        &[
            "too many connections",
            "too many concurrent",
            "too many simultaneous",
            "too many sessions",
            "too many open connections",
            "maximum number of connections",
            "connection limit",
            "concurrent connections",
            "simultaneous connections",
        ],
    ),
    // the connection is spent, which the next one is not
    (
        None,
        &[
            "messages per connection",
            "messages in this session",
            "messages this session",
            "message per connection",
            "too many errors",
            "idle timeout",
            "timeout exceeded",
            "shutting down",
        ],
    ),
    (
        Some(Signal::Blocked),
        &[
            "spamhaus",
            "block list",
            "blocklist",
            "blacklist",
            "black list",
            "denylist",
            "blocked using",
            "ip blocked",
            "banned sending ip",
            "has been blocked",
            "temporarily blocked",
            "permanently deferred",
            "is listed",
            "(s3140)",
            "(s3150)",
        ],
    ),
    (
        Some(Signal::Throttled),
        &[
            "rate limit",
            "ratelimit",
            "throttl",
            "too many messages",
            "too many emails",
            "too many mails",
            "too many recipients from",
            "unusual rate",
            "unexpected volume",
            "too fast",
            "too quickly",
            "slow down",
            "try again slower",
            "reduce your",
            "quota exceeded for",
        ],
    ),
];

/// Phrases about a mailbox, which say nothing about the source.
const OF_A_MAILBOX: [&str; 4] =
    ["the user you are trying to contact", "mailbox", "recipient is receiving", "over quota"];

/// What is said of an address that is refused, after the name of the address.
const BLOCKED: [&str; 4] = [" is blocked", " was blocked", " is banned", " was banned"];
/// How a text names the source without its address, in lower case.
const SOURCES: [&str; 6] =
    ["your ip", "ip address", "sending ip", "sending host", "client host", "your server"];

/// Whether a text in lower case says that an address, or whoever sends, is blocked: `your ip 192.0.2.1 is blocked`. What
/// is said of a domain, of a link or of the content means the mail.
fn blocks_source(text: &str) -> bool {
    let is_of_source = |before: &str| {
        let last = before.rsplit(' ').next().unwrap_or_default();
        let last = last.trim_matches(['[', ']', '(', ')', '<', '>', '"', '\'', ',']);
        last.parse::<IpAddr>().is_ok() || SOURCES.iter().any(|source| before.ends_with(source))
    };
    BLOCKED.iter().any(|verb| text.match_indices(verb).any(|(at, _)| is_of_source(&text[..at])))
}

/// A text in lower case without words that a server repeats of what it was told: an address chosen for its words must not
/// speak for the server.
fn without(text: &str, told: &[&str]) -> String {
    let mut text = text.to_ascii_lowercase();
    for told in told.iter().filter(|told| !told.is_empty()) {
        let told = told.to_ascii_lowercase();
        let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let mut from = 0;
        while let Some(at) = text[from..].find(&told).map(|at| from + at) {
            let end = at + told.len();
            if is_part(text[..at].chars().next_back()) || is_part(text[end..].chars().next()) {
                from = end;
            } else {
                text.replace_range(at..end, "");
                from = at;
            }
        }
    }
    text
}

/// What a refusal says about the source; `None` where it is about the mail, its recipient, or the connection alone. Of a
/// reply without any known phrase, 421 and enhanced codes of the form 4.7.x slow down (RFC 3463 section 3.8: security
/// and policy). A reply about a recipient's address (section 3.2) says no more than that the mail is greylisted. What the
/// server was `told`, such as the recipient, is no word of its own: the longest has to come first.
pub fn signal(code: u16, enhanced: Option<(u16, u16, u16)>, text: &str, told: &[&str]) -> Option<Signal> {
    let is_of_address = matches!(enhanced, Some((_, 1, 1 | 2 | 3 | 6 | 10)));
    said(code, enhanced, &without(text, told))
        .filter(|signal| !is_of_address || *signal == Signal::Greylisted)
}

fn said(code: u16, enhanced: Option<(u16, u16, u16)>, text: &str) -> Option<Signal> {
    if !(400..600).contains(&code) {
        return None;
    }
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    if has(&OF_A_MAILBOX) {
        return None;
    }
    if let Some((meaning, _)) = PHRASES.iter().find(|(_, phrases)| has(phrases)) {
        // what is greylisted is taken later: a refusal for good is something else
        return meaning.filter(|meaning| code < 500 || *meaning == Signal::Blocked);
    }
    if blocks_source(text) {
        return Some(Signal::Blocked);
    }
    let is_policy = matches!(enhanced, Some((4, 7, _)));
    (code < 500 && (code == 421 || is_policy)).then_some(Signal::Throttled)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code, the enhanced code and the text of a reply, and what it means.
    type Case = (u16, Option<(u16, u16, u16)>, &'static str, Option<Signal>);

    #[test]
    fn replies_of_large_receivers_are_understood() {
        let rate =
            "Our system has detected an unusual rate of unsolicited mail originating from your IP address.";
        let cases: [Case; 15] = [
            (421, Some((4, 7, 28)), rate, Some(Signal::Throttled)),
            (
                421,
                Some((4, 7, 0)),
                "[TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume",
                Some(Signal::Throttled),
            ),
            (
                451,
                Some((4, 7, 652)),
                "The mail server [192.0.2.1] has exceeded the maximum number of connections.",
                Some(Signal::Connections),
            ),
            (
                451,
                Some((4, 7, 650)),
                "The mail server [192.0.2.1] has been temporarily rate limited due to IP reputation.",
                Some(Signal::Throttled),
            ),
            (
                550,
                Some((5, 7, 1)),
                "Unfortunately, messages from [192.0.2.1] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3150).",
                Some(Signal::Blocked),
            ),
            (
                554,
                Some((5, 7, 1)),
                "Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org",
                Some(Signal::Blocked),
            ),
            (421, None, "Too many sessions opened", Some(Signal::Connections)),
            (
                450,
                Some((4, 2, 0)),
                "<a@example.org>: Recipient address rejected: Greylisted, see postgrey",
                Some(Signal::Greylisted),
            ),
            (
                450,
                Some((4, 2, 1)),
                "The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.",
                None,
            ),
            (421, None, "Too many messages in this session", None),
            (421, Some((4, 4, 2)), "mx.example.org Error: timeout exceeded", None),
            (421, Some((4, 7, 0)), "mx.example.org Error: too many errors", None),
            (421, None, "Service not available", Some(Signal::Throttled)),
            (452, Some((4, 2, 2)), "The email account that you tried to reach is over quota", None),
            (550, Some((5, 1, 1)), "No such user here", None),
        ];
        for (code, enhanced, text, wanted) in cases {
            assert_eq!(signal(code, enhanced, text, &[]), wanted, "{code} {text}");
        }
    }

    #[test]
    fn a_block_is_one_of_the_address() {
        for text in [
            "your IP 127.0.0.1 is blocked, see https://postmaster.example.org/127.0.0.1",
            "Mail from [192.0.2.1] was blocked",
            "Your IP address is banned",
            "The client host (2001:db8::1) is blocked by policy",
        ] {
            assert_eq!(signal(550, Some((5, 7, 1)), text, &[]), Some(Signal::Blocked), "{text}");
            assert_eq!(signal(450, Some((4, 7, 1)), text, &[]), Some(Signal::Blocked), "{text}");
        }
        for text in [
            "The sender's domain shop.example is blocked",
            "Your message was blocked because of its content",
            "The link http://192.0.2.1/a is blocked",
            "An attachment of this type is blocked, see https://example.org/?ip=192.0.2.1",
            "Sender denied as sender's email address is blocked",
        ] {
            assert_eq!(signal(550, Some((5, 7, 1)), text, &[]), None, "{text}");
        }
    }

    #[test]
    fn what_was_taken_says_nothing() {
        assert_eq!(signal(250, Some((2, 0, 0)), "queued, not throttled", &[]), None);
    }

    #[test]
    fn an_address_does_not_speak_for_the_server_that_repeats_it() {
        let of = |local: &str, code, enhanced, text: &str| {
            let address = format!("{local}@Example.org");
            signal(code, enhanced, text, &[&address, local, "example.org"])
        };
        let unknown = "<Spamhaus@example.org>: Recipient address rejected: User unknown";
        assert_eq!(of("spamhaus", 550, Some((5, 7, 1)), unknown), None);
        assert_eq!(of("spamhaus", 550, None, "no mailbox spamhaus here, spamhaus"), None);
        assert_eq!(of("throttled", 450, None, "throttled: unverified address"), None);
        assert_eq!(of("throttle0", 450, Some((4, 1, 1)), "<throttle0@example.org>: unverified"), None);
        // not a part of another word, and what the server says itself counts
        let listed = "Client host [192.0.2.1] blocked using zen.spamhaus.org";
        assert_eq!(of("us", 554, Some((5, 7, 1)), listed), Some(Signal::Blocked));
        assert_eq!(of("spam", 554, Some((5, 7, 1)), listed), Some(Signal::Blocked));
    }

    #[test]
    fn what_is_said_of_an_address_is_not_said_of_us() {
        let text = "no such user, see our blocklist";
        assert_eq!(signal(550, Some((5, 1, 1)), text, &[]), None);
        assert_eq!(signal(450, Some((4, 1, 1)), "slow down", &[]), None);
        assert_eq!(signal(450, Some((4, 1, 1)), "greylisted", &[]), Some(Signal::Greylisted));
    }
}
