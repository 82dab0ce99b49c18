//! Translates SMTP's answers into a hand-over. It decides what a refusal is about (the address, the mail, its sender,
//! the session, or us), from the codes, and from the text if the codes do not tell (`wording.rs`).

use mailwright_mail::smtp::{ContentError, EnvelopeError, Reply, Stage};

use super::hand_over::{self, HandOver, Refusal, Rejection};
use super::wording::Wording;

/// The reason of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Objection {
    /// The address does not exist. `certain` is false if only the text says so, or if text and code disagree.
    Address { certain: bool },
    /// The recipient, whose address exists or may exist: a full mailbox, an unreachable host, greylisting.
    Recipient,
    /// The sender's address.
    Sender,
    /// The size of the message.
    Size,
    /// The content of the message.
    Content,
    /// The sending host, or the sender: the refusal says nothing about the recipient.
    Policy,
    /// The session or the rate: a temporary refusal that says nothing of the mail.
    Session,
}

impl Objection {
    /// Reads a refusal. Enhanced status codes (RFC 3463) tell best; where there are none, it is guessed from the code
    /// and from what was refused.
    pub(super) fn of(stage: Stage, reply: &Reply) -> Self {
        if reply.is_permanent() { permanent(stage, reply) } else { temporary(stage, reply) }
    }
}

impl From<EnvelopeError> for HandOver {
    fn from(error: EnvelopeError) -> Self {
        match error {
            EnvelopeError::Refused { stage, reply } => refused(stage, reply),
            EnvelopeError::Lost { error } => Self::Lost(error),
        }
    }
}

impl From<ContentError> for HandOver {
    fn from(error: ContentError) -> Self {
        match error {
            ContentError::Refused(reply) => refused(Stage::Data, reply),
            ContentError::LostBefore { error } | ContentError::NoChunks { error } => Self::Lost(error),
            ContentError::InDoubt { error } => Self::InDoubt(error),
        }
    }
}

impl From<Reply> for hand_over::Reply {
    fn from(Reply { code, enhanced, text }: Reply) -> Self {
        Self { code, enhanced, text }
    }
}

/// The consequence of a refusal for the mail, and for the next hop.
fn refused(stage: Stage, reply: Reply) -> HandOver {
    let is_permanent = reply.is_permanent();
    let rejection = match Objection::of(stage, &reply) {
        Objection::Session => return HandOver::Refused(Refusal::Session, reply.into()),
        Objection::Policy => {
            let of_sender = stage == Stage::MailFrom;
            return HandOver::Refused(Refusal::Policy { is_permanent, of_sender }, reply.into());
        }
        Objection::Address { certain } => Rejection::Address { certain },
        Objection::Recipient => Rejection::Recipient,
        Objection::Sender => Rejection::Sender,
        Objection::Size => Rejection::Size,
        Objection::Content => Rejection::Content,
    };
    if is_permanent { HandOver::Rejected(rejection, reply.into()) } else { HandOver::Temporary(reply.into()) }
}

fn temporary(stage: Stage, reply: &Reply) -> Objection {
    if reply.is_closing() {
        return Objection::Session;
    }
    let subject = reply.enhanced.map(|(_, subject, detail)| (subject, detail));
    match (stage, subject) {
        // the sender's domain is not found and the like
        (Stage::MailFrom, Some((1, _))) => Objection::Sender,
        (Stage::MailFrom, _) | (_, Some((3, _) | (5, 3))) => Objection::Session,
        // 454 is how large services say that mail comes too fast
        (Stage::Data, _) if reply.code == 454 => Objection::Session,
        (Stage::Data, _) => Objection::Content,
        (Stage::RcptTo, _) if Wording::of(&reply.text).speaks_of_the_host() => Objection::Policy,
        (Stage::RcptTo, _) => Objection::Recipient,
    }
}

