//! Rules: patterns of addresses that get no mail, such as those of test recipients (reference, Suppressions).

use serde::Serialize;

use crate::address::{DomainName, EmailAddress, MAX_ADDRESS};
use crate::ids::SuppressionRuleId;
use crate::names::names_in_json;
use crate::time::Timestamp;

/// Most rules of a project.
pub const MAX_RULES: i64 = 100;
/// Most characters of a pattern, which is as long as an address can be.
pub const MAX_PATTERN: usize = MAX_ADDRESS;

names_in_json! {
    /// What a pattern is compared with.
    pub enum RuleKind {
        /// The whole address.
        Address = "ADDRESS",
        /// The domain.
        Domain = "DOMAIN",
        /// The beginning of the local part.
        Prefix = "PREFIX",
        /// The end of the local part.
        Suffix = "SUFFIX",
        /// The whole address, where `*` in the pattern is any text and `?` any character.
        Wildcard = "WILDCARD",
    }
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// Identifier.
    pub id: SuppressionRuleId,
    /// Name.
    pub name: String,
    /// What the pattern is compared with.
    pub kind: RuleKind,
    /// The pattern, in lower case.
    pub pattern: String,
    /// Whether it is applied.
    pub enabled: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Rule {
    /// Whether an address fits the pattern, whether the rule is applied or not.
    pub fn fits(&self, address: &EmailAddress) -> bool {
        let pattern = self.pattern.as_str();
        match self.kind {
            RuleKind::Address => address.as_str() == pattern,
            RuleKind::Domain => address.domain() == pattern,
            RuleKind::Prefix => address.local().starts_with(pattern),
            RuleKind::Suffix => address.local().ends_with(pattern),
            RuleKind::Wildcard => fits(pattern.as_bytes(), address.as_str().as_bytes()),
        }
    }
}

/// The pattern of a kind of rule as it is stored: trimmed, in lower case, an internationalised domain in ASCII. The error
/// says why no address could ever fit it.
pub fn pattern(kind: RuleKind, text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    let lower = text.to_lowercase();
    let is_local = |b: u8| b.is_ascii_alphanumeric() || b"_'+-.".contains(&b);
    match kind {
        RuleKind::Address => EmailAddress::parse(text)
            .map(|address| address.as_str().to_owned())
            .ok_or("Must be an email address, which is what a rule of the kind ADDRESS is compared with."),
        RuleKind::Domain => DomainName::parse(text)
            .map(|domain| domain.as_str().to_owned())
            .ok_or("Must be a domain, such as example.com."),
        RuleKind::Prefix | RuleKind::Suffix if lower.is_empty() || !lower.bytes().all(is_local) => Err(
            "Must be letters, digits and _ ' + - . only, which is what stands before the @ of an address.",
        ),
        RuleKind::Wildcard if lower.is_empty() => Err("Must not be blank."),
        RuleKind::Prefix | RuleKind::Suffix | RuleKind::Wildcard => Ok(lower),
    }
}

/// The rules of a project that are applied, in the order in which they were created.
#[derive(Debug, Clone, Default)]
pub struct Rules(Vec<Rule>);

impl Rules {
    /// Some rules in their order; those that are not applied are left out.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self(rules.into_iter().filter(|rule| rule.enabled).collect())
    }

    /// The first rule that an address fits.
    pub fn first(&self, address: &EmailAddress) -> Option<&Rule> {
        self.0.iter().find(|rule| rule.fits(address))
    }
}

/// Whether a whole text fits a pattern with `*` and `?`. Each run between two stars is looked for once, as far left as it
/// fits: what comes later only has more room then.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let mut runs = pattern.split(|byte| *byte == b'*');
    let first = runs.next().unwrap_or_default();
    let Some((begun, mut rest)) = text.split_at_checked(first.len()) else { return false };
    if !is_run(first, begun) {
        return false;
    }
    let Some(last) = runs.next_back() else { return rest.is_empty() };
    let Some((between, ended)) = rest.len().checked_sub(last.len()).map(|end| rest.split_at(end)) else {
        return false;
    };
    if !is_run(last, ended) {
        return false;
    }
    rest = between;
    for run in runs.filter(|run| !run.is_empty()) {
        let Some(at) = rest.windows(run.len()).position(|window| is_run(run, window)) else { return false };
        rest = rest.get(at + run.len()..).unwrap_or_default();
    }
    true
}

