//! How the segments of a project refer to each other: a graph without cycles.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::ids::SegmentId;

/// The most conditions of a segment, those of the segments that are evaluated in its place included.
pub const MAX_EXPANDED: usize = 1000;
/// How deep segments that are evaluated in place may stand in each other.
pub const MAX_NESTING: usize = 10;

/// What one segment is to the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// The segments that its condition names, each as often as it does.
    pub names: Vec<SegmentId>,
    /// How many conditions it has.
    pub conditions: usize,
    /// Whether its condition is evaluated wherever it is named: it has no stored members.
    pub in_place: bool,
}

impl Node {
    /// The node of a segment with this condition; one without a condition names nothing.
    pub fn new(condition: Option<&Value>, in_place: bool) -> Self {
        let Some(condition) = condition else { return Self::default() };
        let mut node = Self { in_place, ..Self::default() };
        visit(condition, String::new(), &mut |_, field| {
            node.conditions += 1;
            node.names.extend(segment_of(field));
        });
        node
    }
}

/// The segments that a condition names, with the path of each filter that does so.
pub fn mentions(condition: &Value) -> Vec<(String, SegmentId)> {
    let mut found = Vec::new();
    visit(condition, String::new(), &mut |path, field| {
        found.extend(segment_of(field).map(|id| (format!("{path}.field"), id)));
    });
    found
}

fn segment_of(field: &str) -> Option<SegmentId> {
    field.strip_prefix("segment.")?.parse().ok()
}

/// Visits the fields of all filters of a condition that was parsed before, so that its depth is bounded.
fn visit(tree: &Value, at: String, see: &mut impl FnMut(&str, &str)) {
    for (g, group) in tree["groups"].as_array().into_iter().flatten().enumerate() {
        for (f, filter) in group["filters"].as_array().into_iter().flatten().enumerate() {
            see(&format!("{at}groups.{g}.filters.{f}"), filter["field"].as_str().unwrap_or_default());
        }
        visit(&group["conditions"], format!("{at}groups.{g}.conditions."), see);
    }
}

/// Why segments cannot refer to each other as they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// Some refer to each other in a circle.
    Circle,
    /// This one has more than [`MAX_EXPANDED`] conditions.
    TooLarge(SegmentId),
    /// In this one, segments stand more than [`MAX_NESTING`] deep in each other.
    TooDeep(SegmentId),
}

/// The segments of a project.
#[derive(Debug, Clone, Default)]
pub struct Graph(BTreeMap<SegmentId, Node>);

impl Graph {
    /// Adds a segment, or changes one.
    pub fn insert(&mut self, id: SegmentId, node: Node) {
        self.0.insert(id, node);
    }

    /// Whether there is such a segment.
    pub fn contains(&self, id: SegmentId) -> bool {
        self.0.contains_key(&id)
    }

    /// The segments that name `id` themselves.
    pub fn naming(&self, id: SegmentId) -> impl Iterator<Item = SegmentId> {
        self.0.iter().filter(move |(_, node)| node.names.contains(&id)).map(|(other, _)| *other)
    }

    /// The segments whose members depend on those of `id`, directly or through others; without `id`.
    pub fn dependents(&self, id: SegmentId) -> BTreeSet<SegmentId> {
        let mut found = BTreeSet::new();
        let mut open = vec![id];
        while let Some(next) = open.pop() {
            open.extend(self.naming(next).filter(|other| *other != id && found.insert(*other)));
        }
        found
    }

    /// The segments, each after those that it names.
    pub fn order(&self) -> Result<Vec<SegmentId>, Problem> {
        let mut order = Vec::with_capacity(self.0.len());
        let mut waiting: BTreeMap<SegmentId, usize> = BTreeMap::new();
        let mut named_by: BTreeMap<SegmentId, Vec<SegmentId>> = BTreeMap::new();
        for (id, node) in &self.0 {
            let names: BTreeSet<_> = node.names.iter().filter(|name| self.contains(**name)).collect();
            for name in &names {
                named_by.entry(**name).or_default().push(*id);
            }
            if names.is_empty() {
                order.push(*id);
            } else {
                waiting.insert(*id, names.len());
            }
        }
        let mut done = 0;
        while let Some(id) = order.get(done).copied() {
            done += 1;
            for other in named_by.remove(&id).unwrap_or_default() {
                let left = waiting.entry(other).or_default();
                *left -= 1;
                if *left == 0 {
                    waiting.remove(&other);
                    order.push(other);
                }
            }
        }
        if waiting.is_empty() { Ok(order) } else { Err(Problem::Circle) }
    }

