//! What refers to a segment.

use std::collections::BTreeSet;

use mailwright_core::ids::{ProjectNumber, SegmentId};
use mailwright_core::segment::{event_name, mentions};
use serde_json::Value as Json;

use crate::audience::segment::definition::all;
use crate::automation::reference::{self, Kind};
use crate::automation::workflow;
use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::sending::campaign;

/// The uses that prevent the deletion of a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// The names of the segments that refer to it.
    pub segments: Vec<String>,
    /// The names of the campaigns for it, or for a filter that refers to it, that are not over.
    pub campaigns: Vec<String>,
    /// The names of the workflows that refer to it, or to the events of its members.
    pub workflows: Vec<String>,
}

/// The segments, campaigns and workflows that refer to a segment, by name.
pub async fn uses(rx: &mut Rx<'_>, project: ProjectNumber, id: SegmentId) -> Result<Uses> {
    let names_it = |condition: &Json| mentions(condition).iter().any(|(_, named)| *named == id);
    let mut segments = all(rx, project).await?;
    let tracked = segments.iter().find(|segment| segment.id == id && segment.is_tracked());
    let events = tracked.map(|segment| [true, false].map(|entered| event_name(&segment.name, entered)));
    segments.retain(|segment| segment.condition.as_ref().is_some_and(names_it));
    let mut campaigns = campaign::audiences(rx, project).await?;
    campaigns.retain(|(.., audience)| {
        audience.segment() == Some(id) || audience.condition().is_some_and(names_it)
    });
    let mut workflows: BTreeSet<_> =
        reference::that_need(rx, project, Kind::Segment, &id.to_string()).await?.into_iter().collect();
    for event in events.into_iter().flatten() {
        workflows.extend(reference::in_use(rx, project, Kind::Event, &event).await?);
    }
    let workflows: Vec<_> = workflows.into_iter().collect();
    let workflows = workflow::some(rx, project, &workflows).await?;
    Ok(Uses {
        workflows: workflows.into_iter().map(|workflow| workflow.name).collect(),
        segments: segments.into_iter().map(|segment| segment.name).collect(),
        campaigns: campaigns.into_iter().map(|(_, name, _)| name).collect(),
    })
}
