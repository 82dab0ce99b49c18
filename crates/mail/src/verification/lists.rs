//! The lists of domains and local parts that addresses are compared with.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::domain_set::{DomainSet, ListError, suffixes};
use super::providers;

mailwright_core::names! {
    /// A list that others publish and that changes often.
    pub enum PublishedList {
        /// Domains of disposable addresses.
        Disposable = "disposable",
        /// Domains at which private persons get a mailbox.
        Personal = "personal",
    }
}

impl PublishedList {
    /// Where its newest state is published: a domain on each line, or a JSON array of them.
    pub fn url(self) -> &'static str {
        match self {
            Self::Disposable => {
                "https://raw.githubusercontent.com/disposable-email-domains/disposable-email-domains/main/\
                 disposable_email_blocklist.conf"
            }
            Self::Personal => {
                "https://raw.githubusercontent.com/Kikobeats/free-email-domains/master/domains.json"
            }
        }
    }

    /// Where the list that comes with the program is from, and of when.
    pub fn origin(self) -> String {
        let text = match self {
            Self::Disposable => DISPOSABLE,
            Self::Personal => PERSONAL,
        };
        let said = text.lines().map_while(|line| line.strip_prefix("# ")).collect::<Vec<_>>().join(" ");
        let said = said.split_once("Origin: ").map_or(said.as_str(), |(_, origin)| origin);
        said.split(" One domain on each line").next().unwrap_or(said).to_owned()
    }
}

const DISPOSABLE: &str = include_str!("data/disposable.txt");
const PERSONAL: &str = include_str!("data/personal.txt");
const ALIAS: &str = include_str!("data/alias.tsv");
const ROLE: &str = include_str!("data/role.txt");
/// Providers of paid mailboxes that the list of private persons' domains does not have.
const PAID: [&str; 2] = ["hey.com", "mailbox.org"];

/// The services of `alias.tsv`, by domain.
static ALIASES: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    ALIAS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('\t')).collect()
});

/// The domains of disposable addresses, of private persons and of services that hide addresses, and the local parts of
/// offices.
///
/// Those that come with the program are the default. The first two change often, so newer ones can be read from a text.
#[derive(Debug, Clone)]
pub struct Lists {
    disposable: DomainSet,
    personal: DomainSet,
    role: DomainSet,
}

impl Default for Lists {
    fn default() -> Self {
        Self {
            disposable: DomainSet::embedded(DISPOSABLE),
            personal: DomainSet::embedded(PERSONAL),
            role: DomainSet::embedded(ROLE),
        }
    }
}

impl Lists {
    /// These lists with other disposable domains: one on each line, as published lists have them. Domains of the large
    /// providers and of services that hide addresses are left out, whatever the text says, and so are public suffixes.
    pub fn with_disposable(self, text: &str) -> Result<Self, ListError> {
        let may_enter = |domain: &str| {
            providers::get(domain).is_none_or(|provider| provider.weight == 0)
                && !ALIASES.contains_key(domain)
        };
        Ok(Self { disposable: DomainSet::parse(text, may_enter)?, ..self })
    }

    /// These lists with other domains of private persons: one on each line. Those of services that hide addresses are left
    /// out, and so are public suffixes. The large providers need not be in the text.
    pub fn with_personal(self, text: &str) -> Result<Self, ListError> {
        Ok(Self { personal: DomainSet::parse(text, |domain| !ALIASES.contains_key(domain))?, ..self })
    }

    /// These lists with a newer state of one of them, as it is published. A text with less than half as many domains as the
    /// list that comes with the program is refused: most of it is missing.
    pub fn renewed(self, list: PublishedList, text: &str) -> Result<Self, ListError> {
        let shipped = Self::default();
        let lists = match list {
            PublishedList::Disposable => self.with_disposable(text)?,
            PublishedList::Personal => self.with_personal(text)?,
        };
        let (read, least) = (lists.of(list).len(), shipped.of(list).len() / 2);
        if read < least { Err(ListError::TooSmall { read, least }) } else { Ok(lists) }
    }

    /// The domains of a list.
    pub fn of(&self, list: PublishedList) -> &DomainSet {
        match list {
            PublishedList::Disposable => &self.disposable,
            PublishedList::Personal => &self.personal,
        }
    }

    /// The disposable domains.
    pub fn disposable(&self) -> &DomainSet {
        &self.disposable
    }

    /// The domains of private persons, without the large providers if they were read from a text.
    pub fn personal(&self) -> &DomainSet {
        &self.personal
    }

    /// The provider of mailboxes, or of addresses that hide others, that a domain belongs to, or is below: nobody else
    /// can publish anything there.
    pub fn provider_of<'a>(&'a self, domain: &'a str) -> Option<&'a str> {
        let is_provider = |name: &&str| PAID.contains(name) || ALIASES.contains_key(*name);
        self.personal_entry(domain).or_else(|| suffixes(domain).find(is_provider))
    }

    /// The entry of the disposable domains that a domain is under.
    pub(super) fn disposable_entry(&self, domain: &str) -> Option<&str> {
        self.disposable.find(domain)
    }

    /// The domain of private persons that a domain is under.
    pub(super) fn personal_entry<'a>(&'a self, domain: &'a str) -> Option<&'a str> {
        let is_large = |name: &&str| providers::get(name).is_some_and(|provider| provider.weight > 0);
        self.personal.find(domain).or_else(|| suffixes(domain).find(is_large))
    }

    /// The service that hides addresses behind a domain.
    pub(super) fn alias_service(domain: &str) -> Option<&'static str> {
        suffixes(domain).find_map(|name| ALIASES.get(name).copied())
    }

    /// Whether a local part, in lower case and without a tag, is that of an office or a program.
    pub(super) fn is_role(&self, local: &str) -> bool {
        self.role.get(local).is_some()
    }
}

