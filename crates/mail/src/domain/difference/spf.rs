//! What is different about an SPF record (RFC 7208), and which one to write instead.

use mailwright_core::domain::DifferenceKind;

use super::kind::Difference;
use super::wording::{other, several};
use crate::domain::values::{allows, is_all};

/// Most terms of a record that receivers look up (RFC 7208 section 4.6.4).
const MOST_LOOK_UPS: usize = 10;
/// The terms that they look up.
const LOOKED_UP: [&str; 6] = ["include", "a", "mx", "ptr", "exists", "redirect"];

/// Says what is different about the SPF records of a domain.
pub(super) fn difference(found: &[String], expected: &str) -> Difference {
    let mechanisms = mechanisms(expected);
    let [found] = found else {
        let several = several(found.len(), "SPF", "receivers then heed none of them (RFC 7208 section 4.5)");
        let text = format!("{} It has to contain {mechanisms}, and what the others contain.", several.text);
        return Difference { text, ..several }.with("mechanisms", mechanisms);
    };
    let wanted: Vec<&str> = mechanisms.split_whitespace().collect();
    let missing = wanted.iter().copied().find(|term| !allows(found, term));
    let Some(missing) = missing else { return other() };
    let fixed = with(found, &wanted);
    let there = found.split_whitespace().find(|term| is_same(term, missing));
    let (kind, why) = match there {
        Some(term) if lets_pass(term) => (
            DifferenceKind::SpfBehindAll,
            format!("{missing} stands behind all, and receivers look at nothing behind that."),
        ),
        Some(term) => (
            DifferenceKind::SpfRefuses,
            format!("{term} does not let the mail pass. It has to be {missing}."),
        ),
        None => (DifferenceKind::SpfLacks, format!("The record does not contain {missing}.")),
    };
    let look_ups = fixed.split_whitespace().filter(|term| is_looked_up(term)).count();
    let is_over = look_ups > MOST_LOOK_UPS;
    let limit = if is_over {
        format!(
            " It has {look_ups} terms that receivers look up, and they refuse more than {MOST_LOOK_UPS} (RFC 7208 section \
             4.6.4): take some out that nobody needs."
        )
    } else {
        String::new()
    };
    let mut told =
        Difference::new(kind, format!("{why} Write instead: {fixed}{limit}")).with("wanted", missing);
    if let (DifferenceKind::SpfRefuses, Some(term)) = (kind, there) {
        told = told.with("found", term);
    }
    told = told.with("instead", fixed);
    if is_over { told.with("lookUps", look_ups.to_string()) } else { told }
}

/// What a record should contain, of one that contains nothing else.
fn mechanisms(expected: &str) -> String {
    let terms = expected.split_whitespace().skip(1).filter(|term| !is_all(term));
    terms.collect::<Vec<_>>().join(" ")
}

/// A record with some mechanisms before the term that ends it.
fn with(record: &str, wanted: &[&str]) -> String {
    let is_wanted = |term: &&str| wanted.iter().any(|wanted| is_same(term, wanted));
    let terms: Vec<&str> = record.split_whitespace().skip(1).filter(|term| !is_wanted(term)).collect();
    let ends = |term: &&str| is_all(term) || name(term) == "redirect";
    let end = terms.iter().position(ends).unwrap_or(terms.len());
    let (before, after) = terms.split_at(end);
    format!("v=spf1 {}", [before, wanted, after].concat().join(" "))
}

/// Whether two terms are the same but for their qualifiers.
fn is_same(term: &str, other: &str) -> bool {
    unqualified(term).eq_ignore_ascii_case(unqualified(other))
}

fn lets_pass(term: &str) -> bool {
    !term.starts_with(['-', '~', '?'])
}

fn is_looked_up(term: &str) -> bool {
    LOOKED_UP.contains(&name(term).as_str())
}

/// The name of a mechanism or modifier.
fn name(term: &str) -> String {
    unqualified(term).split([':', '/', '=']).next().unwrap_or_default().to_ascii_lowercase()
}

fn unqualified(term: &str) -> &str {
    term.trim_start_matches(['+', '-', '~', '?'])
}
