//! What a refusal is about: the address, the mail, its sender, the session, or us.

use mailwright_mail::smtp::{Reply, Stage};

/// What the next hop objects to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// There is no such address.
    Address,
    /// The recipient, whose address exists or may exist: a full mailbox, an unreachable host, greylisting.
    Recipient,
    /// The sender's address.
    Sender,
    /// The size of the message.
    Size,
    /// What the message says.
    Content,
    /// That it is us, or this sender, who sends: a permanent refusal that says nothing of the recipient.
    Policy,
    /// The session or the rate: a temporary refusal that says nothing of the mail.
    Session,
}

impl Blame {
    /// Reads a refusal. Enhanced status codes (RFC 3463) tell best; where there are none, it is guessed from the code
    /// and from what was refused.
    pub(super) fn of(stage: Stage, reply: &Reply) -> Self {
        if reply.is_permanent() { permanent(stage, reply) } else { temporary(stage, reply) }
    }
}

fn temporary(stage: Stage, reply: &Reply) -> Blame {
    if reply.is_closing() {
        return Blame::Session;
    }
    let subject = reply.enhanced.map(|(_, subject, detail)| (subject, detail));
    match (stage, subject) {
        // the sender's domain is not found and the like
        (Stage::MailFrom, Some((1, _))) => Blame::Sender,
        (Stage::MailFrom, _) | (_, Some((3, _) | (5, 3))) => Blame::Session,
        // 454 is how large services say that mail comes too fast
        (Stage::Data, _) if reply.code == 454 => Blame::Session,
        (Stage::Data, _) => Blame::Content,
        (Stage::RcptTo, _) => Blame::Recipient,
    }
}

fn permanent(stage: Stage, reply: &Reply) -> Blame {
    // asked for a login, or for encryption (RFC 4954, RFC 3207), at any command
    if matches!(reply.code, 530 | 534 | 535 | 538) {
        return Blame::Policy;
    }
    match reply.enhanced {
        Some((_, 3, 4) | (_, 2, 3)) => Blame::Size,
        Some((_, 1, _)) if stage == Stage::MailFrom => Blame::Sender,
        Some((_, 1, 7 | 8)) => Blame::Sender,
        Some((_, 1, _) | (_, 2, 1)) => Blame::Address,
        Some((_, 2 | 4, _)) if stage != Stage::MailFrom => Blame::Recipient,
        Some((_, 3 | 5, _)) => Blame::Policy,
        Some((_, 6, _)) => Blame::Content,
        // 552 to the sender or the content means its size, whatever the enhanced code says
        Some((_, 0, _)) | None if reply.code == 552 && stage != Stage::RcptTo => Blame::Size,
        Some(_) if stage == Stage::Data => Blame::Content,
        Some(_) => Blame::Policy,
        None => without_detail(stage, reply),
    }
}

fn without_detail(stage: Stage, reply: &Reply) -> Blame {
    match stage {
        Stage::MailFrom => Blame::Policy,
        Stage::Data => Blame::Content,
        Stage::RcptTo if speaks_of_us(reply) => Blame::Policy,
        Stage::RcptTo => match reply.code {
            550 | 551 | 553 => Blame::Address,
            552 => Blame::Recipient,
            _ => Blame::Policy,
        },
    }
}

/// Servers without enhanced codes say "relay not permitted", "relay access denied", "authentication required".
fn speaks_of_us(reply: &Reply) -> bool {
    let text = reply.text.to_ascii_lowercase();
    ["relay", "authenticat"].iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(text: &str) -> Reply {
        let (code, rest) = text.split_once(' ').unwrap();
        let numbers: Vec<u16> =
            rest.split(' ').next().unwrap().split('.').filter_map(|part| part.parse().ok()).collect();
        let enhanced = match numbers[..] {
            [class, subject, detail] => Some((class as u8, subject, detail)),
            _ => None,
        };
        Reply { code: code.parse().unwrap(), enhanced, text: rest.to_owned() }
    }

    #[test]
    fn refusals_are_understood() {
        use Stage::{Data, MailFrom, RcptTo};
        for (stage, text, blame) in [
            (RcptTo, "550 5.1.1 no such user", Blame::Address),
            (RcptTo, "550 no such user", Blame::Address),
            (RcptTo, "553 5.1.3 bad address", Blame::Address),
            (RcptTo, "550 5.2.1 mailbox disabled", Blame::Address),
            (Data, "550 5.1.1 no such user", Blame::Address),
            (RcptTo, "552 5.2.2 mailbox full", Blame::Recipient),
            (RcptTo, "552 mailbox full", Blame::Recipient),
            (RcptTo, "550 5.4.1 no answer from host", Blame::Recipient),
            (RcptTo, "451 4.7.1 greylisted", Blame::Recipient),
            (RcptTo, "450 4.2.0 busy", Blame::Recipient),
            (RcptTo, "450 later", Blame::Recipient),
            (MailFrom, "550 5.1.8 bad sender", Blame::Sender),
            (RcptTo, "550 5.1.8 bad sender", Blame::Sender),
            (MailFrom, "450 4.1.8 sender domain not found", Blame::Sender),
            (MailFrom, "552 5.3.4 message size exceeds fixed limit", Blame::Size),
            (Data, "552 5.3.4 message size exceeds fixed limit", Blame::Size),
            (MailFrom, "552 too large", Blame::Size),
            (Data, "552 5.0.0 too large", Blame::Size),
            (RcptTo, "552 5.2.3 too large for the mailbox", Blame::Size),
            (Data, "554 5.7.1 looks like spam", Blame::Content),
            (Data, "552 5.7.0 a file is not allowed", Blame::Content),
            (Data, "554 5.6.0 malformed", Blame::Content),
            (Data, "554 transaction failed", Blame::Content),
            (Data, "451 4.7.1 the scanner is away", Blame::Content),
            (RcptTo, "554 5.7.1 relay access denied", Blame::Policy),
            (RcptTo, "550 relay not permitted", Blame::Policy),
            (RcptTo, "554 no", Blame::Policy),
            (RcptTo, "550 5.0.0 no", Blame::Policy),
            (RcptTo, "503 5.5.1 not now", Blame::Policy),
            (MailFrom, "530 5.7.0 authentication required", Blame::Policy),
            (MailFrom, "550 5.7.1 sender not allowed", Blame::Policy),
            (MailFrom, "554 no", Blame::Policy),
            (Data, "535 5.7.8 log in", Blame::Policy),
            (Data, "554 5.3.2 system not accepting mail", Blame::Policy),
            (MailFrom, "452 4.5.3 too many messages on this connection", Blame::Session),
            (MailFrom, "450 4.7.1 too much mail", Blame::Session),
            (MailFrom, "451 later", Blame::Session),
            (RcptTo, "421 4.3.2 closing", Blame::Session),
            (RcptTo, "452 4.3.1 insufficient system storage", Blame::Session),
            (RcptTo, "452 4.5.3 too many recipients", Blame::Session),
            (Data, "454 4.7.0 throttling", Blame::Session),
            (Data, "452 4.3.1 insufficient system storage", Blame::Session),
        ] {
            assert_eq!(Blame::of(stage, &reply(text)), blame, "{stage:?} {text}");
        }
    }
}
