//! What is different about a record that a check did not find as it should be, and what to do about it, in words.

mod incoming;
mod key;
mod kind;
mod spf;
#[cfg(test)]
mod tests;
mod wording;

use mailwright_core::dmarc::DmarcPolicy;
use mailwright_core::domain::DifferenceKind;

pub use self::kind::Difference;
use self::wording::{is_wrapping, other, several, shown, wrapped};
use super::values::{same_host, tag};
use super::{ExpectedRecord, Hints, Purpose, RecordStatus, RecordType, is_of};

/// Says in plain words what is different about a record, and what to do; `None` where it is as it should be. `domain` is
/// the sender domain, `found` and `hints` are what the check noted.
pub fn difference(
    record: &ExpectedRecord,
    domain: &str,
    status: RecordStatus,
    found: &[String],
    hints: &Hints,
) -> Option<Difference> {
    match status {
        RecordStatus::Found => None,
        RecordStatus::Unavailable => Some(Difference::new(
            DifferenceKind::Unavailable,
            format!(
                "The name server gave no answer about {}, so nothing is known of the record. It is looked for again at the \
                 next check. If this stays, look whether the name servers of the domain answer.",
                record.name
            ),
        )),
        RecordStatus::Missing => Some(missing(record, domain, hints)),
        RecordStatus::Mismatch => Some(mismatch(record, domain, found)),
    }
}

fn missing(record: &ExpectedRecord, domain: &str, hints: &Hints) -> Difference {
    let (kind, name) = (record.kind.as_str(), record.name.as_str());
    if hints.is_doubled {
        let doubled = record.doubled_name(domain);
        let short = name.strip_suffix(domain).map_or(name, |rest| rest.trim_end_matches('.'));
        let short = if short.is_empty() { "@" } else { short };
        let text = format!(
            "The record is at {doubled}: the DNS service adds the domain to each name by itself. Enter the name as {short} \
             there."
        );
        return Difference::new(DifferenceKind::Doubled, text).with("at", doubled).with("enter", short);
    }
    if let Some(value) = hints.near.first() {
        return unread(record, value);
    }
    let text = format!(
        "There is no {kind} record at {name}. Create it with the value that is given here. It can take an hour, or longer, \
         until a new record is found."
    );
    Difference::new(DifferenceKind::Missing, text)
}

/// What is wrong with a TXT record that is at the name and that receivers do not read.
fn unread(record: &ExpectedRecord, value: &str) -> Difference {
    let begin = record.value.split(';').next().unwrap_or_default();
    let begin = begin.split_whitespace().next().unwrap_or_default();
    let without: String = value.chars().filter(|c| !is_wrapping(*c)).collect();
    if without != value && is_of(record.purpose, &without) {
        return wrapped();
    }
    let is_key = record.purpose == Purpose::Dkim;
    let bare: String = value.split_whitespace().collect();
    if is_key && tag(&record.value, "p").is_some_and(|key| key == bare) {
        let text = format!(
            "The record has the key alone. The value has to begin with {begin}, and have the key after p=."
        );
        return Difference::new(DifferenceKind::KeyAlone, text).with("begin", begin);
    }
    let value = shown(value);
    let (kind, text) = if is_key {
        let text = format!(
            "The record at the name is no key, since it has no p=: {value}. It has to begin with {begin}."
        );
        (DifferenceKind::NoKey, text)
    } else {
        let text = format!(
            "The record at the name does not begin with {begin}, so receivers do not read it: {value}. Write the value that \
             is given here."
        );
        (DifferenceKind::Unread, text)
    };
    Difference::new(kind, text).with("begin", begin).with("found", value)
}

