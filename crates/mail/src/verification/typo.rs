//! Domains that were probably mistyped.
//!
//! Nobody can know that from DNS: `gmial.com` has an owner and mail servers. So a domain is compared with those that most
//! people have their mailbox at, and a mistake is assumed when a few slips of the hand lead from one to the other; how
//! many depends on the length of the name, since many real names are near to short ones. A domain of the table of
//! providers is never a mistake.

use super::distance::{First, distance};
use super::domain_set::is_public_suffix;
use super::providers::{self, Provider};

/// A suffix so near to the one that was meant is a slip of the hand.
const NEAR_SUFFIX: u32 = 10;
/// How much a wrong suffix adds, and how much one that is near to the right one.
const OTHER_SUFFIX_COST: u32 = 4;
const NEAR_SUFFIX_COST: u32 = 2;
/// Names differ by so many letters at most.
const MAX_LETTERS: usize = 2;

/// The costs that mistakes in a name of this length may have together.
fn budget(length: usize) -> u32 {
    match length {
        0..=3 => 0,
        4 => 6,
        5 => 9,
        6 => 12,
        7..=8 => 14,
        _ => 16,
    }
}

/// The domain that was probably meant, if it is another one. The domain is in lower case and A-labels.
pub(super) fn meant(domain: &str) -> Option<&'static str> {
    if providers::get(domain).is_some() {
        return None;
    }
    let (name, suffix) = domain.split_once('.')?;
    let suffix = Suffix::of(suffix);
    let near = providers::all().iter().filter(|provider| provider.weight > 0);
    let costs = near.filter_map(|provider| Some((cost(name, &suffix, provider)?, provider)));
    // of those equally near the one with the most mailboxes
    costs
        .min_by_key(|(cost, provider)| (*cost, u16::MAX - provider.weight))
        .map(|(_, provider)| provider.domain)
}

/// What follows the first dot of a domain.
struct Suffix<'a> {
    text: &'a str,
    /// Whether everybody may register names below it.
    is_public: bool,
    /// Whether its last label is no top-level domain.
    is_unknown: bool,
}

impl<'a> Suffix<'a> {
    fn of(text: &'a str) -> Self {
        let known = psl::suffix(text.as_bytes()).is_some_and(|suffix| suffix.is_known());
        let is_icann =
            || psl::suffix(text.as_bytes()).and_then(|suffix| suffix.typ()) == Some(psl::Type::Icann);
        Self { text, is_public: known && is_public_suffix(text) && is_icann(), is_unknown: !known }
    }

    /// What it costs to type this suffix for that of the provider.
    fn cost(&self, provider: &Provider) -> Option<u32> {
        if self.text == provider.suffix {
            return Some(0);
        }
        let is_near = || distance(self.text, provider.suffix, First::Equal) <= NEAR_SUFFIX;
        match (self.is_unknown, self.is_public && provider.is_own_everywhere) {
            (true, _) => is_near().then_some(NEAR_SUFFIX_COST),
            (false, true) => Some(if is_near() { NEAR_SUFFIX_COST } else { OTHER_SUFFIX_COST }),
            (false, false) => None,
        }
    }
}

/// What it costs to type this for the domain of the provider, if that was probably done.
fn cost(name: &str, suffix: &Suffix<'_>, provider: &Provider) -> Option<u32> {
    if name.len().abs_diff(provider.name.len()) > MAX_LETTERS {
        return None;
    }
    let of_suffix = suffix.cost(provider)?;
    let of_name = distance(name, provider.name, First::Weighs);
    match (of_name, of_suffix) {
        (0, 0) => None,
        (0, _) => Some(of_suffix),
        _ => of_name.checked_add(of_suffix).filter(|&both| both <= budget(provider.name.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::lists::Lists;
    use super::*;

    /// Domains with mailboxes, near to each other, to the large providers, or both.
    const REAL: &str = include_str!("data/tests/real.txt");

    #[test]
    fn slips_of_the_hand_are_seen() {
        for (typed, right) in [
            ("gmail.con", "gmail.com"),
            ("gmail.co", "gmail.com"),
            ("gmail.cm", "gmail.com"),
            ("gmail.vom", "gmail.com"),
            ("gmail.comm", "gmail.com"),
            ("gmail.fr", "gmail.com"),
            ("gmail.co.uk", "gmail.com"),
            ("gmial.com", "gmail.com"),
            ("gmial.con", "gmail.com"),
            ("gamil.com", "gmail.com"),
            ("gnail.com", "gmail.com"),
            ("gmai.com", "gmail.com"),
            ("gmaill.com", "gmail.com"),
            ("hotnail.com", "hotmail.com"),
            ("hotmial.com", "hotmail.com"),
            ("hotmal.com", "hotmail.com"),
            ("otmail.com", "hotmail.com"),
            ("hotmail.co.ik", "hotmail.co.uk"),
            ("yaho.com", "yahoo.com"),
            ("yahooo.com", "yahoo.com"),
            ("yhaoo.com", "yahoo.com"),
            ("yahoo.co.u", "yahoo.co.uk"),
            ("outlok.com", "outlook.com"),
            ("outloo.com", "outlook.com"),
            ("icould.com", "icloud.com"),
            ("iclould.com", "icloud.com"),
            ("gmx.ed", "gmx.de"),
            ("web.dee", "web.de"),
            ("aol.co", "aol.com"),
            ("msn.con", "msn.com"),
            ("comcast.ner", "comcast.net"),
            ("protonmial.com", "protonmail.com"),
            ("tonline.de", "t-online.de"),
            ("orang.fr", "orange.fr"),
            ("wanado.fr", "wanadoo.fr"),
            ("libero.ti", "libero.it"),
            ("mail.tu", "mail.ru"),
        ] {
            assert_eq!(meant(typed), Some(right), "{typed}");
        }
    }

    #[test]
    fn no_real_domain_is_taken_for_a_mistake() {
        let real: Vec<&str> = REAL.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(real.len() >= 300, "{}", real.len());
        for domain in real {
            assert_eq!(meant(domain), None, "{domain}");
        }
    }

    #[test]
    fn no_domain_of_private_persons_is_taken_for_a_mistake() {
        for domain in Lists::default().personal().iter() {
            assert_eq!(meant(domain), None, "{domain}");
        }
    }

    #[test]
    fn names_of_others_are_left_alone() {
        for domain in [
            "gmail.example.com",
            "outlook.office365.com",
            "mail.gmail.com",
            "gmail.corp",
            "gmail.github.io",
            "bmail.com",
            "hmail.com",
            "gmc.com",
            "aop.com",
            "nail.com",
            "lime.com",
            "we.com",
            "acme.con",
            "xn--gmil-1na.com",
            "com",
            "",
            ".",
        ] {
            assert_eq!(meant(domain), None, "{domain}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken(text in ".{0,60}") {
            meant(&text);
        }
    }
}
