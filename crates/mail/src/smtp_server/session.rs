//! The protocol without I/O: bytes go in, replies and questions come out.

use std::net::IpAddr;
use std::sync::Arc;

use super::address::Path;
use super::budget::Held;
use super::command;
use super::config::Config;
use super::content::{Content, Progress};
use super::envelope::Envelope;
use super::reply::{self, Refusal, Verdict};

/// Replies to a group of commands are one write, up to about this many bytes.
const GROUP: usize = 4096;

const EARLY: Refusal = Refusal::fixed(554, (5, 0), "You talk before you are greeted");
const SHUTTING_DOWN: Refusal = Refusal::fixed(421, (3, 2), "The server is shutting down");
const TOO_BUSY: Refusal = Refusal::fixed(421, (3, 2), "Too busy, try again later");
const TIMED_OUT: Refusal = Refusal::fixed(421, (4, 2), "It takes too long");
const LATER: Refusal = Refusal::fixed(451, (3, 0), "Try again later");
const TOO_MANY_ERRORS: Refusal = Refusal::fixed(421, (7, 0), "Too many errors");

mailwright_core::names! {
    /// Why a session ended.
    pub enum End {
        /// The client said QUIT.
        Quit = "quit",
        /// The client closed the connection, or broke it.
        Gone = "gone",
        /// The client broke the protocol or passed a limit of the session.
        Refused = "refused",
        /// A limit of time.
        TimedOut = "timed-out",
        /// The TLS handshake failed.
        Handshake = "handshake",
        /// The server shuts down.
        ShutDown = "shut-down",
        /// The place of the connection is given to another client.
        NoRoom = "no-room",
    }
}

/// What the owner of a session does next.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Send these bytes.
    Reply(Vec<u8>),
    /// Read from the client, and give what it sent to [`Session::receive`].
    NeedsInput,
    /// Decide on a recipient of the message in [`Session::envelope`], and answer by [`Session::recipient`].
    Recipient(Path),
    /// A message is complete, to be stored and answered by [`Session::taken`]. One that is not answered before the
    /// next step was not taken (451).
    Message(Envelope, Vec<u8>),
    /// Begin TLS as its server, and say so by [`Session::secured`]. If that fails, close the connection.
    StartTls,
    /// Close the connection. [`Session::end`] says why.
    Close,
}

/// A session with a client: everything of SMTP but I/O and time.
///
/// The owner calls [`Session::step`] again and again and does what it says. Content is held in memory as it arrives,
/// up to [`super::Limits::message_size`]; everything else is a few hundred bytes and what the owner gave between two
/// steps.
#[derive(Debug)]
pub struct Session {
    pub(super) config: Arc<Config>,
    pub(super) phase: Phase,
    pub(super) output: Vec<u8>,
    pub(super) envelope: Envelope,
    /// Whether the client has introduced itself.
    pub(super) is_introduced: bool,
    /// Whether MAIL was accepted.
    pub(super) has_sender: bool,
    pub(super) offers_tls: bool,
    pub(super) commands: u32,
    pub(super) unknown_commands: u32,
    pub(super) messages: u32,
    errors: u32,
    /// The memory of the message that is received, or that the owner has.
    held: Held,
    /// What was received; the first `used` bytes of it are done with.
    input: Vec<u8>,
    used: usize,
    stops: Option<End>,
    end: Option<End>,
}

#[derive(Debug)]
pub(super) enum Phase {
    Greeting,
    Commands,
    Recipient(Path),
    Content(Content),
    /// A message was given to the owner.
    Taking,
    Handshake,
    Closed,
}

impl Session {
    /// A session with a client at this address. With `offers_tls` STARTTLS is offered.
    pub fn new(config: Arc<Config>, client: IpAddr, offers_tls: bool) -> Self {
        Self {
            held: Held::new(&config.held),
            config,
            phase: Phase::Greeting,
            output: Vec::new(),
            envelope: Envelope::new(client),
            is_introduced: false,
            has_sender: false,
            offers_tls,
            commands: 0,
            unknown_commands: 0,
            messages: 0,
            errors: 0,
            input: Vec::new(),
            used: 0,
            stops: None,
            end: None,
        }
    }

