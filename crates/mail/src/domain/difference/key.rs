//! What is different about the record of a DKIM key (RFC 6376 section 3.6.1).

use super::wording::{OTHER, is_wrapping, several, shown, wrapped};
use crate::domain::values::{same_key, serves_for_mail, tag};

/// Most characters of one string of a TXT record (RFC 1035 section 3.3), after which DNS services cut a longer value.
const STRING: usize = 255;

/// Says what is different about the records at the name of a key.
pub(super) fn difference(found: &[String], expected: &str) -> String {
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
        return "The record says that the key was withdrawn, because nothing follows p=. Write the value that is given here."
            .to_owned();
    }
    if their_kind != our_kind {
        return format!(
            "The record has a key of the kind {}, and this one is of the kind {our_kind}: it is the value of another record.",
            shown(&their_kind)
        );
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
fn unusable(found: &str, expected: &str) -> String {
    if !same_key(found, expected) {
        return "The key is right, and the record does not begin with v=DKIM1, so receivers do not read it. Write the value \
                that is given here."
            .to_owned();
    }
    let limit = ["h", "s"].into_iter().find_map(|name| {
        let list = tag(found, name)?;
        let is_usable = serves_for_mail(&format!("{expected}; {name}={list}"), expected);
        (!is_usable).then(|| (name, shown(&list)))
    });
    match limit {
        Some(("h", list)) => {
            format!(
                "The key is right, and h={list} does not allow signatures with SHA-256. Leave h={list} out."
            )
        }
        Some((name, list)) => {
            format!(
                "The key is right, and {name}={list} says that it is not for mail. Leave {name}={list} out."
            )
        }
        None => OTHER.to_owned(),
    }
}

/// How a key differs from ours.
fn another(found: &str, theirs: &str, ours: &str) -> String {
    if ours.starts_with(theirs) {
        let end = if found.len() == STRING {
            format!(
                "The value was cut after {STRING} characters, which is as much as one string of a TXT record holds."
            )
        } else {
            format!("The key ends after {} of {} characters.", theirs.len(), ours.len())
        };
        return format!(
            "{end} Write all of it: where the DNS service does not divide long values itself, in pieces of at most {STRING} \
             characters, each in quotation marks."
        );
    }
    if theirs.starts_with(ours) {
        let more = theirs.len() - ours.len();
        return format!(
            "The key is followed by {more} more characters. Write the value that is given here, and nothing after it."
        );
    }
    if theirs.eq_ignore_ascii_case(ours) {
        return "The key has other small and capital letters, which matter. Copy the value again as it is."
            .to_owned();
    }
    let same = theirs.chars().zip(ours.chars()).take_while(|(a, b)| a == b).count();
    format!(
        "The record has another key, which differs from character {} of the key on. It may be that of a former record, or of \
         another domain. Write the value that is given here.",
        same + 1
    )
}