/// Whether a text is a run of characters, of which `?` is any. Both have the same length.
fn is_run(run: &[u8], text: &[u8]) -> bool {
    run.iter().zip(text).all(|(wanted, byte)| *wanted == b'?' || wanted == byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rule(kind: RuleKind, pattern: &str) -> Rule {
        Rule {
            id: SuppressionRuleId::first_of(Timestamp(1)),
            name: pattern.to_owned(),
            kind,
            pattern: super::pattern(kind, pattern).unwrap(),
            enabled: true,
            created_at: Timestamp(1),
            updated_at: Timestamp(1),
        }
    }

    /// The definition, by recursion.
    fn plain(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern, text) {
            ([], []) => true,
            ([b'*', pattern @ ..], _) => (0..=text.len()).any(|at| plain(pattern, &text[at..])),
            ([wanted, pattern @ ..], [byte, text @ ..]) => {
                (*wanted == b'?' || wanted == byte) && plain(pattern, text)
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn a_wildcard_fits_what_its_definition_says(pattern in "[ab*?]{0,8}", text in "[ab]{0,10}") {
            prop_assert_eq!(fits(pattern.as_bytes(), text.as_bytes()), plain(pattern.as_bytes(), text.as_bytes()));
        }

        #[test]
        fn arbitrary_patterns_do_no_harm(pattern: Vec<u8>, text: Vec<u8>) {
            fits(&pattern, &text);
        }
    }

    #[test]
    fn what_addresses_fit() {
        use RuleKind::{Address, Domain, Prefix, Suffix, Wildcard};
        for (kind, pattern, address, expected) in [
            (Address, " Ada@Example.com ", "ada@example.com", true),
            (Address, "ada@example.com", "ada@example.org", false),
            (Domain, "EXAMPLE.com", "ada@example.com", true),
            (Domain, "example.com", "ada@mail.example.com", false),
            (Domain, "bücher.example", "ada@xn--bcher-kva.example", true),
            (Prefix, "test", "testing@example.com", true),
            (Prefix, "test", "a.test@example.com", false),
            (Prefix, "test", "ada@test.example", false),
            (Suffix, "+test", "ada+test@example.com", true),
            (Suffix, "+test", "ada+tests@example.com", false),
            (Suffix, "com", "ada@example.com", false),
            (Wildcard, "*@example.com", "ada@example.com", true),
            (Wildcard, "a?a@*.com", "ada@example.com", true),
            (Wildcard, "a?a@*.com", "adda@example.com", false),
            (Wildcard, "*+qa*@*", "ada+qa7@example.com", true),
            (Wildcard, "ada@example.com", "ada@example.com", true),
            (Wildcard, "ada@example", "ada@example.com", false),
        ] {
            let fits = rule(kind, pattern).fits(&EmailAddress::parse(address).unwrap());
            assert_eq!(fits, expected, "{kind} {pattern} {address}");
        }
    }

    #[test]
    fn a_pattern_that_no_address_fits_is_refused() {
        use RuleKind::{Address, Domain, Prefix, Suffix, Wildcard};
        for (kind, bad) in [
            (Address, "example.com"),
            (Domain, "@example.com"),
            (Domain, "com"),
            (Prefix, "ada@"),
            (Prefix, " "),
            (Suffix, "a b"),
            (Wildcard, ""),
        ] {
            assert!(pattern(kind, bad).is_err(), "{kind} {bad}");
        }
    }

    #[test]
    fn the_first_rule_that_is_applied_counts() {
        let off = Rule { enabled: false, ..rule(RuleKind::Wildcard, "*") };
        let rules =
            Rules::new(vec![off, rule(RuleKind::Prefix, "ada"), rule(RuleKind::Domain, "example.com")]);
        let first =
            |address: &str| rules.first(&EmailAddress::parse(address).unwrap()).map(|rule| rule.name.clone());
        assert_eq!(first("ada@example.com").as_deref(), Some("ada"));
        assert_eq!(first("bob@example.com").as_deref(), Some("example.com"));
        assert_eq!(first("bob@example.org"), None);
    }
}