    /// Takes what the client sent. Call it when [`Step::NeedsInput`] asks for it, with what one read gave: bytes that
    /// come with others count as sent before the replies to those.
    pub fn receive(&mut self, bytes: &[u8]) {
        if !matches!(self.phase, Phase::Closed) {
            self.input.extend_from_slice(bytes);
        }
    }

    /// What to do next.
    pub fn step(&mut self) -> Step {
        while self.output.len() < GROUP {
            match self.advance() {
                None => {}
                Some(step) if self.output.is_empty() || matches!(step, Step::Message(..)) => return step,
                // it is asked for again once the replies are out
                Some(_) => break,
            }
        }
        Step::Reply(std::mem::take(&mut self.output))
    }

    /// The message of [`Step::Recipient`], as far as it is known.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Answers [`Step::Recipient`].
    pub fn recipient(&mut self, verdict: Verdict) {
        match std::mem::replace(&mut self.phase, Phase::Commands) {
            Phase::Recipient(path) => match verdict {
                Verdict::Accept => {
                    self.envelope.recipients.push(path);
                    self.reply(250, (1, 5), "Recipient accepted");
                }
                Verdict::Refuse(refusal) => self.refuse(&refusal),
                Verdict::Later => self.refuse(&LATER),
            },
            other => self.phase = other,
        }
    }

    /// Answers [`Step::Message`].
    pub fn taken(&mut self, verdict: Verdict) {
        if !matches!(self.phase, Phase::Taking) {
            return;
        }
        self.phase = Phase::Commands;
        self.held.release();
        match verdict {
            Verdict::Accept => self.reply(250, (0, 0), "Message accepted"),
            Verdict::Refuse(refusal) => self.refuse(&refusal),
            Verdict::Later => self.refuse(&LATER),
        }
    }

    /// Answers [`Step::StartTls`]: the connection is encrypted by this version of TLS. What the client said before
    /// counts no more (RFC 3207 section 4.2).
    pub fn secured(&mut self, version: &'static str) {
        if matches!(self.phase, Phase::Handshake) {
            let client = self.envelope.client;
            self.envelope = Envelope { tls: Some(version), ..Envelope::new(client) };
            self.is_introduced = false;
            self.has_sender = false;
            self.phase = Phase::Commands;
            self.forget_input();
        }
    }

    /// Ends the session before the next command, with 421; a message that is being received may be completed. `end`
    /// says why: [`End::ShutDown`], [`End::NoRoom`], or else the time is over.
    pub fn stop(&mut self, end: End) {
        self.stops.get_or_insert(end);
    }

    /// Ends the session now, with 421, even while a message is being received. `end` as for [`Session::stop`].
    pub fn break_off(&mut self, end: End) {
        let why = match end {
            End::ShutDown => &SHUTTING_DOWN,
            End::NoRoom => &TOO_BUSY,
            _ => &TIMED_OUT,
        };
        self.close(why, end);
    }

    /// Whether content is being received.
    pub fn is_receiving(&self) -> bool {
        matches!(self.phase, Phase::Content(_))
    }

    /// How much of the content that is being received came in, in bytes.
    pub fn received(&self) -> u64 {
        if let Phase::Content(content) = &self.phase { content.received() } else { 0 }
    }

    /// How many messages were received and given to the owner.
    pub fn messages(&self) -> u32 {
        self.messages
    }

    /// Why the session ended; `None` before [`Step::Close`].
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// How much memory is held for this session, in bytes, apart from the configuration.
    pub fn memory(&self) -> usize {
        let content = if let Phase::Content(content) = &self.phase { content.capacity() } else { 0 };
        let paths = self.envelope.recipients.iter().chain(&self.envelope.mail_from);
        let addresses: usize = paths.map(|path| path.local().len() + path.domain().len()).sum();
        let recipients = self.envelope.recipients.capacity() * size_of::<Path>();
        let buffers = self.input.capacity() + self.output.capacity() + self.envelope.client_name.capacity();
        size_of::<Self>() + content + addresses + recipients + buffers
    }

