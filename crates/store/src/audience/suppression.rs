//! Addresses that campaigns do not write to.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::names;
use mailwright_core::time::Timestamp;

use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

names! {
    /// Why an address is suppressed.
    pub enum Cause {
        /// The address does not exist.
        Bounce = "bounce",
        /// The owner of the address reported a mail as spam.
        Complaint = "complaint",
    }
}

type Key<'a> = (ProjectNumber, &'a EmailAddress);

fn columns<'a>(addresses: &[Key<'a>]) -> [Arg<'a>; 2] {
    [
        Arg::Ints(addresses.iter().map(|(project, _)| Some(project.0)).collect()),
        Arg::Texts(addresses.iter().map(|(_, email)| Some(email.as_str().into())).collect()),
    ]
}

/// Suppresses addresses; rows of suppressed ones stay as they are.
pub async fn add(tx: &mut Tx<'_>, addresses: &[Key<'_>], cause: Cause, now: Timestamp) -> Result<()> {
    let [projects, emails] = columns(addresses);
    tx.each(
        "insert into suppressions (project_id, email, reason, created_at) select r.project_id, r.email, $3, $4 \
         from {rows r: project_id int, email text} where true on conflict (project_id, email) do nothing",
        &[projects, emails, cause.as_str().into(), now.into()],
    )
    .await?;
    Ok(())
}

/// Those of some addresses that are suppressed.
pub async fn among(
    rx: &Rx<'_>,
    project: ProjectNumber,
    emails: &BTreeSet<&EmailAddress>,
) -> Result<BTreeSet<EmailAddress>> {
    let found = rx
        .all(
            "select email from suppressions where project_id = $1 and email {in $2}",
            &[project.into(), Arg::Texts(emails.iter().map(|email| Some(email.as_str().into())).collect())],
            |r| r.get::<EmailAddress>(0),
        )
        .await?;
    Ok(found.into_iter().collect())
}

/// Removes the suppression of addresses whose owners have subscribed again.
pub async fn lift(tx: &Tx<'_>, addresses: &[Key<'_>]) -> Result<()> {
    let [projects, emails] = columns(addresses);
    let found = tx
        .each_returning(
            "select s.project_id, s.email from {rows r: project_id int, email text} \
             join suppressions s on s.project_id = r.project_id and s.email = r.email",
            &[projects, emails],
            |r| Ok((r.get::<ProjectNumber>(0)?, r.get::<String>(1)?)),
        )
        .await?;
    let mut lifted: BTreeMap<ProjectNumber, Vec<String>> = BTreeMap::new();
    for (project, email) in found {
        lifted.entry(project).or_default().push(email);
    }
    for (project, emails) in lifted {
        tx.execute(
            "delete from suppressions where project_id = $1 and email {in $2}",
            &[project.into(), Arg::Texts(emails.into_iter().map(|email| Some(email.into())).collect())],
        )
        .await?;
    }
    Ok(())
}