fn permanent(stage: Stage, reply: &Reply) -> Objection {
    // asked for a login, or for encryption (RFC 4954, RFC 3207), at any command
    if matches!(reply.code, 530 | 534 | 535 | 538) {
        return Objection::Policy;
    }
    let detail = reply.enhanced.map(|(_, subject, detail)| (subject, detail));
    if let Some((3, 4) | (2, 3)) = detail {
        return Objection::Size;
    }
    let wording = Wording::of(&reply.text);
    let is_full = detail == Some((2, 2)) || detail.is_none() && reply.code == 552;
    if wording.speaks_of_our_limit(is_full) {
        return Objection::Policy;
    }
    match detail {
        // large services say so when a sender has sent enough; 5.4.6 is a mail that goes round, otherwise
        Some((4, 5) | (1, 90) | (2, 0) | (3 | 5, _)) => Objection::Policy,
        Some((4, 6)) if !wording.speaks_of_a_loop() => Objection::Policy,
        Some((1, _)) if stage == Stage::MailFrom => Objection::Sender,
        Some((2, _)) if stage == Stage::MailFrom => Objection::Policy,
        Some((1, 7 | 8)) => Objection::Sender,
        Some((1, 1 | 2 | 3 | 6 | 10) | (2, 1)) => Objection::Address { certain: !wording.speaks_of_us() },
        Some((0, _) | (1, 0)) if stage == Stage::RcptTo && may_be_missing(reply, &wording) => {
            Objection::Address { certain: false }
        }
        Some((1, 0)) => Objection::Policy,
        Some((1, _)) => Objection::Recipient,
        Some((2 | 4, _)) if stage != Stage::MailFrom => Objection::Recipient,
        Some((6, _)) => Objection::Content,
        // 552 to the sender or the content means its size, whatever the enhanced code says
        Some((0, _)) | None if reply.code == 552 && stage != Stage::RcptTo => Objection::Size,
        Some(_) | None if stage == Stage::Data => {
            if wording.speaks_of_the_host() {
                Objection::Policy
            } else {
                Objection::Content
            }
        }
        None if stage == Stage::RcptTo && may_be_missing(reply, &wording) => {
            Objection::Address { certain: false }
        }
        None if stage == Stage::RcptTo && reply.code == 552 => Objection::Recipient,
        Some(_) | None => Objection::Policy,
    }
}