    /// Goes on by a command or by a piece of content. A step that is returned is returned again, but for a message,
    /// until something changes.
    fn advance(&mut self) -> Option<Step> {
        match &self.phase {
            Phase::Greeting => {
                self.greet();
                None
            }
            Phase::Commands => self.next_command(),
            Phase::Recipient(path) => Some(Step::Recipient(path.clone())),
            Phase::Content(_) => self.next_content(),
            Phase::Taking => {
                self.taken(Verdict::Later);
                None
            }
            Phase::Handshake => Some(Step::StartTls),
            Phase::Closed => Some(Step::Close),
        }
    }

    fn greet(&mut self) {
        if self.config.refuse_early_talkers && !self.input.is_empty() {
            return self.close(&EARLY, End::Refused);
        }
        self.phase = Phase::Commands;
        reply::write(&mut self.output, 220, None, &format!("{} ESMTP", self.config.name));
    }

    fn next_command(&mut self) -> Option<Step> {
        if let Some(end) = self.stops {
            self.break_off(end);
            return None;
        }
        match command::line_length(&self.input[self.used..]) {
            Ok(None) => {
                self.forget_used();
                return Some(Step::NeedsInput);
            }
            Ok(Some(length)) => {
                // it is put back, unless the command ended what it belongs to
                let input = std::mem::take(&mut self.input);
                let line = self.used..self.used + length;
                self.used = line.end + 2;
                self.obey(&input[line], input.len() == self.used);
                if !matches!(self.phase, Phase::Closed) {
                    self.input = input;
                }
            }
            Err(refusal) => self.close(&refusal, End::Refused),
        }
        None
    }

    fn next_content(&mut self) -> Option<Step> {
        let Phase::Content(content) = &mut self.phase else { return None };
        let (taken, progress) = content.take(&self.input[self.used..], &self.config.limits, &mut self.held);
        self.used += taken;
        match progress {
            Progress::Open => {
                self.forget_used();
                return Some(Step::NeedsInput);
            }
            Progress::Broken(refusal) => self.close(&refusal, End::Refused),
            Progress::Done(content) => {
                let envelope = self.envelope.clone();
                self.clear();
                match content {
                    Ok(content) => {
                        self.phase = Phase::Taking;
                        self.messages = self.messages.saturating_add(1);
                        return Some(Step::Message(envelope, content));
                    }
                    Err(refusal) => {
                        self.phase = Phase::Commands;
                        self.refuse(&refusal);
                    }
                }
            }
        }
        None
    }

    /// Forgets the message that was begun.
    pub(super) fn clear(&mut self) {
        self.envelope.clear();
        self.has_sender = false;
    }

    pub(super) fn reply(&mut self, code: u16, status: (u16, u16), text: &str) {
        reply::write(&mut self.output, code, Some(status), text);
    }

    pub(super) fn refuse(&mut self, refusal: &Refusal) {
        if refusal.code() == 421 {
            return self.close(refusal, End::Refused);
        }
        refusal.write(&mut self.output);
        self.errors = self.errors.saturating_add(refusal.is_permanent().into());
        if self.errors > self.config.limits.errors {
            self.close(&TOO_MANY_ERRORS, End::Refused);
        }
    }

    /// Sends a last reply. Nothing that the client sent after it was said is looked at.
    pub(super) fn close(&mut self, refusal: &Refusal, end: End) {
        if !matches!(self.phase, Phase::Closed) {
            refusal.write(&mut self.output);
            self.finish(end);
        }
    }

    pub(super) fn finish(&mut self, end: End) {
        self.end = Some(end);
        self.phase = Phase::Closed;
        self.held.release();
        self.forget_input();
    }

    fn forget_input(&mut self) {
        self.input = Vec::new();
        self.used = 0;
    }

    /// A session that waits for a command holds no buffer.
    fn forget_used(&mut self) {
        self.input.drain(..self.used);
        self.used = 0;
        if self.input.is_empty() && !self.is_receiving() {
            self.input = Vec::new();
        }
    }
}
