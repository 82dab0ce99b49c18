//! Arbitrary bytes, and damaged messages of the corpus: nothing panics, and what is returned is bounded.

use std::time::Instant;

use proptest::prelude::*;

use super::corpus::messages;
use crate::report::{Facts, Incoming, Original, read};

/// Whether the test runs at its large size.
fn is_large() -> bool {
    std::env::var_os("MAILWRIGHT_TEST_LARGE").is_some_and(|set| !set.is_empty())
}

/// Reads a message and looks at the bounds of what comes of it.
fn check(raw: &[u8]) {
    match read(raw) {
        Incoming::Dsn(dsn) => {
            assert!((1..=100).contains(&dsn.reports.len()));
            for report in &dsn.reports {
                short(report.final_recipient.as_ref(), 320);
                short(report.original_recipient.as_ref(), 320);
                short(report.remote_mta.as_ref(), 255);
                if let Some(diagnostic) = &report.diagnostic {
                    assert!(diagnostic.kind.len() <= 40);
                    short(Some(&diagnostic.text), 2048);
                }
            }
            short(dsn.reporting_mta.as_ref(), 255);
            short(dsn.envelope_id.as_ref(), 256);
            check_original(dsn.original.as_ref());
        }
        Incoming::Arf(arf) => {
            assert!(
                arf.original_rcpt_to.len() <= 100 && arf.reported_domains.len() <= 20 && arf.incidents > 0
            );
            short(arf.original_mail_from.as_ref(), 400);
            for to in &arf.original_rcpt_to {
                short(Some(to), 400);
            }
            for domain in &arf.reported_domains {
                short(Some(domain), 255);
            }
            short(arf.user_agent.as_ref(), 255);
            short(arf.envelope_id.as_ref(), 255);
            check_original(arf.original.as_ref());
        }
        Incoming::AutoReply(reply) => check_original(reply.original.as_ref()),
        Incoming::Mdn(mdn) => check_original(mdn.original.as_ref()),
        Incoming::Other => {}
    }
    let facts = Facts::read(raw);
    assert!(facts.hops <= 1000 && facts.delivered_to.len() <= 50 && facts.answers.len() <= 20);
    short(facts.auto_submitted.as_ref(), 255);
    short(facts.precedence.as_ref(), 300);
    short(facts.list_id.as_ref(), 255);
}

fn check_original(original: Option<&Original>) {
    let Some(original) = original else { return };
    assert!(original.recipients.len() <= 50 && original.answers.len() <= 20);
    short(original.message_id.as_ref(), 512);
    short(original.return_path.as_ref(), 400);
    short(original.from.as_ref(), 400);
    for to in &original.recipients {
        short(Some(to), 400);
    }
    for id in &original.answers {
        short(Some(id), 512);
    }
}

fn short(text: Option<&String>, most: usize) {
    if let Some(text) = text {
        assert!(text.len() <= most && !text.contains(char::is_control), "{text:?}");
    }
}

/// Numbers that are the same in every run (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }

    /// A piece of a message, of whole lines or of any bytes.
    fn piece(&mut self, raw: &[u8]) -> std::ops::Range<usize> {
        let (one, other) = (self.below(raw.len() + 1), self.below(raw.len() + 1));
        let (mut begin, mut end) = (one.min(other), one.max(other));
        if self.below(2) == 0 {
            let is_end = |byte: &u8| *byte == b'\n';
            begin = raw[..begin].iter().rposition(is_end).map_or(0, |at| at + 1);
            end = raw[..end].iter().rposition(is_end).map_or(begin, |at| at + 1).max(begin);
        }
        begin..end
    }

    fn damage(&mut self, raw: &mut Vec<u8>, others: &[(String, Vec<u8>)]) {
        match self.below(7) {
            0 => {
                for _ in 0..=self.below(8) {
                    let at = self.below(raw.len());
                    if let Some(byte) = raw.get_mut(at) {
                        *byte ^= 1 << self.below(8);
                    }
                }
            }
            1 => raw.truncate(self.below(raw.len() + 1)),
            2 => drop(raw.drain(self.piece(raw))),
            3 => {
                let piece = raw[self.piece(raw)].to_vec();
                let at = self.below(raw.len() + 1);
                raw.splice(at..at, piece);
            }
            4 => {
                let other = &others[self.below(others.len())].1;
                let piece = other[self.piece(other)].to_vec();
                let at = self.piece(raw).start;
                raw.splice(at..at, piece);
            }
            5 => {
                const TOKENS: [&[u8]; 16] = [
                    b"\r\n\r\n",
                    b"--",
                    b"@",
                    b";",
                    b"<",
                    b">",
                    b"=?utf-8?Q?",
                    b"=",
                    b"\0",
                    b"\xff\xfe",
                    b"+2B",
                    b"\\x{",
                    b"Final-Recipient: rfc822;",
                    b"Content-Type: message/rfc822\n\n",
                    b"Content-Transfer-Encoding: base64\n",
                    b"charset=utf-7",
                ];
                let at = self.below(raw.len() + 1);
                raw.splice(at..at, TOKENS[self.below(TOKENS.len())].iter().copied());
            }
            _ => {
                let charset =
                    ["utf-7", "utf-16", "iso-2022-jp", "gb18030", "shift_jis", "koi8-r", "big5", "euc-kr"];
                let with = format!("charset={}", charset[self.below(charset.len())]);
                let text = String::from_utf8_lossy(raw).replace("charset=utf-8", &with);
                *raw = text.into_bytes();
            }
        }
    }
}

#[test]
fn damaged_messages_are_read_within_bounds() {
    let messages = messages();
    let (times, seed) = if is_large() { (1_000_000, 2) } else { (20_000, 1) };
    let begin = Instant::now();
    let mut numbers = Numbers(seed);
    for _ in 0..times {
        let mut raw = messages[numbers.below(messages.len())].1.clone();
        for _ in 0..=numbers.below(4) {
            numbers.damage(&mut raw, &messages);
        }
        check(&raw);
    }
    println!("{times} damaged messages in {:?}", begin.elapsed());
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_read_within_bounds(raw in proptest::collection::vec(any::<u8>(), 0..4000)) {
        check(&raw);
    }

    #[test]
    fn arbitrary_lines_are_read_within_bounds(
        lines in proptest::collection::vec(
            prop_oneof![
                Just("Content-Type: multipart/report; boundary=b".to_owned()),
                Just("Content-Type: message/rfc822".to_owned()),
                Just("Content-Type: message/delivery-status".to_owned()),
                Just("Content-Type: message/feedback-report".to_owned()),
                Just("Content-Transfer-Encoding: base64".to_owned()),
                Just("Content-Transfer-Encoding: quoted-printable".to_owned()),
                Just("From: MAILER-DAEMON".to_owned()),
                Just("--b".to_owned()),
                Just("--b--".to_owned()),
                Just(String::new()),
                Just("Action: failed".to_owned()),
                "(Final-Recipient|Status|Subject|Diagnostic-Code|Feedback-Type|Message-ID): \\PC{0,60}",
                "\\PC{0,80}",
            ],
            0..60,
        )
    ) {
        check(lines.join("\n").as_bytes());
    }
}
