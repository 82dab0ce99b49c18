//! What a template writes as it is, so that a reader sees a gap where there is no value.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use super::program::{Block, Condition, Expr, Key, Loop, Node, Pipeline, Program, Step};

/// The names whose values stand in the output, without something in their place and without a condition on them, by their
/// numbers.
pub(super) fn bare(program: &Program) -> BTreeSet<usize> {
    let mut found = Walk::default();
    found.block(&program.nodes);
    found.bare
}

/// How many conditions look at nothing, so that all recipients get the same: `{% if true %}`.
pub(super) fn constant_conditions(nodes: &Block) -> usize {
    let within = |node: &Node| match node {
        Node::If { branches, otherwise } => {
            let constant = branches.iter().filter(|(condition, _)| is_constant(condition)).count();
            let inner: usize = branches.iter().map(|(_, block)| constant_conditions(block)).sum();
            constant + inner + constant_conditions(otherwise)
        }
        Node::Case { branches, otherwise, .. } => {
            let inner: usize = branches.iter().map(|(_, block)| constant_conditions(block)).sum();
            inner + constant_conditions(otherwise)
        }
        Node::For(of) => constant_conditions(&of.body) + constant_conditions(&of.otherwise),
        Node::Capture { body, .. } => constant_conditions(body),
        Node::Text(_)
        | Node::Edge(_)
        | Node::Output { .. }
        | Node::Assign { .. }
        | Node::Break
        | Node::Continue => 0,
    };
    nodes.iter().map(within).sum()
}

fn is_constant(condition: &Condition) -> bool {
    let mut tests = std::iter::once(&condition.first).chain(condition.rest.iter().map(|(_, test)| test));
    tests.all(|test| {
        let right = test.compared.as_ref().map(|(_, right)| right);
        std::iter::once(&test.left)
            .chain(right)
            .all(|looked_at| !matches!(looked_at, Expr::Path(_) | Expr::Range(_)))
    })
}

#[derive(Default)]
struct Walk {
    bare: BTreeSet<usize>,
    /// What the conditions around look at, the innermost last.
    guards: Vec<usize>,
    /// How often each name is among them.
    guarded: HashMap<usize, usize>,
}

impl Walk {
    fn block(&mut self, nodes: &Block) {
        for node in nodes {
            self.node(node);
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Text(_) | Node::Edge(_) | Node::Assign { .. } | Node::Break | Node::Continue => {}
            Node::Output { value, .. } => self.output(value),
            Node::If { branches, otherwise } => {
                let before = self.guards.len();
                for (condition, block) in branches {
                    self.guard_by(condition);
                    self.block(block);
                }
                self.block(otherwise);
                self.leave(before);
            }
            Node::Case { subject, branches, otherwise } => {
                let before = self.guards.len();
                self.guard(subject);
                for (_, block) in branches {
                    self.block(block);
                }
                self.block(otherwise);
                self.leave(before);
            }
            Node::For(of) => {
                let Loop { source, body, otherwise, .. } = &**of;
                let before = self.guards.len();
                self.guard(source);
                self.block(body);
                self.block(otherwise);
                self.leave(before);
            }
            Node::Capture { body, .. } => self.block(body),
        }
    }

    fn output(&mut self, value: &Pipeline) {
        let Expr::Path(path) = &value.head else { return };
        let replaces = |step: &Step| match step {
            Step::Fallback(_) => true,
            Step::Filter(filter, _) => filter.name == "default",
        };
        if !self.guarded.contains_key(&path.root.0) && !value.steps.iter().any(replaces) {
            self.bare.insert(path.root.0);
        }
    }

    /// Leaves a block, with the conditions on it beyond the first `before`.
    fn leave(&mut self, before: usize) {
        for name in self.guards.drain(before..) {
            if let Entry::Occupied(mut count) = self.guarded.entry(name) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
    }

    fn guard_by(&mut self, condition: &Condition) {
        for test in std::iter::once(&condition.first).chain(condition.rest.iter().map(|(_, test)| test)) {
            self.guard(&test.left);
            if let Some((_, right)) = &test.compared {
                self.guard(right);
            }
        }
    }

    fn guard(&mut self, looked_at: &Expr) {
        match looked_at {
            Expr::Path(path) => {
                self.guards.push(path.root.0);
                *self.guarded.entry(path.root.0).or_default() += 1;
                for key in &path.rest {
                    if let Key::Computed(key) = key {
                        self.guard(key);
                    }
                }
            }
            Expr::Range(ends) => {
                self.guard(&ends.0);
                self.guard(&ends.1);
            }
            Expr::Nil
            | Expr::Bool(_)
            | Expr::Int(_)
            | Expr::Float(_)
            | Expr::Text(_)
            | Expr::Empty
            | Expr::Blank => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::template_language::Template;

    #[test]
    fn a_gap_is_seen_where_a_name_stands_alone() {
        for (source, bare) in [
            ("Hello {{name}}, {{ profile.city | upcase }}", &["name", "profile"][..]),
            ("{{name ?? \"friend\"}} {{city | default: \"here\"}}", &[]),
            ("{% if name %}{{name}}{% else %}you{% endif %} {{plan}}", &["plan"]),
            ("{% if a and b == \"x\" %}{{b}}{{c}}{% endif %}{{b}}", &["b", "c"]),
            ("{% unless a %}x{% endunless %}{% case plan %}{% when \"a\" %}{{plan}}{% endcase %}", &[]),
            ("{% for i in items %}{{i.name}}{{items}}{% endfor %}", &[]),
            ("{% assign x = name %}{{x}}{% capture y %}{{z}}{% endcapture %}{{y}}", &["z"]),
            ("no names", &[]),
        ] {
            let found = Template::parse(source).unwrap().bare_variables();
            assert_eq!(found.iter().collect::<Vec<_>>(), bare, "{source}");
        }
    }

    #[test]
    fn conditions_that_look_at_nothing_are_counted_wherever_they_are() {
        for (source, count) in [
            ("{% if true %}a{% elsif plan %}b{% elsif 1 == 2 %}c{% else %}d{% endif %}", 2),
            ("{% for i in items %}{% unless false %}x{% endunless %}{% endfor %}", 1),
            ("{% case plan %}{% when 1 %}{% if \"x\" %}y{% endif %}{% endcase %}", 1),
            (
                "{% capture x %}{% if true or plan %}y{% endif %}{% endcapture %}{% if plan == nil %}z{% endif %}",
                0,
            ),
            ("{% if plan %}{% else %}{% if true %}x{% endif %}{% endif %}", 1),
        ] {
            assert_eq!(Template::parse(source).unwrap().constant_conditions(), count, "{source}");
        }
    }
}
