//! Whether mail can be made from templates: for the engine, and for rehearsals.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::ids::{ProjectNumber, TemplateId};
use mailwright_core::workflow::world::Sending;
use mailwright_store::sending::{domain, template};
use mailwright_store::{Result, Rx};

/// Whether mail of some templates can be sent. Those that do not exist are left out.
pub(super) async fn sendings(
    rx: &Rx<'_>,
    project: ProjectNumber,
    ids: &BTreeSet<TemplateId>,
) -> Result<BTreeMap<TemplateId, Sending>> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let heads = template::heads(rx, project, ids).await?;
    let senders: Vec<_> = heads.iter().map(|head| (project, head.from.domain())).collect();
    let domains = domain::may_send(rx, &senders, true).await?;
    let sending = |head: &template::Head| {
        // a domain that is not verified any more holds the mail up, not the workflow
        let is_known = domains.contains_key(&(project, head.from.domain().to_owned()));
        if is_known { Sending::Ready(head.kind) } else { Sending::NoDomain }
    };
    Ok(heads.iter().map(|head| (head.id, sending(head))).collect())
}
