//! What is different about the record of a DKIM key (RFC 6376 section 3.6.1).

use mailwright_core::domain::DifferenceKind;

use super::kind::Difference;
use super::wording::{is_wrapping, other, several, shown, wrapped};
use crate::domain::values::{same_key, serves_for_mail, tag};

/// Most characters of one string of a TXT record (RFC 1035 section 3.3), after which DNS services cut a longer value.
const STRING: usize = 255;

/// Says what is different about the records at the name of a key.
pub(super) fn difference(found: &[String], expected: &str) -> Difference {
    let [found] = found else {
        return several(
            found.len(),
            "key",
            "receivers then take any of them, or none (RFC 6376 section 3.6.2.2)",
        );
    };
    let without: String = found.chars().filter(|c| !is_wrapping(*c)).collect();
    if without != *found && same_key(&without, expected) {
        return wrapped();
    }
    let theirs = tag(found, "p").unwrap_or_default();
    let ours = tag(expected, "p").unwrap_or_default();
    let (their_kind, our_kind) = (kind(found), kind(expected));
    if theirs.is_empty() {
        return Difference::new(
            DifferenceKind::KeyWithdrawn,
            "The record says that the key was withdrawn, because nothing follows p=. Write the value that is given here.",
        );
    }
    if their_kind != our_kind {
        let theirs = shown(&their_kind);
        let text = format!(
            "The record has a key of the kind {theirs}, and this one is of the kind {our_kind}: it is the value of another \
             record."
        );
        return Difference::new(DifferenceKind::KeyKind, text).with("found", theirs).with("wanted", our_kind);
    }
    if theirs == ours {
        return unusable(found, expected);
    }
    another(found, &theirs, &ours)
}

fn kind(record: &str) -> String {
    tag(record, "k").unwrap_or_else(|| "rsa".to_owned()).to_ascii_lowercase()
}

/// Why a record with the right key does not serve.
fn unusable(found: &str, expected: &str) -> Difference {
    if !same_key(found, expected) {
        return Difference::new(
            DifferenceKind::KeyVersion,
            "The key is right, and the record does not begin with v=DKIM1, so receivers do not read it. Write the value that \
             is given here.",
        );
    }
    let limit = ["h", "s"].into_iter().find_map(|name| {
        let list = tag(found, name)?;
        let is_usable = serves_for_mail(&format!("{expected}; {name}={list}"), expected);
        (!is_usable).then(|| (name, format!("{name}={}", shown(&list))))
    });
    match limit {
        Some(("h", list)) => {
            let text = format!(
                "The key is right, and {list} does not allow signatures with SHA-256. Leave {list} out."
            );
            Difference::new(DifferenceKind::KeyHash, text).with("found", list)
        }
        Some((_, list)) => {
            let text =
                format!("The key is right, and {list} says that it is not for mail. Leave {list} out.");
            Difference::new(DifferenceKind::KeyService, text).with("found", list)
        }
        None => other(),
    }
}

/// How a key differs from ours.
fn another(found: &str, theirs: &str, ours: &str) -> Difference {
    if ours.starts_with(theirs) {
        return cut(found, theirs.len(), ours.len());
    }
    if theirs.starts_with(ours) {
        let more = theirs.len() - ours.len();
        let text = format!(
            "The key is followed by {more} more characters. Write the value that is given here, and nothing after it."
        );
        return Difference::new(DifferenceKind::KeyLonger, text).with("characters", more.to_string());
    }
    if theirs.eq_ignore_ascii_case(ours) {
        return Difference::new(
            DifferenceKind::KeyCase,
            "The key has other small and capital letters, which matter. Copy the value again as it is.",
        );
    }
    let position = theirs.chars().zip(ours.chars()).take_while(|(a, b)| a == b).count() + 1;
    let text = format!(
        "The record has another key, which differs from character {position} of the key on. It may be that of a former record, \
         or of another domain. Write the value that is given here."
    );
    Difference::new(DifferenceKind::KeyOther, text).with("position", position.to_string())
}

/// What is said of a key that has so many characters instead of those of ours.
fn cut(found: &str, theirs: usize, ours: usize) -> Difference {
    let is_cut = found.len() == STRING;
    let end = if is_cut {
        format!(
            "The value was cut after {STRING} characters, which is as much as one string of a TXT record holds."
        )
    } else {
        format!("The key ends after {theirs} of {ours} characters.")
    };
    let text = format!(
        "{end} Write all of it: where the DNS service does not divide long values itself, in pieces of at most {STRING} \
         characters, each in quotation marks."
    );
    if is_cut {
        return Difference::new(DifferenceKind::KeyCut, text).with("characters", STRING.to_string());
    }
    let told = Difference::new(DifferenceKind::KeyIncomplete, text).with("characters", theirs.to_string());
    told.with("wanted", ours.to_string())
}
