//! From what is known of an address to the flags and the sentences.

use super::facts::{Facts, Known, Mail};
use super::lists::Lists;
use super::result::{LOOKS_VALID, Verification};
use super::syntax::Parts;

/// What is known of a domain, for all its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Domain {
    pub(super) facts: Facts,
    /// The domain that was probably meant.
    pub(super) meant: Option<&'static str>,
}

/// An address that is none.
pub(super) fn malformed(given: &str, why: &str) -> Verification {
    let mut found = Verification::new(given);
    found.valid = false;
    found.reasons.push(format!("The address is malformed: {why}."));
    found
}

/// The flags and reasons of an address.
pub(super) fn judge(given: &str, parts: &Parts<'_>, domain: &Domain, lists: &Lists) -> Verification {
    let mut found = Verification::new(given);
    add_typo(&mut found, parts, domain.meant);
    add_faults(&mut found, parts.domain.as_str(), &domain.facts);
    add_lists(&mut found, parts, lists);
    add_evidence(&mut found, parts.domain.as_str(), &domain.facts);
    if found.reasons.is_empty() {
        found.reasons.push(LOOKS_VALID.to_owned());
    }
    found
}

fn add_typo(found: &mut Verification, parts: &Parts<'_>, meant: Option<&str>) {
    let Some(meant) = meant else { return };
    let suggested = format!("{}@{meant}", parts.local);
    found.is_typo = true;
    found.reasons.push(format!("The domain {} may be a typing mistake for {meant}.", parts.domain));
    found.did_you_mean = Some(suggested.clone());
    found.suggested_email = Some(suggested);
}

/// What makes an address invalid.
fn add_faults(found: &mut Verification, name: &str, facts: &Facts) {
    found.domain_exists = facts.exists == Known::Yes;
    found.has_website = facts.has_address == Known::Yes;
    found.has_mx_records = facts.has_mx == Known::Yes;
    if facts.exists == Known::No {
        found.valid = false;
        found.reasons.push(match &facts.parent {
            Some(parent) => format!("The domain {name} does not exist, although {parent} does."),
            None => format!("The domain {name} does not exist."),
        });
    } else if matches!(facts.mail, Mail::Refused | Mail::Nowhere) {
        found.valid = false;
        found.reasons.push(format!("The domain {name} cannot receive mail."));
    }
}

/// What the lists say.
fn add_lists(found: &mut Verification, parts: &Parts<'_>, lists: &Lists) {
    let name = parts.domain.as_str();
    if let Some(entry) = lists.disposable_entry(name) {
        found.is_disposable = true;
        found.reasons.push(format!("The list of disposable domains has {entry}."));
    }
    if let Some(service) = Lists::alias_service(name) {
        found.is_alias = true;
        found.reasons.push(format!("{service} forwards the mail of {name} and hides the real address."));
    }
    if let Some(entry) = lists.personal_entry(name) {
        found.is_personal_email = true;
        found.reasons.push(format!("Private persons have their mailboxes at {entry}."));
    }
    let base = parts.base();
    if lists.is_role(&base) {
        found.is_role_address = true;
        found.reasons.push(format!("The name {base} is that of an office or a program and not of a person."));
    }
    if parts.is_plus_addressed() {
        found.is_plus_addressed = true;
        found.reasons.push("The part before the @ has a tag after a plus.".to_owned());
    }
}

/// What DNS says besides.
fn add_evidence(found: &mut Verification, name: &str, facts: &Facts) {
    match facts.mail {
        Mail::Refused => found.reasons.push(format!("A null MX record says that {name} takes no mail.")),
        Mail::Nowhere if facts.exists != Known::No => {
            found.reasons.push(format!("The domain {name} has neither mail servers nor an address."));
        }
        Mail::OwnAddress => {
            found
                .reasons
                .push(format!("The domain {name} has no MX record, so its mail goes to its own address."));
        }
        _ => {}
    }
    if let Some(parked) = &facts.parked {
        found.is_parked = true;
        found
            .reasons
            .push(format!("The domain {name} is parked: {} belongs to {}.", parked.by, parked.owner));
    }
    let unknown = unknown(facts);
    if !unknown.is_empty() {
        found
            .reasons
            .push(format!("The name server gave no usable answer about {name}, so {unknown} is unknown."));
    }
}

/// What could not be found out, as a part of a sentence.
fn unknown(facts: &Facts) -> String {
    let open = [
        (facts.exists == Known::Unknown, "whether it exists"),
        (facts.mail == Mail::Unknown && facts.exists != Known::No, "whether it receives mail"),
        (facts.has_address == Known::Unknown && facts.exists != Known::No, "whether it has a website"),
    ];
    let open: Vec<&str> = open.into_iter().filter_map(|(is_open, what)| is_open.then_some(what)).collect();
    match open.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
