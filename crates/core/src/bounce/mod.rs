//! What a refused mail tells about its recipient, its sender and its content.
//!
//! A refusal is a reply of an SMTP server (RFC 5321 section 4.2) or the `Diagnostic-Code` and `Status` of a delivery
//! status notification (RFC 3464 section 2.3). [`classify`] finds its [`BounceClass`] by the rules in `rules.tsv`: by the
//! text where a rule knows it, since many receivers give one code for many reasons, then by the enhanced code (RFC 3463),
//! then by the reply code. A reply that no rule fits is [`BounceClass::Unknown`]; [`fingerprint()`] makes one row of many
//! such replies, so that they can be counted and the table can grow.
//!
//! Where a text may speak of the sender or of the recipient, the rules of the sender stand first: a mail too much to an
//! address that is gone costs less than an address that is never written to again because of our own reputation.

mod class;
mod codes;
mod fingerprint;
mod letters;
mod pattern;
mod table;
#[cfg(test)]
mod tests;
mod text;

pub use self::class::{BounceClass, BounceKind, Suppression};
use self::codes::Reply;
pub use self::fingerprint::{fingerprint, fingerprint_of};

/// What a refusal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// What it is about.
    pub class: BounceClass,
    /// The conditions of the rule that fits, such as `5yz user * unknown`. They identify the rule.
    pub rule: Option<&'static str>,
    /// Whether the receiver will never take this mail (5yz), by the reply code, else by the enhanced code, else by the
    /// class.
    pub is_permanent: bool,
    /// Whether `is_permanent` is known from a code.
    has_code: bool,
}

impl Verdict {
    /// How final the bounce is: a temporary refusal is always [`BounceKind::Transient`]. A permanent one that no rule
    /// knows is [`BounceKind::Permanent`], since the receiver says so; nothing follows from it for the address.
    pub fn kind(&self) -> BounceKind {
        match self.class {
            _ if !self.is_permanent && self.class.kind() == BounceKind::Permanent => BounceKind::Transient,
            BounceClass::Unknown if self.is_permanent => BounceKind::Permanent,
            BounceClass::Unknown | BounceClass::Dns if self.has_code && !self.is_permanent => {
                BounceKind::Transient
            }
            class => class.kind(),
        }
    }

    /// What follows for the address: of a temporary refusal nothing at once, since some servers say of addresses that
    /// they do not exist while their directory is away.
    pub fn suppresses(&self) -> Suppression {
        match self.class.suppresses() {
            Suppression::AtOnce if !self.is_permanent => Suppression::AfterRepetition,
            suppression => suppression,
        }
    }
}

/// Finds what a refusal means.
///
/// `code` is the reply code (400 to 599), `enhanced` the enhanced status code (RFC 3463) of the reply or the `Status` of a
/// delivery status notification, `text` the text of all lines of the reply or the `Diagnostic-Code`, with or without
/// codes, of which the first 2 KiB are read. Codes that are not given, or that say nothing (`5.0.0`), are looked for at the
/// start of the text. Large and small letters and the amount of white space make no difference.
///
/// Which command was refused is not asked. A reply to `MAIL FROM` or to the content says nothing about an address, whatever
/// its class: only the caller knows.
pub fn classify(code: Option<u16>, enhanced: Option<(u8, u16, u16)>, text: &str) -> Verdict {
    let text = text::folded(text);
    let (code_in_text, enhanced_in_text) = text::codes(&text);
    let reply = Reply {
        code: code.or(code_in_text),
        enhanced: enhanced
            .filter(|(_, subject, detail)| (*subject, *detail) != (0, 0))
            .or(enhanced_in_text)
            .or(enhanced),
    };
    let rule = table::find(reply, &text::normal(&text));
    let class = rule.map_or(BounceClass::Unknown, |rule| rule.class);
    Verdict {
        class,
        rule: rule.map(|rule| rule.name.as_str()),
        is_permanent: reply.digit().map_or(class.kind() == BounceKind::Permanent, |digit| digit == 5),
        has_code: reply.digit().is_some(),
    }
}
