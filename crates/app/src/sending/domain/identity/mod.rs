//! Registering sender domains with the accounts of Amazon SES that transports lead to, where the operator wants that
//! (`identities` in the URL of a transport).
//!
//! **Whose domain it is** was found out before: a domain is registered once our own check has found its DKIM record, so
//! that nobody registers somebody else's. One that the operator vouches for, or that was added while mail was captured, has
//! no such finding, and is not registered.
//!
//! **When.** The transaction that stores a check notes which accounts are to be asked about the domain (`want`), unless
//! what is known is fresh. A round of any process claims what is due (`rounds.rs`), makes one request (`asking.rs`) and
//! stores the answer. So a check costs a domain and an account one request at most, whichever process asks, and a service
//! that is slow, away, or refuses changes nothing of the check.
//!
//! **What is asked** is decided in `plan.rs`: a domain that is not known to be registered is registered; one that is
//! registered is asked about, until it is verified and once an hour from then on; and where SES has a former key of ours,
//! it gets the new one. What an answer means is in `answer.rs`.
//!
//! **An account has one identity for a name**, and others may have it too: the operator made it by hand, or another
//! project has the same domain with a key of its own. Whoever was first keeps it while it is verified, or SES still looks
//! for its records. The others show what SES says of it, and their mail leaves by it as well, signed with their own keys
//! by us. Once SES has given up, because the records are gone, the next project whose own record was found puts its key.
//! A key is replaced only by the project that put it. So two projects do not take it from each other by turns, and who
//! lost the name loses the identity.
//!
//! **A request whose answer is lost** may have had its effect. To register again is answered with "exists" then, and the
//! next look recognises the key by its selector.
//!
//! **What nobody has any more is removed** from the account (`removing.rs`), if this service registered it: `ses_identities`
//! has a row for each such name, which the removal of a domain, or of a project, makes due. What the account had before, or
//! has otherwise by now, stays. Where the answer to registering a domain was lost it stays too, since nobody knows who did.

mod accounts;
mod answer;
mod asking;
mod plan;
mod removing;
mod rounds;

use mailwright_core::domain::{Domain, DomainIdentity, FurtherKey, KeyRole};
use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::sending::domain_identity;
use mailwright_store::{Tx, body};

use crate::App;
use crate::error::Result;
use plan::{Keys, Step, step, wanted};

pub(crate) use asking::Registrar;
pub(crate) use rounds::Registrations;

impl App {
    /// What is known of a domain with the accounts that it is registered with.
    pub(super) async fn identities(
        &self,
        project: ProjectNumber,
        domain: DomainId,
    ) -> Result<Vec<DomainIdentity>> {
        if !self.registers_domains() {
            return Ok(Vec::new());
        }
        let found = self.read(body!(async |rx| domain_identity::of(rx, project, domain).await)).await?;
        Ok(self.configured(found))
    }
}

/// Notes which accounts are to be asked about a domain, after a check. Returns what is known of it.
pub(super) async fn want(
    tx: &mut Tx<'_>,
    app: &App,
    project: ProjectNumber,
    (domain, keys): (&Domain, &[FurtherKey]),
    now: Timestamp,
) -> Result<Vec<DomainIdentity>> {
    if !app.registers_domains() {
        return Ok(Vec::new());
    }
    let known = domain_identity::of(tx, project, domain.id).await?;
    let second = keys.iter().find(|key| key.role == KeyRole::Second);
    let keys = Keys {
        first: (domain.selector.as_str(), domain.key_type.as_str()),
        second: second.map(|key| (key.selector.as_str(), key.key_type.as_str())),
    };
    for account in app.ses_accounts() {
        let known = known.iter().find(|known| known.transport == account.transport);
        let wanted = wanted(account.way, &domain.last_check, keys);
        let is_waiting = known.is_some_and(|known| plan::is_waiting(known, now));
        if !is_waiting && step(known, &wanted, now) != Step::Rest {
            domain_identity::want(tx, project, domain.id, account.transport, now).await?;
        }
    }
    Ok(app.configured(domain_identity::of(tx, project, domain.id).await?))
}