fn mismatch(record: &ExpectedRecord, domain: &str, found: &[String]) -> Difference {
    match (record.kind, record.purpose) {
        (RecordType::Cname, _) => pointer(record, domain, found),
        (RecordType::Mx, _) => mail_servers(record, domain, found),
        (RecordType::Txt, Purpose::Dkim) => key::difference(found, &record.value),
        (RecordType::Txt, Purpose::Spf) => spf::difference(found, &record.value),
        (RecordType::Txt, Purpose::Dmarc) => dmarc(found),
        (RecordType::Txt, Purpose::MtaSts) => incoming::policy(found, &record.value),
        (RecordType::Txt, Purpose::TlsReports) => incoming::tls_reports(found),
        (RecordType::Txt, Purpose::Bimi) => logo(found),
        (RecordType::Txt, _) => other(),
    }
}

fn pointer(record: &ExpectedRecord, domain: &str, found: &[String]) -> Difference {
    let Some(target) = found.first() else { return other() };
    if is_with_domain(target, &record.value, domain) {
        return with_domain(target, &record.value);
    }
    let text = format!("{} points to {target}, and has to point to {}.", record.name, record.value);
    Difference::new(DifferenceKind::Elsewhere, text).with("found", target)
}

fn mail_servers(record: &ExpectedRecord, domain: &str, found: &[String]) -> Difference {
    if found.iter().all(String::is_empty) {
        let text = format!(
            "{domain} says that it takes no mail (a null MX record). If its mail is to come here, put {} in the place of it.",
            record.value
        );
        return Difference::new(DifferenceKind::NullMx, text);
    }
    if let Some(host) = found.iter().find(|host| is_with_domain(host, &record.value, domain)) {
        return with_domain(host, &record.value);
    }
    let hosts = found.join(", ");
    let text = format!(
        "Mail for {domain} goes to {hosts}. Only if it is to come here instead, put {} in the place of that.",
        record.value
    );
    Difference::new(DifferenceKind::OtherMx, text).with("found", hosts)
}

/// Whether a target is the expected one with the sender domain behind it.
fn is_with_domain(target: &str, expected: &str, domain: &str) -> bool {
    same_host(target, &format!("{}.{domain}", expected.trim_end_matches('.')))
}

fn with_domain(target: &str, expected: &str) -> Difference {
    let enter = format!("{}.", expected.trim_end_matches('.'));
    let text = format!(
        "The record points to {target}: the DNS service added the domain to the value. Enter it with a dot at its end, as \
         {enter}"
    );
    Difference::new(DifferenceKind::WithDomain, text).with("found", target).with("enter", enter)
}

fn dmarc(found: &[String]) -> Difference {
    let [found] = found else {
        return several(found.len(), "DMARC", "receivers then heed none of them (RFC 7489 section 6.6.3)");
    };
    let start: String = found.trim_start().chars().take("v=DMARC1".len()).collect();
    if start != "v=DMARC1" {
        let text = format!(
            "The record begins with {start}. Receivers read it only if it begins with v=DMARC1, in these letters."
        );
        return Difference::new(DifferenceKind::DmarcVersion, text).with("found", start);
    }
    match tag(found, "p") {
        None => Difference::new(
            DifferenceKind::DmarcNoPolicy,
            "The record has no p, so it says nothing. Add p=none, p=quarantine or p=reject.",
        ),
        Some(policy) if DmarcPolicy::of_record(found).is_none() => {
            let policy = format!("p={}", shown(&policy));
            let text = format!(
                "The record says {policy}, which receivers do not know. It has to be none, quarantine or reject."
            );
            Difference::new(DifferenceKind::DmarcPolicy, text).with("found", policy)
        }
        Some(_) => other(),
    }
}

fn logo(found: &[String]) -> Difference {
    let [found] = found else { return several(found.len(), "BIMI", "mail programs then show no logo") };
    match tag(found, "l").filter(|url| !url.is_empty()) {
        Some(url) => {
            let url = shown(&url);
            let text = format!("The logo is at {url}, and has to be at an https:// address.");
            Difference::new(DifferenceKind::LogoAddress, text).with("found", url)
        }
        None => Difference::new(
            DifferenceKind::NoLogo,
            "The record does not say where the logo is. Add l= and its https:// address.",
        ),
    }
}
