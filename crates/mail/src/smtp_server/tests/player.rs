//! An owner of sessions that answers by what addresses and contents say, and writes down what happens.

use std::sync::Arc;

use crate::smtp_server::{Config, Envelope, Path, Refusal, Session, Step, Verdict};

/// A message as it was handed out.
pub(super) type Message = (Envelope, Vec<u8>);

/// A session and what came of it: lines `S: ` for replies, `M: ` for messages, `T:` for TLS and `X: ` for the end.
pub(super) struct Player {
    pub(super) session: Session,
    pub(super) events: Vec<String>,
    pub(super) messages: Vec<Message>,
    has_ended: bool,
}

pub(super) fn config() -> Config {
    Config::new("mx.test")
}

pub(super) fn verdict_on_recipient(path: &Path) -> Verdict {
    match path.local() {
        local if local.starts_with("unknown") => Verdict::Refuse(Refusal::unknown_recipient()),
        local if local.starts_with("later") => Verdict::Later,
        local if local.starts_with("gone") => Verdict::Refuse(Refusal::new(421, (3, 0), "Gone")),
        _ => Verdict::Accept,
    }
}

pub(super) fn verdict_on_message(content: &[u8]) -> Verdict {
    match content {
        content if content.starts_with(b"refuse") => Verdict::Refuse(Refusal::new(550, (7, 1), "No")),
        content if content.starts_with(b"later") => Verdict::Later,
        _ => Verdict::Accept,
    }
}

impl Player {
    pub(super) fn new(config: Config, offers_tls: bool) -> Self {
        let session = Session::new(Arc::new(config), "192.0.2.1".parse().unwrap(), offers_tls);
        Self { session, events: Vec::new(), messages: Vec::new(), has_ended: false }
    }

    /// Gives a packet to the session and does all that it asks for.
    pub(super) fn send(&mut self, packet: &[u8]) {
        self.session.receive(packet);
        self.play();
    }

    pub(super) fn play(&mut self) {
        let mut replies = Vec::new();
        loop {
            let step = self.session.step();
            if !matches!(step, Step::Reply(_)) {
                self.note_replies(&mut replies);
            }
            match step {
                Step::Reply(bytes) => replies.extend(bytes),
                Step::NeedsInput => return,
                Step::Recipient(path) => self.session.recipient(verdict_on_recipient(&path)),
                Step::Message(envelope, content) => {
                    self.events.push(described(&envelope, &content));
                    self.session.taken(verdict_on_message(&content));
                    self.messages.push((envelope, content));
                }
                Step::StartTls => {
                    self.events.push("T:".to_owned());
                    self.session.secured("TLSv1_3");
                }
                Step::Close => {
                    if !std::mem::replace(&mut self.has_ended, true) {
                        self.events.push(format!("X: {}", self.session.end().unwrap()));
                    }
                    return;
                }
            }
        }
    }

    fn note_replies(&mut self, replies: &mut Vec<u8>) {
        let text = String::from_utf8(std::mem::take(replies)).unwrap();
        assert!(text.is_empty() || text.ends_with("\r\n"), "{text:?}");
        for line in text.split_terminator("\r\n") {
            assert!(line.len() <= 510 && line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?}");
            assert!(line.as_bytes()[..3].iter().all(u8::is_ascii_digit), "{line:?}");
            self.events.push(format!("S: {line}"));
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.session.end().is_some()
    }
}

fn described(envelope: &Envelope, content: &[u8]) -> String {
    let from = envelope.mail_from.as_ref().map(ToString::to_string).unwrap_or_default();
    let to: Vec<_> = envelope.recipients.iter().map(|path| format!("<{path}>")).collect();
    let protocol = envelope.protocol();
    format!("M: {protocol} <{from}> {} [{}]", to.join(" "), content.escape_ascii())
}
