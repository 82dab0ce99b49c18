//! Checks whether a condition can be the condition of a segment.

use std::collections::BTreeSet;

use mailwright_core::filter::Filter;
use mailwright_core::ids::SegmentId;
use mailwright_core::issue::Issue;
use mailwright_core::segment::{
    Graph, MAX_CONDITION, MAX_EXPANDED, MAX_NESTING, Node, Problem, Segment, SegmentType, mentions,
};
use serde_json::Value;
use uuid::Uuid;

use crate::error::{Error, Result};

/// Reads a condition. Every issue names its path from `condition` on.
pub(super) fn condition(json: &Value) -> Result<Filter> {
    if json.to_string().len() > MAX_CONDITION {
        let message = format!("Must have at most {} KB of JSON.", MAX_CONDITION / 1024);
        return Err(Error::Condition(vec![Issue::new("condition", "too_big", message)]));
    }
    Filter::parse(json).map_err(|issues| Error::Condition(issues.into_iter().map(under_condition).collect()))
}

fn under_condition(issue: Issue) -> Issue {
    issue.within("condition")
}

/// Checks what a condition says of other segments, given those of its project: they must exist.
pub(crate) fn unknown(json: &Value, known: &BTreeSet<SegmentId>) -> Vec<Issue> {
    let unknown = mentions(json).into_iter().filter(|(_, id)| !known.contains(id));
    let issue = |(path, id): (String, SegmentId)| {
        Issue::new(path, "custom", format!("There is no segment {id} in this project."))
    };
    unknown.map(issue).collect()
}

/// Checks the references of a segment: that the segments exist, without a circle, and within the limits of nesting and
/// size.
pub(super) fn references(all: &[Segment], segment: &Segment) -> Result<()> {
    let Some(json) = condition_of(segment) else { return Ok(()) };
    let known = all.iter().map(|s| s.id).chain([segment.id]).collect();
    known_and_bounded(all, &known, json, segment.id, node(segment))
}

/// The same for a condition that no segment has.
pub(super) fn references_of_none(all: &[Segment], json: &Value) -> Result<()> {
    let known = all.iter().map(|s| s.id).collect();
    known_and_bounded(all, &known, json, SegmentId::from(Uuid::nil()), Node::new(Some(json), true))
}

fn known_and_bounded(
    all: &[Segment],
    known: &BTreeSet<SegmentId>,
    json: &Value,
    id: SegmentId,
    node: Node,
) -> Result<()> {
    let unknown = unknown(json, known);
    if !unknown.is_empty() {
        return Err(Error::Condition(unknown.into_iter().map(under_condition).collect()));
    }
    let mut graph = graph(all);
    graph.insert(id, node);
    let named = |id: SegmentId| {
        if id.as_uuid().is_nil() { "this condition".to_owned() } else { format!("segment {id}") }
    };
    let message = match graph.check() {
        Ok(()) => return Ok(()),
        Err(Problem::Circle) => "Segments must not refer to each other in a circle.".to_owned(),
        Err(Problem::TooLarge(id)) => format!(
            "With the segments it refers to, {} would have more than {MAX_EXPANDED} filters. Track one of them.",
            named(id)
        ),
        Err(Problem::TooDeep(id)) => format!(
            "With the segments it refers to, {} would be more than {MAX_NESTING} segments deep. Track one of them.",
            named(id)
        ),
    };
    Err(Error::Condition(vec![Issue::new("condition", "custom", message)]))
}

/// How the segments of a project refer to each other.
pub(super) fn graph(all: &[Segment]) -> Graph {
    let mut graph = Graph::default();
    for segment in all {
        graph.insert(segment.id, node(segment));
    }
    graph
}

fn node(segment: &Segment) -> Node {
    Node::new(condition_of(segment), segment.kind == SegmentType::Dynamic && !segment.track_membership)
}

fn condition_of(segment: &Segment) -> Option<&Value> {
    segment.condition.as_ref().filter(|_| segment.kind == SegmentType::Dynamic)
}
