//! Whether what a workflow refers to is there.

use std::collections::BTreeSet;

use mailwright_core::ids::{ProjectNumber, SegmentId, TemplateId};
use mailwright_core::issue::Issue;
use mailwright_core::segment::{SegmentType, mentions};
use mailwright_core::workflow::action::Action;
use mailwright_core::workflow::graph::Step;
use mailwright_store::Tx;
use mailwright_store::audience::segment;
use mailwright_store::sending::template;
use serde_json::Value;

use crate::error::{Error, Resource, Result};

/// Refuses a step whose template or segment the project does not have. Whoever removes them waits until the transaction
/// ends.
pub(super) async fn check_step(tx: &Tx<'_>, project: ProjectNumber, step: &Step) -> Result<()> {
    if let Some(id) = step.template {
        check_template(tx, project, id).await?;
    }
    match Action::parse(step.kind, &step.config, step.template) {
        Ok(Action::Segment { id, .. }) => check_static_segment(tx, project, id).await?,
        Ok(Action::Filter(_)) => {
            check_filter(tx, project, Some(&step.config["condition"]), "config.condition").await?;
        }
        _ => {}
    }
    Ok(())
}

async fn check_template(tx: &Tx<'_>, project: ProjectNumber, id: TemplateId) -> Result<()> {
    if template::hold(tx, project, id).await? {
        Ok(())
    } else {
        Err(Error::not_found(Resource::Template, id))
    }
}

/// Refuses a segment that the project does not have.
pub(super) async fn check_segment(tx: &Tx<'_>, project: ProjectNumber, id: SegmentId) -> Result<()> {
    let found = segment::some(tx, project, &BTreeSet::from([id])).await?;
    if found.is_empty() { Err(Error::not_found(Resource::Segment, id)) } else { Ok(()) }
}

async fn check_static_segment(tx: &Tx<'_>, project: ProjectNumber, id: SegmentId) -> Result<()> {
    let found = segment::some(tx, project, &BTreeSet::from([id])).await?;
    match found.first() {
        None => Err(Error::not_found(Resource::Segment, id)),
        Some(segment) if segment.kind == SegmentType::Static => Ok(()),
        Some(_) => {
            let message = "The condition of a dynamic segment determines its members. Name a static segment.";
            Err(Error::Invalid(vec![Issue::new("config.segmentId", "custom", message)]))
        }
    }
}

/// Refuses a filter that names segments that the project does not have.
pub(super) async fn check_filter(
    tx: &Tx<'_>,
    project: ProjectNumber,
    filter: Option<&Value>,
    at: &str,
) -> Result<()> {
    let Some(filter) = filter.filter(|filter| filter.is_object()) else { return Ok(()) };
    let named = mentions(filter);
    if named.is_empty() {
        return Ok(());
    }
    let ids: BTreeSet<SegmentId> = named.iter().map(|(_, id)| *id).collect();
    let known: BTreeSet<SegmentId> =
        segment::some(tx, project, &ids).await?.into_iter().map(|segment| segment.id).collect();
    let unknown = named.into_iter().filter(|(_, id)| !known.contains(id));
    let issue = |(path, id): (String, SegmentId)| {
        Issue::new(path, "custom", format!("There is no segment {id} in this project.")).within(at)
    };
    let issues: Vec<Issue> = unknown.map(issue).collect();
    if issues.is_empty() { Ok(()) } else { Err(Error::Invalid(issues)) }
}