#[cfg(test)]
mod tests {
    use mailwright_core::address::DomainName;

    use super::*;

    fn rows(text: &'static str) -> Vec<&'static str> {
        text.lines().filter(|line| !line.starts_with('#')).collect()
    }

    #[test]
    fn every_row_is_read_and_written_as_it_is_looked_up() {
        let lists = Lists::default();
        assert_eq!(lists.disposable().len(), rows(DISPOSABLE).len());
        assert_eq!(lists.personal().len(), rows(PERSONAL).len());
        assert_eq!(lists.role.len(), rows(ROLE).len());
        assert_eq!(ALIASES.len(), rows(ALIAS).len());
        for text in [DISPOSABLE, PERSONAL, ALIAS, ROLE] {
            assert!(rows(text).is_sorted());
            assert!(text.starts_with("# ") && text.contains("# Origin: "));
        }
        for domain in lists.disposable().iter().chain(lists.personal().iter()).chain(ALIASES.keys().copied())
        {
            assert_eq!(DomainName::parse(domain).unwrap().as_str(), domain);
            assert_ne!(psl::suffix_str(domain), Some(domain), "a public suffix");
        }
    }

    #[test]
    fn the_lists_do_not_contradict_each_other() {
        let lists = Lists::default();
        for domain in lists.personal().iter().chain(ALIASES.keys().copied()) {
            assert_eq!(lists.disposable_entry(domain), None, "{domain}");
        }
        for domain in lists.personal().iter() {
            assert_eq!(Lists::alias_service(domain), None, "{domain}");
        }
        for provider in providers::all().iter().filter(|provider| provider.weight > 0) {
            assert_eq!(lists.disposable_entry(provider.domain), None);
            assert!(lists.personal().find(provider.domain).is_some(), "{}", provider.domain);
        }
    }

    #[test]
    fn all_services_that_have_to_be_known_are() {
        for domain in [
            "privaterelay.appleid.com",
            "mozmail.com",
            "simplelogin.com",
            "simplelogin.fr",
            "simplelogin.co",
            "simplelogin.io",
            "aleeas.com",
            "slmail.me",
            "dralias.com",
            "8shield.net",
            "anonaddy.com",
            "anonaddy.me",
            "addy.io",
            "duck.com",
            "33mail.com",
            "33m.co",
            "passmail.com",
            "passmail.net",
            "passinbox.com",
            "passfwd.com",
            "y.yo.fr",
            "opayq.com",
            "cloak.id",
            "erine.email",
            "use.startmail.com",
        ] {
            assert!(Lists::alias_service(domain).is_some(), "{domain}");
            assert!(Lists::alias_service(&format!("ada.{domain}")).is_some(), "{domain}");
        }
        assert_eq!(Lists::alias_service("appleid.com"), None);
        assert_eq!(Lists::alias_service("startmail.com"), None);
    }

    #[test]
    fn domains_of_providers_are_known_whatever_they_give() {
        let lists = Lists::default();
        for provider in ["gmail.com", "posteo.de", "mailbox.org", "hey.com", "duck.com"] {
            let below = format!("news.{provider}");
            assert_eq!(lists.provider_of(&below), Some(provider));
        }
        assert_eq!(lists.provider_of("shop.example"), None);
    }

    #[test]
    fn newer_lists_take_the_place_of_the_old() {
        let lists = Lists::default().with_disposable("gmail.com\nduck.com\nnew.example\n").unwrap();
        assert_eq!(lists.disposable().iter().collect::<Vec<_>>(), ["new.example"]);
        assert_eq!(lists.disposable_entry("a.new.example"), Some("new.example"));
        assert_eq!(lists.disposable_entry("mailinator.com"), None);
        let lists = lists.with_personal("free.example\nduck.com\n").unwrap();
        assert_eq!(lists.personal_entry("free.example"), Some("free.example"));
        assert_eq!(lists.personal_entry("gmail.com"), Some("gmail.com"));
        assert_eq!(lists.personal_entry("duck.com"), None);
        assert!(lists.with_personal("<html>").is_err());
    }

    #[test]
    fn a_list_of_which_most_is_missing_is_refused() {
        for list in PublishedList::ALL {
            assert!(list.origin().contains("2026"), "{}", list.origin());
            let shipped = Lists::default().of(list).len();
            let line = |number: usize| format!("d{number}.example\n");
            let text = |count: usize| (0..count).map(line).collect::<Vec<_>>().concat();
            let refused = Lists::default().renewed(list, &text(shipped / 2 - 1)).unwrap_err();
            assert_eq!(refused, ListError::TooSmall { read: shipped / 2 - 1, least: shipped / 2 });
            let lists = Lists::default().renewed(list, &text(shipped / 2)).unwrap();
            assert!(lists.of(list).find("d1.example").is_some());
            let as_json: Vec<_> =
                Lists::default().of(list).iter().map(|one| format!("  \"{one}\"")).collect();
            let lists = Lists::default().renewed(list, &format!("[\n{}\n]\n", as_json.join(",\n"))).unwrap();
            assert_eq!(lists.of(list).len(), shipped);
            assert!(Lists::default().renewed(list, "<!doctype html><title>404</title>").is_err());
        }
    }

    #[test]
    fn the_lists_are_small() {
        let lists = Lists::default();
        let bytes = lists.disposable().bytes() + lists.personal().bytes() + lists.role.bytes();
        println!("{} and {} domains: {bytes} bytes", lists.disposable().len(), lists.personal().len());
        assert!(bytes < 512 * 1024);
    }
}
