//! Where the links of a mail lead, and what is wrong with that.

use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use mailwright_core::mail_check::LinkProblem;
use mailwright_mail::text::SeenLink;
use url::{Host, Url};

/// A link.
#[derive(Debug)]
pub struct CheckedLink {
    /// Its text.
    pub text: String,
    /// Where it leads in the end.
    pub target: String,
    /// Whether it leads there by way of the service, which counts who follows it.
    pub is_tracked: bool,
    /// What is wrong with it.
    pub problem: Option<LinkProblem>,
}

/// Services that shorten addresses.
static SHORTENERS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let lines = include_str!("shorteners.txt").lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
});

/// Links with what is wrong with them. `targets` are where those lead that are tracked.
pub(super) fn checked(links: Vec<SeenLink>, targets: Vec<Option<String>>) -> Vec<CheckedLink> {
    let checked = links.into_iter().zip(targets).map(|(link, target)| {
        let is_tracked = target.is_some();
        let target = target.unwrap_or(link.target);
        CheckedLink { text: link.text, problem: problem(&target), target, is_tracked }
    });
    checked.collect()
}

/// What is wrong with the target of a link.
fn problem(target: &str) -> Option<LinkProblem> {
    let target = target.trim();
    if target.is_empty() || target == "#" {
        return Some(LinkProblem::Empty);
    }
    if target.starts_with('#') {
        // a place in the mail
        return None;
    }
    let Ok(url) = Url::parse(target) else { return Some(LinkProblem::NoHost) };
    match url.scheme() {
        "http" | "https" => {}
        "mailto" | "tel" | "sms" => return url.path().is_empty().then_some(LinkProblem::Empty),
        _ => return Some(LinkProblem::Blocked),
    }
    match url.host() {
        None => Some(LinkProblem::NoHost),
        Some(host) if is_near(&host) => Some(LinkProblem::Localhost),
        Some(_) => (url.scheme() == "http").then_some(LinkProblem::NotHttps),
    }
}

/// Whether a host is the reader's own machine, or in the reader's own network.
fn is_near(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        Host::Ipv4(address) => is_near_v4(*address),
        Host::Ipv6(address) => {
            *address == Ipv6Addr::LOCALHOST
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.to_ipv4_mapped().is_some_and(is_near_v4)
        }
    }
}

fn is_near_v4(address: Ipv4Addr) -> bool {
    address.is_loopback() || address.is_unspecified() || address.is_private() || address.is_link_local()
}

/// Whether the text of a link is a web address of another host than the one it leads to.
pub(super) fn is_misleading(link: &SeenLink) -> bool {
    let (Some(said), Some(leads)) = (web(&link.text), web(&link.target)) else { return false };
    bare(&said) != bare(&leads)
}

/// Whether a link hides where it leads, behind a service that shortens addresses.
pub(super) fn is_short(target: &str) -> bool {
    web(target).and_then(|url| bare(&url)).is_some_and(|host| SHORTENERS.contains(host.as_str()))
}

fn web(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

fn bare(url: &Url) -> Option<String> {
    url.host_str().map(|host| host.trim_start_matches("www.").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_of_a_link_is_judged() {
        for (target, expected) in [
            ("https://acme.test/a?b=c", None),
            ("mailto:a@acme.test", None),
            ("tel:+491234", None),
            ("#top", None),
            ("", Some(LinkProblem::Empty)),
            ("#", Some(LinkProblem::Empty)),
            ("mailto:", Some(LinkProblem::Empty)),
            ("http://acme.test", Some(LinkProblem::NotHttps)),
            ("https://", Some(LinkProblem::NoHost)),
            ("/about", Some(LinkProblem::NoHost)),
            ("//acme.test/a", Some(LinkProblem::NoHost)),
            ("www.acme.test", Some(LinkProblem::NoHost)),
            ("https://localhost:3000/a", Some(LinkProblem::Localhost)),
            ("https://app.localhost", Some(LinkProblem::Localhost)),
            ("http://127.0.0.1", Some(LinkProblem::Localhost)),
            ("http://192.168.1.7/", Some(LinkProblem::Localhost)),
            ("http://[::1]/", Some(LinkProblem::Localhost)),
            ("http://[fd00::1]/", Some(LinkProblem::Localhost)),
            ("https://localhost.acme.test", None),
            ("javascript:alert(1)", Some(LinkProblem::Blocked)),
            ("data:text/html,x", Some(LinkProblem::Blocked)),
        ] {
            assert_eq!(problem(target), expected, "{target}");
        }
    }

    #[test]
    fn services_that_shorten_addresses_are_known() {
        for (target, expected) in [
            ("https://bit.ly/3abc", true),
            ("http://WWW.TinyURL.com/x", true),
            ("https://bit.ly.acme.test/", false),
            ("https://acme.test/bit.ly", false),
            ("mailto:a@bit.ly", false),
        ] {
            assert_eq!(is_short(target), expected, "{target}");
        }
        let lines = include_str!("shorteners.txt").lines().filter(|line| !line.starts_with('#'));
        assert!(lines.is_sorted(), "the list is in the order of the alphabet");
    }
}
