//! Writing rows: the contacts that they create and update.

use mailwright_core::consent::{ConsentWay, Evidence};
use mailwright_core::contact::Subscription;
use mailwright_core::excess::MAX_LOADED;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::import::{Row, RowFailure};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::contact::{Contacts, Upsert};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::audience::names::{Names, Wanted};
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::{Error as StoreError, Tx, project};

/// The result of writing a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// Rows that created a contact.
    pub created: u64,
    /// Rows that found their contact.
    pub updated: u64,
    /// Rows that would take their contact or the project over a limit.
    pub failures: Vec<RowFailure>,
}

/// Creates and updates the contacts of some rows; of several with one address, the last counts.
pub(super) async fn apply(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    rows: &[Row],
    default_for_new: bool,
    now: Timestamp,
) -> mailwright_store::Result<Applied> {
    let mut wanted = Wanted::default();
    for row in rows {
        wanted.fields(project, row.patch.names());
    }
    let mut names = Names::load(tx, &wanted).await?;
    let double_opt_in = project::get(tx, project).await?.is_some_and(|project| project.double_opt_in);
    let mut applied = Applied::default();
    let mut deltas = Deltas::default();
    let mut parts = vec![rows];
    while let Some(part) = parts.pop() {
        let addresses = part.iter().map(|row| (project, &row.email));
        let contacts = match Contacts::load_within(tx, addresses, MAX_LOADED).await {
            Ok(contacts) => contacts,
            // contacts with much data are taken a few at a time
            Err(StoreError::Excess(_)) if part.len() > 1 => {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
                continue;
            }
            Err(error) => return Err(error),
        };
        let changes = Changes { project, default_for_new, double_opt_in, now };
        let (contacts, events) = changes.make(part, contacts, &mut names, &mut applied);
        contacts.save(tx, &mut deltas).await?;
        event::append(tx, &events, &mut deltas).await?;
    }
    deltas.save(tx).await?;
    Ok(applied)
}

/// How rows change contacts.
struct Changes {
    project: ProjectNumber,
    default_for_new: bool,
    double_opt_in: bool,
    now: Timestamp,
}

impl Changes {
    fn make(
        &self,
        rows: &[Row],
        mut contacts: Contacts,
        names: &mut Names,
        applied: &mut Applied,
    ) -> (Contacts, Vec<NewEvent>) {
        let (project, now) = (self.project, self.now);
        let evidence = Evidence::by(ConsentWay::Import);
        let mut events = Vec::new();
        for row in rows {
            let fits = contacts
                .check(project, &row.email, &row.patch)
                .and_then(|()| names.take(project, row.patch.names(), None, now));
            if let Err(excess) = fits {
                applied.failures.push(row.failed(excess.issue().message));
                continue;
            }
            let subscription = Subscription {
                given: row.subscribed,
                default_for_new: self.default_for_new,
                preserve_existing: false,
            };
            let upsert = Upsert {
                project,
                email: &row.email,
                subscription,
                patch: &row.patch,
                evidence,
                double_opt_in: self.double_opt_in,
            };
            let upserted = contacts.upsert(upsert, now);
            if upserted.is_new {
                applied.created += 1;
            } else {
                applied.updated += 1;
            }
            if let Some(subscribed) = upserted.flip {
                events.push(NewEvent::flip(project, upserted.contact.id, subscribed, evidence, now));
            }
        }
        (contacts, events)
    }
}