/// Servers without enhanced codes use the same few codes for an address that does not exist, for a sending host that
/// they reject, and for other reasons: only the text distinguishes them.
fn may_be_missing(reply: &Reply, wording: &Wording) -> bool {
    matches!(reply.code, 550 | 551 | 553) && wording.speaks_of_the_recipient()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Objection = Objection::Address { certain: true };
    const GUESSED: Objection = Objection::Address { certain: false };

    fn reply(text: &str) -> Reply {
        let (code, rest) = text.split_once(' ').unwrap();
        let numbers: Vec<u16> = rest
            .trim_start_matches('#')
            .split(' ')
            .next()
            .unwrap()
            .split('.')
            .filter_map(|part| part.parse().ok())
            .collect();
        let enhanced = match numbers[..] {
            [class, subject, detail] => Some((class as u8, subject, detail)),
            _ => None,
        };
        Reply { code: code.parse().unwrap(), enhanced, text: rest.to_owned() }
    }

    #[test]
    fn only_what_speaks_of_the_recipient_is_about_the_address() {
        use Stage::{Data, MailFrom, RcptTo};
        for (stage, text, blame) in [
            (
                RcptTo,
                "550 rejected because 127.0.0.1 is in a black list at zen.spamhaus.org",
                Objection::Policy,
            ),
            (RcptTo, "550 Sender verify failed", Objection::Policy),
            (
                RcptTo,
                "550 Verification failed for <user@x.example>\nNo such domain\nSender verify failed",
                Objection::Policy,
            ),
            (RcptTo, "550 Administrative prohibition", Objection::Policy),
            (RcptTo, "550 Access denied - Invalid HELO name (See RFC2821 4.1.1.1)", Objection::Policy),
            (RcptTo, "550 SPF check failed", Objection::Policy),
            (RcptTo, "550 Your IP is blocked, see https://x.example/unknown-user", Objection::Policy),
            (RcptTo, "550 Message rejected due to local policy", Objection::Policy),
            (RcptTo, "550 Too many messages from this sender, try tomorrow", Objection::Policy),
            (RcptTo, "550 <unknown.user@x.example>", Objection::Policy),
            (RcptTo, "553 5.7.1 sorry, that domain isn't in my list of allowed rcpthosts", Objection::Policy),
            (
                RcptTo,
                "550 #5.7.1 Your access to submit messages to this e-mail system has been rejected.",
                Objection::Policy,
            ),
            (RcptTo, "550 #5.1.0 Address rejected.", Objection::Policy),
            (
                RcptTo,
                "550 Requested action not taken: mailbox unavailable\nSender address is not allowed.",
                Objection::Policy,
            ),
            (RcptTo, "550 Requested action not taken: mailbox unavailable", GUESSED),
            (
                RcptTo,
                "550 Requested action not taken: mailbox unavailable (e.g., mailbox not found, no access, or \
                      command rejected for policy reasons)",
                GUESSED,
            ),
            (RcptTo, "551 User not local; please try <forward@x.example>", GUESSED),
            (RcptTo, "550 Unrouteable address", GUESSED),
            (RcptTo, "550 No such recipient here", GUESSED),
            (RcptTo, "550 5.0.0 <ada@x.example>... User unknown", GUESSED),
            (RcptTo, "550 5.1.0 Address does not exist", GUESSED),
            (RcptTo, "550 5.1.1 Recipient address rejected: Access denied", GUESSED),
            (RcptTo, "556 5.1.10 null MX", KNOWN),
            (RcptTo, "550 5.1.6 Mailbox moved", KNOWN),
            (RcptTo, "550 5.1.2 bad domain", KNOWN),
            (RcptTo, "550 5.1.9 it cannot be relayed in this form", Objection::Recipient),
            (MailFrom, "550 5.2.1 mailbox disabled", Objection::Policy),
            (RcptTo, "454 4.7.1 Relay access denied", Objection::Policy),
            (RcptTo, "450 4.7.1 Client host rejected: cannot find your hostname", Objection::Policy),
            (RcptTo, "450 4.2.0 Recipient address rejected: Greylisted", Objection::Recipient),
            (Data, "550 no such user here", Objection::Content),
        ] {
            assert_eq!(Objection::of(stage, &reply(text)), blame, "{stage:?} {text}");
        }
    }

    #[test]
    fn who_sent_enough_is_told_from_a_mailbox_that_is_full() {
        use Stage::{Data, MailFrom, RcptTo};
        for (stage, text, blame) in [
            (RcptTo, "550 5.4.5 Daily user sending limit exceeded.", Objection::Policy),
            (Data, "550 5.4.5 Daily user sending limit exceeded.", Objection::Policy),
            (RcptTo, "550 5.4.6 Unusual sending activity detected", Objection::Policy),
            (RcptTo, "554 5.4.6 too many hops", Objection::Recipient),
            (
                RcptTo,
                "550 5.1.90 Your message can't be sent because you've reached your daily limit for message recipients",
                Objection::Policy,
            ),
            (RcptTo, "550 5.2.2 Submission quota exceeded", Objection::Policy),
            (
                Data,
                "554 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException",
                Objection::Policy,
            ),
            (Data, "554 Transaction failed: Maximum sending rate exceeded", Objection::Policy),
            (
                Data,
                "554 Message rejected: Email address is not verified. The following identities failed the check",
                Objection::Policy,
            ),
            (Data, "550 5.7.26 Unauthenticated email from x.example is not accepted", Objection::Policy),
            (MailFrom, "550 5.7.1 sender over quota", Objection::Policy),
            (RcptTo, "552 5.2.2 Over quota", Objection::Recipient),
            (
                RcptTo,
                "552 5.2.2 The email account that you tried to reach is over quota",
                Objection::Recipient,
            ),
            (RcptTo, "552 Quota exceeded", Objection::Recipient),
            (RcptTo, "554 5.2.2 mailbox over quota", Objection::Recipient),
            (MailFrom, "552 message size limit exceeded", Objection::Size),
            (Data, "554 5.6.0 line length limit exceeded", Objection::Content),
            (Data, "554 5.7.1 an unsolicited mail, generated at scale", Objection::Content),
        ] {
            assert_eq!(Objection::of(stage, &reply(text)), blame, "{stage:?} {text}");
        }
    }

    #[test]
    fn refusals_are_understood() {
        use Stage::{Data, MailFrom, RcptTo};
        for (stage, text, blame) in [
            (RcptTo, "550 5.1.1 no such user", KNOWN),
            (RcptTo, "550 no such user", GUESSED),
            (RcptTo, "553 5.1.3 bad address", KNOWN),
            (RcptTo, "550 5.2.1 mailbox disabled", KNOWN),
            (Data, "550 5.1.1 no such user", KNOWN),
            (RcptTo, "552 5.2.2 mailbox full", Objection::Recipient),
            (RcptTo, "552 mailbox full", Objection::Recipient),
            (RcptTo, "550 5.4.1 no answer from host", Objection::Recipient),
            (RcptTo, "451 4.7.1 greylisted", Objection::Recipient),
            (RcptTo, "450 4.2.0 busy", Objection::Recipient),
            (RcptTo, "450 later", Objection::Recipient),
            (MailFrom, "550 5.1.8 bad sender", Objection::Sender),
            (RcptTo, "550 5.1.8 bad sender", Objection::Sender),
            (MailFrom, "450 4.1.8 sender domain not found", Objection::Sender),
            (MailFrom, "552 5.3.4 message size exceeds fixed limit", Objection::Size),
            (Data, "552 5.3.4 message size exceeds fixed limit", Objection::Size),
            (MailFrom, "552 too large", Objection::Size),
            (Data, "552 5.0.0 too large", Objection::Size),
            (RcptTo, "552 5.2.3 too large for the mailbox", Objection::Size),
            (Data, "554 5.7.1 looks like spam", Objection::Content),
            (Data, "552 5.7.0 a file is not allowed", Objection::Content),
            (Data, "554 5.6.0 malformed", Objection::Content),
            (Data, "554 transaction failed", Objection::Content),
            (Data, "451 4.7.1 the scanner is away", Objection::Content),
            (RcptTo, "554 5.7.1 relay access denied", Objection::Policy),
            (RcptTo, "550 relay not permitted", Objection::Policy),
            (RcptTo, "554 no", Objection::Policy),
            (RcptTo, "550 5.0.0 no", Objection::Policy),
            (RcptTo, "503 5.5.1 not now", Objection::Policy),
            (MailFrom, "530 5.7.0 authentication required", Objection::Policy),
            (MailFrom, "550 5.7.1 sender not allowed", Objection::Policy),
            (MailFrom, "554 no", Objection::Policy),
            (Data, "535 5.7.8 log in", Objection::Policy),
            (Data, "554 5.3.2 system not accepting mail", Objection::Policy),
            (MailFrom, "452 4.5.3 too many messages on this connection", Objection::Session),
            (MailFrom, "450 4.7.1 too much mail", Objection::Session),
            (MailFrom, "451 later", Objection::Session),
            (RcptTo, "421 4.3.2 closing", Objection::Session),
            (RcptTo, "452 4.3.1 insufficient system storage", Objection::Session),
            (RcptTo, "452 4.5.3 too many recipients", Objection::Session),
            (Data, "454 4.7.0 throttling", Objection::Session),
            (Data, "452 4.3.1 insufficient system storage", Objection::Session),
        ] {
            assert_eq!(Objection::of(stage, &reply(text)), blame, "{stage:?} {text}");
        }
    }
}
