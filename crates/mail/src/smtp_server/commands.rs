//! What each command does.

use super::command::{self, Command, Failure, Mail};
use super::content::Content;
use super::envelope::Envelope;
use super::reply::{self, Refusal};
use super::session::{End, Phase, Session};

const TOO_MANY_COMMANDS: Refusal = Refusal::fixed(421, (7, 0), "Too many commands");
const TOO_MANY_UNKNOWN: Refusal = Refusal::fixed(421, (7, 0), "Too many unknown commands");
const TOO_MANY_MESSAGES: Refusal = Refusal::fixed(421, (7, 0), "Too many messages, connect again");
const TOO_MANY_RECIPIENTS: Refusal = Refusal::fixed(452, (5, 3), "Too many recipients");
const UNKNOWN: Refusal = Refusal::fixed(500, (5, 2), "The command is not known");
const NO_HELLO: Refusal = Refusal::fixed(503, (5, 1), "Say EHLO first");
const NESTED: Refusal = Refusal::fixed(503, (5, 1), "A message has begun already");
const NO_SENDER: Refusal = Refusal::fixed(503, (5, 1), "Say MAIL first");
const NO_RECIPIENTS: Refusal = Refusal::fixed(554, (5, 1), "There are no valid recipients");
const NO_EXTENSIONS: Refusal = Refusal::fixed(555, (5, 4), "Parameters need EHLO");
const TOO_LARGE: Refusal = Refusal::fixed(552, (3, 4), "The message is too large");
const NOT_ASCII: Refusal = Refusal::fixed(553, (6, 7), "The address needs SMTPUTF8");
const DATA_WAITS: Refusal = Refusal::fixed(554, (5, 0), "Wait for the reply to DATA");
const TLS_WAITS: Refusal = Refusal::fixed(554, (5, 0), "Wait for the reply to STARTTLS");
const NO_TLS: Refusal = Refusal::fixed(502, (5, 1), "STARTTLS is not offered");
const TLS_AGAIN: Refusal = Refusal::fixed(503, (5, 1), "TLS is active already");

impl Session {
    /// Obeys a line. `is_last` says that the client has sent nothing after it.
    pub(super) fn obey(&mut self, line: &[u8], is_last: bool) {
        let limits = self.config.limits;
        self.commands += 1;
        if self.commands > limits.commands {
            return self.close(&TOO_MANY_COMMANDS, End::Refused);
        }
        match command::parse(line) {
            Ok(command) => self.perform(command, is_last),
            Err(Failure::Refused(refusal)) => self.refuse(&refusal),
            Err(Failure::Broken(refusal)) => self.close(&refusal, End::Refused),
            Err(Failure::Unknown) => {
                self.unknown_commands += 1;
                if self.unknown_commands > limits.unknown_commands {
                    self.close(&TOO_MANY_UNKNOWN, End::Refused);
                } else {
                    self.refuse(&UNKNOWN);
                }
            }
        }
    }

    fn perform(&mut self, command: Command<'_>, is_last: bool) {
        match command {
            Command::Hello { name, extended } => self.hello(name, extended),
            Command::Mail(mail) => self.mail(mail),
            Command::Rcpt(path) => {
                if !self.has_sender {
                    self.refuse(&NO_SENDER);
                } else if !path.is_ascii() && !self.envelope.smtputf8 {
                    self.refuse(&NOT_ASCII);
                } else if self.envelope.recipients.contains(&path) {
                    self.reply(250, (1, 5), "Recipient accepted");
                } else if self.envelope.recipients.len() >= self.config.limits.recipients {
                    self.refuse(&TOO_MANY_RECIPIENTS);
                } else {
                    self.phase = Phase::Recipient(path);
                }
            }
            Command::Data => self.data(is_last),
            Command::Rset => {
                self.clear();
                self.reply(250, (0, 0), "Forgotten");
            }
            Command::Noop => self.reply(250, (0, 0), "OK"),
            Command::Help => self.reply(214, (0, 0), "See RFC 5321"),
            Command::Vrfy => self.reply(252, (0, 0), "Send mail, and see"),
            Command::Quit => {
                self.reply(221, (0, 0), "Goodbye");
                self.finish(End::Quit);
            }
            Command::StartTls => self.start_tls(is_last),
        }
    }

    fn hello(&mut self, name: &str, extended: bool) {
        self.clear();
        name.clone_into(&mut self.envelope.client_name);
        self.envelope.extended = extended;
        self.is_introduced = true;
        let config = &self.config;
        if !extended {
            return reply::write(&mut self.output, 250, None, &config.name);
        }
        reply::write_line(&mut self.output, 250, true, &config.name);
        if self.offers_tls && self.envelope.tls.is_none() {
            reply::write_line(&mut self.output, 250, true, "STARTTLS");
        }
        reply::write_line(&mut self.output, 250, true, &format!("SIZE {}", config.limits.message_size));
        for extension in ["8BITMIME", "PIPELINING", "SMTPUTF8"] {
            reply::write_line(&mut self.output, 250, true, extension);
        }
        reply::write_line(&mut self.output, 250, false, "ENHANCEDSTATUSCODES");
    }

    fn mail(&mut self, mail: Mail) {
        let limits = &self.config.limits;
        let has_parameters = mail.size.is_some() || mail.body.is_some() || mail.smtputf8;
        if !self.is_introduced {
            self.refuse(&NO_HELLO);
        } else if self.has_sender {
            self.refuse(&NESTED);
        } else if self.messages >= limits.messages {
            self.close(&TOO_MANY_MESSAGES, End::Refused);
        } else if has_parameters && !self.envelope.extended {
            self.refuse(&NO_EXTENSIONS);
        } else if mail.size.is_some_and(|size| size > limits.message_size as u64) {
            self.refuse(&TOO_LARGE);
        } else if !mail.smtputf8 && mail.from.as_ref().is_some_and(|from| !from.is_ascii()) {
            self.refuse(&NOT_ASCII);
        } else {
            self.has_sender = true;
            self.envelope = Envelope {
                mail_from: mail.from,
                announced_size: mail.size,
                body: mail.body.unwrap_or_default(),
                smtputf8: mail.smtputf8,
                client_name: std::mem::take(&mut self.envelope.client_name),
                recipients: Vec::new(),
                ..self.envelope
            };
            self.reply(250, (1, 0), "Sender accepted");
        }
    }

    /// DATA is the last command of a group (RFC 2920 section 3.1): what comes with it may be meant as content or as
    /// commands, depending on a reply that the client has not seen.
    fn data(&mut self, is_last: bool) {
        if !is_last {
            self.close(&DATA_WAITS, End::Refused);
        } else if !self.has_sender {
            self.refuse(&NO_SENDER);
        } else if self.envelope.recipients.is_empty() {
            self.refuse(&NO_RECIPIENTS);
        } else {
            self.phase = Phase::Content(Content::new());
            reply::write(&mut self.output, 354, None, "End the message with a dot on a line of its own");
        }
    }

    /// What comes with STARTTLS was not encrypted, and would count as if it had been (RFC 3207 section 6).
    fn start_tls(&mut self, is_last: bool) {
        if !is_last {
            self.close(&TLS_WAITS, End::Refused);
        } else if self.envelope.tls.is_some() {
            self.refuse(&TLS_AGAIN);
        } else if !self.offers_tls {
            self.refuse(&NO_TLS);
        } else if !self.is_introduced {
            self.refuse(&NO_HELLO);
        } else {
            self.phase = Phase::Handshake;
            self.reply(220, (0, 0), "Begin TLS");
        }
    }
}
