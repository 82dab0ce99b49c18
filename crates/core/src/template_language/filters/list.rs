//! Filters on lists.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::super::number::Num;
use super::super::value::{Val, position};
use super::Call;

pub(super) fn first<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    call.input.item(0)
}

pub(super) fn last<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    call.input.len().and_then(|len| len.checked_sub(1)).map_or(Val::Nil, |last| call.input.item(last))
}

/// How many elements, keys or characters there are.
pub(super) fn size<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    match call.input.member("size", None) {
        Val::Int(size) => Val::Int(size),
        _ => Val::Int(0),
    }
}

/// `join: ", "`; by default with a space.
pub(super) fn join<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    match call.input.len() {
        Some(_) => Val::string(call.input.joined(&call.text_argument(0, " "))),
        None => call.input.clone(),
    }
}

pub(super) fn reverse<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    changed(call, |mut items| {
        items.reverse();
        items
    })
}

/// `sort` or `sort: "key"`: numbers first, then texts, nil last.
pub(super) fn sort<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    changed(call, |items| {
        let mut keyed: Vec<_> = items.into_iter().map(|item| (key_of(call, &item), item)).collect();
        keyed.sort_by(|(a, _), (b, _)| order(a, b));
        keyed.into_iter().map(|(_, item)| item).collect()
    })
}

/// Elements that have the same JSON are there once.
pub(super) fn uniq<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    let mut seen = HashSet::new();
    changed(call, |mut items| {
        items.retain(|item| {
            let json = item.json();
            call.budget.spend(json.len() as u64) && seen.insert(json)
        });
        items
    })
}

/// `map: "key"`: what each element has there.
pub(super) fn map<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    changed(call, |items| items.iter().map(|item| key_of(call, item)).collect())
}

/// `where: "key", value`: the elements that have the value there; without a value, something that holds.
pub(super) fn matching<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    changed(call, |mut items| {
        items.retain(|item| {
            let found = key_of(call, item);
            match call.arguments.get(1) {
                Some(wanted) => found.equals(wanted, call.budget),
                None => found.is_true(),
            }
        });
        items
    })
}

/// `slice: 1, 3`: three elements or characters from the second on; a negative start counts from the end.
pub(super) fn slice<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    let (start, len) = (call.int_argument(0, 0), call.int_argument(1, 1));
    let len = usize::try_from(len).unwrap_or(0);
    if call.input.len().is_some() {
        return changed(call, |items| {
            let from = position(start, items.len()).unwrap_or(items.len());
            items.into_iter().skip(from).take(len).collect()
        });
    }
    call.map(|text| {
        let count = text.chars().count();
        let from = position(start, count).unwrap_or(count);
        text.chars().skip(from).take(len).collect()
    })
}

/// The list that `change` makes of the elements; what is not a list stays as it is.
fn changed<'r>(call: &Call<'_, 'r>, change: impl FnOnce(Vec<Val<'r>>) -> Vec<Val<'r>>) -> Val<'r> {
    if call.input.len().is_none() {
        return call.input.clone();
    }
    Val::list(change(call.input.items()))
}

/// What `item` has at the key that is the first argument; `item` itself when there is no argument.
fn key_of<'r>(call: &Call<'_, 'r>, item: &Val<'r>) -> Val<'r> {
    call.arguments.first().map_or_else(|| item.clone(), |key| item.at(key))
}

/// A total order, so that any list can be sorted.
fn order(a: &Val<'_>, b: &Val<'_>) -> Ordering {
    fn rank(value: &Val<'_>) -> u8 {
        match value {
            Val::Int(_) | Val::Float(_) => 0,
            Val::Str(_) | Val::Markup(_) => 1,
            Val::Bool(_) => 2,
            Val::Nil => 4,
            _ => 3,
        }
    }
    match (a, b) {
        (Val::Bool(a), Val::Bool(b)) => a.cmp(b),
        (Val::Str(a) | Val::Markup(a), Val::Str(b) | Val::Markup(b)) => (**a).cmp(&**b),
        (Val::Int(_) | Val::Float(_), Val::Int(_) | Val::Float(_)) => {
            // As floats first, even two ints: comparing only those exactly would not be transitive.
            let (a, b) = (number(a), number(b));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

/// A number as a float, and as a whole number that tells apart what the float does not.
fn number(value: &Val<'_>) -> (f64, i128) {
    match value.number() {
        Some(Num::Int(int)) => (int as f64, int),
        Some(Num::Float(float)) => (float, float as i128),
        None => (0.0, 0),
    }
}
