//! The domains that most people have their mailbox at.

use std::collections::HashMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("data/providers.tsv");

/// A domain with many mailboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Provider {
    pub(super) domain: &'static str,
    /// What stands before the first dot, and what follows it.
    pub(super) name: &'static str,
    pub(super) suffix: &'static str,
    /// How many mailboxes it has in proportion to others; 0 for a domain that nobody is pointed to.
    pub(super) weight: u16,
    /// Whether the name is the provider's own under every suffix.
    pub(super) is_own_everywhere: bool,
}

/// The table, and where each domain is in it.
struct Providers {
    list: Vec<Provider>,
    index: HashMap<&'static str, usize>,
}

static PROVIDERS: LazyLock<Providers> = LazyLock::new(|| {
    let list: Vec<Provider> = TABLE.lines().filter_map(row).collect();
    let index = list.iter().enumerate().map(|(at, provider)| (provider.domain, at)).collect();
    Providers { list, index }
});

fn row(line: &'static str) -> Option<Provider> {
    let mut columns = line.split('\t');
    let (domain, weight, kind) = (columns.next()?, columns.next()?, columns.next()?);
    let (name, suffix) = domain.split_once('.')?;
    Some(Provider { domain, name, suffix, weight: weight.parse().ok()?, is_own_everywhere: kind == "any" })
}

/// All of them.
pub(super) fn all() -> &'static [Provider] {
    &PROVIDERS.list
}

/// The provider with exactly this domain.
pub(super) fn get(domain: &str) -> Option<&'static Provider> {
    PROVIDERS.index.get(domain).and_then(|&at| PROVIDERS.list.get(at))
}

#[cfg(test)]
mod tests {
    use mailwright_core::address::DomainName;

    use super::*;

    #[test]
    fn every_row_is_read() {
        let rows: Vec<&str> = TABLE.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(all().len(), rows.len());
        assert!(rows.is_sorted_by_key(|row| row.split('\t').next()));
        for (provider, row) in all().iter().zip(&rows) {
            assert!(row.ends_with("\tany") || row.ends_with("\town"), "{row}");
            assert_eq!(DomainName::parse(provider.domain).unwrap().as_str(), provider.domain);
            assert_eq!(get(provider.domain), Some(provider));
        }
        assert!(all().iter().filter(|provider| provider.weight > 0).count() > 150);
    }
}