    /// Checks that there is no circle, and that no segment becomes too large where others are evaluated in its place.
    pub fn check(&self) -> Result<(), Problem> {
        let mut sizes: BTreeMap<SegmentId, (usize, usize)> = BTreeMap::new();
        for id in self.order()? {
            let Some(node) = self.0.get(&id) else { continue };
            let inner = node.names.iter().filter(|name| self.0.get(*name).is_some_and(|n| n.in_place));
            let (mut size, mut depth) = (node.conditions, 1);
            for (inner_size, inner_depth) in inner.filter_map(|name| sizes.get(name)) {
                size = size.saturating_add(*inner_size);
                depth = depth.max(inner_depth + 1);
            }
            if size > MAX_EXPANDED {
                return Err(Problem::TooLarge(id));
            }
            if depth > MAX_NESTING {
                return Err(Problem::TooDeep(id));
            }
            sizes.insert(id, (size, depth));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(n: i64) -> SegmentId {
        SegmentId::first_of(Timestamp(n))
    }

    use crate::time::Timestamp;

    fn graph(nodes: &[(i64, &[i64])]) -> Graph {
        let mut graph = Graph::default();
        for (n, names) in nodes {
            let names = names.iter().map(|n| id(*n)).collect();
            graph.insert(id(*n), Node { names, conditions: 1, in_place: true });
        }
        graph
    }

    #[test]
    fn a_condition_tells_what_it_names() {
        let (a, b) = (id(1), id(2));
        let condition = json!({"logic": "AND", "groups": [
            {"filters": [{"field": "email", "operator": "equals", "value": "a"}],
             "conditions": {"logic": "OR", "groups": [
                {"filters": [{"field": format!("segment.{a}"), "operator": "memberOfSegment"}]}]}},
            {"filters": [{"field": format!("segment.{b}"), "operator": "memberOfSegment"}]},
        ]});
        assert_eq!(
            mentions(&condition),
            [
                ("groups.0.conditions.groups.0.filters.0.field".to_owned(), a),
                ("groups.1.filters.0.field".to_owned(), b)
            ]
        );
        let node = Node::new(Some(&condition), true);
        assert_eq!(node, Node { names: vec![a, b], conditions: 3, in_place: true });
    }

    #[test]
    fn segments_come_after_those_they_name() {
        let graph = graph(&[(1, &[2, 3]), (2, &[3]), (3, &[]), (4, &[9])]);
        let order = graph.order().unwrap();
        let place = |n| order.iter().position(|other| *other == id(n)).unwrap();
        assert!(place(3) < place(2) && place(2) < place(1));
        assert_eq!(order.len(), 4);
        assert_eq!(graph.dependents(id(3)), BTreeSet::from([id(1), id(2)]));
        assert!(graph.dependents(id(1)).is_empty());
    }

    #[test]
    fn circles_are_found() {
        for nodes in
            [&[(1, &[1][..])][..], &[(1, &[2]), (2, &[1])], &[(1, &[2]), (2, &[3]), (3, &[1]), (4, &[])]]
        {
            assert_eq!(graph(nodes).check(), Err(Problem::Circle), "{nodes:?}");
        }
        assert_eq!(graph(&[(1, &[2, 2]), (2, &[])]).check(), Ok(()));
    }

    #[test]
    fn what_is_evaluated_in_place_is_bounded() {
        // each names the one before twice, so that the size doubles
        let doubling: Vec<(i64, Vec<i64>)> = (1..=10).map(|n| (n, vec![n - 1, n - 1])).collect();
        let nodes: Vec<(i64, &[i64])> = doubling.iter().map(|(n, names)| (*n, &names[..])).collect();
        assert_eq!(graph(&nodes[..9]).check(), Ok(()));
        assert_eq!(graph(&nodes).check(), Err(Problem::TooLarge(id(10))));
        let chain: Vec<(i64, Vec<i64>)> = (1..=11).map(|n| (n, vec![n - 1])).collect();
        let nodes: Vec<(i64, &[i64])> = chain.iter().map(|(n, names)| (*n, &names[..])).collect();
        assert_eq!(graph(&nodes[..10]).check(), Ok(()));
        assert_eq!(graph(&nodes).check(), Err(Problem::TooDeep(id(11))));
        let mut stored = graph(&nodes);
        stored.insert(id(5), Node { names: vec![id(4)], conditions: 1, in_place: false });
        assert_eq!(stored.check(), Ok(()));
    }
}
