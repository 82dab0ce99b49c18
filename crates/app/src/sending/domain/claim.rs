//! Which domains a project may add at all. Whether it controls one is proved by its DNS afterwards.

use mailwright_core::address::DomainName;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::issue::Issue;
use mailwright_core::time::Timestamp;
use mailwright_mail::domain::lookalike::{Likeness, is_public_suffix, is_shared_suffix};
use mailwright_store::body;
use mailwright_store::sending::domain_claim;

use crate::App;
use crate::error::{Error, Result};

/// Most domains of disabled projects that a new one is compared with: those of the projects that were disabled last.
const COMPARED: i64 = 10_000;
/// Most names that the operator lets projects add.
const MOST_ALLOWED: i64 = 10_000;

/// What a name is that is nobody's own.
enum Commons {
    /// Everybody registers names below it.
    PublicSuffix,
    /// It is that of a provider of mailboxes, which this is, or below it.
    Mailboxes(String),
}

impl App {
    /// Refuses a domain that nobody can send from, and one that is near a domain of a disabled project. Why is not told
    /// then: who was disabled would only choose better. What the operator allows is not refused.
    pub(super) async fn check_claim(&self, project: ProjectNumber, name: &DomainName) -> Result<()> {
        let names = with_those_above(name);
        if self.read(body!(async |rx| domain_claim::is_any_allowed(rx, &names).await)).await? {
            return Ok(());
        }
        match self.commons(name) {
            Some(Commons::PublicSuffix) => {
                let why = format!("Everybody can register names below {name}. Add your own domain.");
                return Err(refused("public_suffix", why));
            }
            Some(Commons::Mailboxes(provider)) => {
                let why = format!(
                    "{provider} is a provider of mailboxes, in whose DNS you cannot publish records. Add a domain of your own. If this one is \
                     yours, ask the operator of this instance to allow it."
                );
                return Err(refused("mailbox_provider", why));
            }
            None => {}
        }
        let disabled =
            self.read_slow(project, body!(async |rx| domain_claim::of_disabled_projects(rx, COMPARED).await));
        let wanted = Likeness::of(name);
        let is_near = |other: &DomainName| is_within(name, other) || wanted.looks_like(&Likeness::of(other));
        let Some(near) = disabled.await?.iter().filter_map(|other| DomainName::parse(other)).find(is_near)
        else {
            return Ok(());
        };
        tracing::warn!(project = project.0, domain = %name, %near, "a domain was refused that is near one of a disabled project");
        Err(Error::DomainRefused)
    }

    fn commons(&self, name: &DomainName) -> Option<Commons> {
        if is_public_suffix(name) {
            return Some(Commons::PublicSuffix);
        }
        self.mailbox_provider(name.as_str()).map(Commons::Mailboxes)
    }

    /// Why a name is not one that somebody should be let to add, in words for the operator.
    pub fn why_nobodys_own(&self, name: &DomainName) -> Option<String> {
        match self.commons(name) {
            Some(Commons::PublicSuffix) => Some(format!("everybody can register names below {name}")),
            Some(Commons::Mailboxes(provider)) => Some(format!("{provider} is a provider of mailboxes")),
            None => is_shared_suffix(name).then(|| format!("the names below {name} are those of others")),
        }
    }

    /// Lets projects add a name, and those below it, whatever it looks like. False where they may already.
    pub async fn allow_domain(&self, name: DomainName) -> Result<bool> {
        let now = self.0.clock.now();
        self.write(body!(async |tx| {
            let is_new = domain_claim::allow(tx, &name, now).await?;
            if is_new && domain_claim::count_allowed(tx).await? > MOST_ALLOWED {
                return Err(Error::BadRequest(format!(
                    "{MOST_ALLOWED} domains can be allowed. Take one back before you allow another."
                )));
            }
            Ok(is_new)
        }))
        .await
    }

    /// Takes that back; domains that were added stay. False where the name was not allowed.
    pub async fn disallow_domain(&self, name: DomainName) -> Result<bool> {
        self.write(body!(async |tx| Ok(domain_claim::disallow(tx, &name).await?))).await
    }

    /// The names that projects may add whatever they look like, in their order, each with when it was allowed.
    pub async fn allowed_domains(&self) -> Result<Vec<(String, Timestamp)>> {
        self.read(body!(async |rx| domain_claim::allowed(rx, MOST_ALLOWED).await)).await
    }
}

/// A name and those above it that somebody owns with what is below. One below which others have their names stands for
/// itself alone.
fn with_those_above(name: &DomainName) -> Vec<String> {
    let mut names = vec![name.to_string()];
    let mut rest = name.as_str();
    while let Some((_, above)) = rest.split_once('.') {
        match DomainName::parse(above) {
            Some(above) if !is_shared_suffix(&above) => names.push(above.to_string()),
            _ => break,
        }
        rest = above;
    }
    names
}

/// Whether a name is another one or below it. Who owns a name below need not own what is above or beside it.
fn is_within(name: &DomainName, other: &DomainName) -> bool {
    let above = name.as_str().strip_suffix(other.as_str());
    above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
}

fn refused(code: &'static str, why: String) -> Error {
    Error::Invalid(vec![Issue::new("domain", code, why)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_above_are_those_that_somebody_owns() {
        let above = |name: &str| with_those_above(&DomainName::parse(name).unwrap());
        assert_eq!(above("a.shop.co.uk"), ["a.shop.co.uk", "shop.co.uk"]);
        assert_eq!(above("shop.example"), ["shop.example"]);
        assert_eq!(above("co.uk"), ["co.uk"]);
        assert_eq!(above("a.shop.github.io"), ["a.shop.github.io", "shop.github.io"]);
        assert_eq!(above("github.io"), ["github.io"]);
    }
}
