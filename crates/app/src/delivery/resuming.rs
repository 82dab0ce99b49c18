//! An operator has a site tried again that blocks us, before the time of the block is over.
//!
//! The block is ended in the pace of each source address, which all processes share. The same transaction notes it as
//! an intervention, by which they learn of it: each forgets the block that it has in memory (`direct/pacer.rs`), and
//! makes the mail due that waits for its end (`letting_go.rs`). Who asks a pace reads its row anew, so that nobody
//! writes the block back.

use mailwright_core::audit::Actor;
use mailwright_core::ids::InterventionId;
use mailwright_core::intervention::{Intervention, InterventionKind, Scope};
use mailwright_core::pacing::Pace;
use mailwright_core::time::Timestamp;
use mailwright_store::delivery::intervention as store;
use mailwright_store::delivery::site::{self, SiteKey};
use mailwright_store::{Tx, body};

use super::intervening::{MOST, check_room};
use crate::App;
use crate::error::{Error, Result};

/// What kept mail for a site waiting, and does no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumed {
    /// The source addresses that the site blocked, and until when it would have been left alone. The name of an address
    /// that the system chose is empty.
    pub blocks: Vec<(String, Timestamp)>,
    /// The operator's pause of all mail for the site.
    pub pause: Option<InterventionId>,
}

impl App {
    /// Ends what keeps the mail of all projects for a site waiting: that it blocks our addresses, and a pause of the
    /// operator's. How often it blocked them is kept.
    pub async fn resume_site(&self, site: &str, reason: Option<String>) -> Result<Resumed> {
        let now = self.0.clock.now();
        let new = Intervention {
            id: InterventionId::new(now, rand::random()),
            kind: InterventionKind::Resume,
            scope: Scope { site: Some(site.to_owned()), ..Scope::default() },
            transport: None,
            reason,
            created_by: Actor::Operator.to_string(),
            created_name: None,
            created_at: now,
            ended_at: None,
        };
        let name = site.to_owned();
        let resumed = self.write(body!(async |tx| {
            let pause = end_alike(tx, &new, InterventionKind::Pause).await?;
            let blocks = end_blocks(tx, &name, now).await?;
            if blocks.is_empty() && pause.is_none() {
                return Err(Error::BadRequest(format!(
                    "{name} does not block us, as far as is known, and no pause of yours holds for all mail for it."
                )));
            }
            if !blocks.is_empty() {
                // of several of a site one is known to the processes
                end_alike(tx, &new, InterventionKind::Resume).await?;
                check_room(tx, &new, MOST).await?;
                store::add(tx, &new).await?;
            }
            Ok(Resumed { blocks, pause })
        }));
        let resumed = resumed.await?;
        let by = Actor::Operator.to_string();
        if let Some(id) = resumed.pause {
            tracing::info!(%id, kind = InterventionKind::Pause.as_str(), site, by, "mail is intervened in no longer");
        }
        for (source, until) in &resumed.blocks {
            tracing::info!(site, source, %until, by, "a block of a site is ended before its time");
        }
        Ok(resumed)
    }
}

/// Ends what the operator wanted of a kind with the same mail. Returns its id, where there is one.
async fn end_alike(
    tx: &mut Tx<'_>,
    of: &Intervention,
    kind: InterventionKind,
) -> Result<Option<InterventionId>> {
    let alike = Intervention { kind, ..of.clone() };
    let Some(known) = store::same(tx, &alike).await? else { return Ok(None) };
    store::end(tx, known.id, of.created_at).await?;
    Ok(Some(known.id))
}

/// Ends the blocks of a site. Returns the source addresses, and until when each would have been blocked.
async fn end_blocks(tx: &mut Tx<'_>, name: &str, now: Timestamp) -> Result<Vec<(String, Timestamp)>> {
    let mut keys: Vec<SiteKey> = site::at(tx, &[name]).await?.into_iter().map(|stored| stored.key).collect();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    keys.sort_unstable();
    let stored = site::lock(tx, &keys, now).await?;
    let (mut ended, mut paces) = (Vec::new(), Vec::new());
    for key in keys {
        let pace = stored.get(&key).and_then(|text| serde_json::from_str::<Pace>(text).ok());
        let Some(mut pace) = pace else { continue };
        let Some(until) = pace.resume(now) else { continue };
        let Ok(text) = serde_json::to_string(&pace) else { continue };
        ended.push((key.source.clone(), until));
        paces.push((key, text));
    }
    if !paces.is_empty() {
        site::put(tx, &paces, now).await?;
    }
    Ok(ended)
}
