//! Which domains a project may add at all. Whether it controls one is proved by its DNS afterwards.

use mailwright_core::address::DomainName;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::issue::Issue;
use mailwright_mail::domain::lookalike::{Likeness, is_public_suffix};
use mailwright_store::body;
use mailwright_store::sending::domain_claim;

use crate::App;
use crate::error::{Error, Result};

/// Most domains of disabled projects that a new one is compared with: those of the projects that were disabled last.
const COMPARED: i64 = 10_000;

impl App {
    /// Refuses a domain that nobody can send from, and one that is near a domain of a disabled project. Why is not told
    /// then: who was disabled would only choose better.
    pub(super) async fn check_claim(&self, project: ProjectNumber, name: &DomainName) -> Result<()> {
        if is_public_suffix(name) {
            return Err(refused(format!("Everybody can register names below {name}. Add your own domain.")));
        }
        if let Some(provider) = self.mailbox_provider(name.as_str()) {
            return Err(refused(format!(
                "{provider} is a provider of mailboxes, in whose DNS you cannot publish records. Add a domain of your own."
            )));
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
        Err(Error::NotAllowed("This domain cannot be added. Ask whoever runs this instance.".into()))
    }
}

/// Whether a name is another one or below it. Who owns a name below need not own what is above or beside it.
fn is_within(name: &DomainName, other: &DomainName) -> bool {
    let above = name.as_str().strip_suffix(other.as_str());
    above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
}

fn refused(why: String) -> Error {
    Error::Invalid(vec![Issue::new("domain", "custom", why)])
}
