//! CONDITION and `RANDOM_SPLIT`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::{Reader, at};
use crate::filter::Filter;
use crate::issue::Issue;
use crate::reading::{Object, join, member, missing, unknown};
use crate::workflow::action::{Action, DEFAULT, NO, Share, YES};
use crate::workflow::condition::{Branch, Choice, Operator, Test};
use crate::workflow::limits::{MAX_BRANCH, MAX_BRANCHES, MAX_NAME};

/// The greatest weight of a branch.
const MAX_WEIGHT: f64 = 1_000_000.0;

impl Reader {
    pub(super) fn condition(&mut self, object: &Object) -> Option<Action> {
        let mode = match self.optional_text(object, "mode").ok()? {
            None if member(object, "condition").is_some() => "filter",
            None => "binary",
            Some(mode) => mode,
        };
        match mode {
            "binary" => self.binary(object),
            "multi" => self.multi(object),
            "filter" => self.filter(object),
            other => self.issues.note(unknown(&at("mode"), "Must be one of binary, multi, filter.", other)),
        }
    }

    fn binary(&mut self, object: &Object) -> Option<Action> {
        let field = self.field(object);
        let test = self.test(object, super::AT);
        let branches = vec![Branch { id: YES.to_owned(), test: test? }];
        Some(Action::Choose(Choice { field: field?, branches, otherwise: NO }))
    }

    fn test(&mut self, object: &Object, place: &str) -> Option<Test> {
        let place = join(place, "operator");
        let name = self.issues.text(member(object, "operator"), &place)?;
        let Some(operator) = Operator::from_name(name) else {
            let names = Operator::ALL.map(Operator::as_str).join(", ");
            return self.issues.note(unknown(&place, format!("Must be one of {names}."), name));
        };
        Some(Test { operator, expected: member(object, "value").cloned() })
    }

    fn multi(&mut self, object: &Object) -> Option<Action> {
        let field = self.field(object);
        let mut ids = BTreeSet::from([DEFAULT.to_owned()]);
        let mut branches = Vec::new();
        for (json, place) in self.list_of_branches(object, 1)? {
            let branch = self.issues.object(json, &place)?;
            let id = self.branch_id(branch, &place, &mut ids);
            let test = self.test(branch, &place);
            branches.extend(id.zip(test).map(|(id, test)| Branch { id, test }));
        }
        Some(Action::Choose(Choice { field: field?, branches, otherwise: DEFAULT }))
    }

    fn list_of_branches<'j>(&mut self, object: &'j Object, least: usize) -> Option<Vec<(&'j Value, String)>> {
        let place = at("branches");
        let list = self.issues.list(member(object, "branches"), &place)?;
        if list.len() < least {
            let message = format!("Must have at least {least}.");
            return self.issues.note(Issue::new(place, "too_small", message));
        }
        if list.len() > MAX_BRANCHES {
            let message = format!("Must have at most {MAX_BRANCHES}.");
            return self.issues.note(Issue::new(place, "too_big", message));
        }
        let places = (0..list.len()).map(|index| join(&place, &index.to_string()));
        Some(list.iter().zip(places).collect())
    }

    fn branch_id(&mut self, branch: &Object, place: &str, taken: &mut BTreeSet<String>) -> Option<String> {
        if let Some(name) = member(branch, "name") {
            let name = self.issues.text(Some(name), &join(place, "name"))?;
            self.bounded(name, &join(place, "name"), MAX_NAME)?;
        }
        let place = join(place, "id");
        let id = self.issues.text(member(branch, "id"), &place)?;
        if id.is_empty() || id.len() > MAX_BRANCH {
            let message = format!("Must have 1 to {MAX_BRANCH} bytes.");
            return self.issues.note(Issue::new(place, "invalid_string", message));
        }
        if !taken.insert(id.to_owned()) {
            let message = "Each branch needs an id of its own; `default` is taken when no branch matches.";
            return self.issues.note(Issue::new(place, "custom", message).received(id));
        }
        Some(id.to_owned())
    }

    fn filter(&mut self, object: &Object) -> Option<Action> {
        let Some(json) = member(object, "condition") else {
            return self.issues.note(missing(&at("condition"), "Required."));
        };
        let filter = self.issues.part(Filter::parse_with_context(json), &at("condition"))?;
        Some(Action::Filter(Arc::new(filter)))
    }

    pub(super) fn split(&mut self, object: &Object) -> Option<Action> {
        let mut ids = BTreeSet::new();
        let mut shares = Vec::new();
        for (json, place) in self.list_of_branches(object, 2)? {
            let branch = self.issues.object(json, &place)?;
            let id = self.branch_id(branch, &place, &mut ids);
            let weight = self.weight(branch, &join(&place, "weight"));
            shares.extend(id.zip(weight).map(|(branch, weight)| Share { branch, weight }));
        }
        Some(Action::Split(shares))
    }

    fn weight(&mut self, branch: &Object, place: &str) -> Option<u32> {
        let weight = self.issues.number(member(branch, "weight"), place)?;
        if !(1.0..=MAX_WEIGHT).contains(&weight) || weight.fract() != 0.0 {
            let message = format!("Must be a whole number from 1 to {MAX_WEIGHT}.");
            return self.issues.note(Issue::new(place, "custom", message));
        }
        Some(weight as u32)
    }
}
