//! Truth, emptiness, equality and order of values.

use std::cmp::Ordering;

use super::budget::Budget;
use super::number::Num;
use super::value::Val;

impl Val<'_> {
    /// Whether a condition holds for the value: as in JavaScript, not for false, 0, an empty text or nothing.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Nil | Self::Bool(false) | Self::Int(0) | Self::Empty | Self::Blank => false,
            Self::Float(value) => *value != 0.0,
            Self::Str(text) | Self::Markup(text) => !text.is_empty(),
            _ => true,
        }
    }

    /// Whether the value equals the literal `empty`.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Str(text) | Self::Markup(text) => text.is_empty(),
            Self::Object(object) => object.len() == 0,
            _ => self.len() == Some(0),
        }
    }

    /// Whether the value equals the literal `blank`.
    pub(super) fn is_blank(&self) -> bool {
        match self {
            Self::Nil | Self::Bool(false) | Self::Blank => true,
            Self::Str(text) | Self::Markup(text) => text.trim().is_empty(),
            _ => self.is_empty(),
        }
    }

    /// Whether two values are the same. Numbers compare by value, lists and objects by their JSON. Once `budget`
    /// has run out, lists and objects are not the same, whatever they are.
    pub(super) fn equals(&self, other: &Val<'_>, budget: &Budget) -> bool {
        match (self, other) {
            (Val::Empty, value) | (value, Val::Empty) => value.is_empty(),
            (Val::Blank, value) | (value, Val::Blank) => value.is_blank(),
            (Val::Nil, Val::Nil) => true,
            (Val::Bool(a), Val::Bool(b)) => a == b,
            (Val::Int(a), Val::Int(b)) => a == b,
            (Val::Int(_) | Val::Float(_), Val::Int(_) | Val::Float(_)) => {
                self.compare(other) == Some(Ordering::Equal)
            }
            (Val::Str(a) | Val::Markup(a), Val::Str(b) | Val::Markup(b)) => {
                budget.spend(a.len().min(b.len()) as u64 / 16);
                **a == **b
            }
            (a, b) if a.is_compound() && b.is_compound() && a.len() == b.len() => {
                // Only the JSON says how much there was to compare.
                let (a, b) = (a.json(), b.json());
                budget.spend((a.len() + b.len()) as u64) && a == b
            }
            _ => false,
        }
    }

    /// Which value is greater: of two texts by their characters, otherwise of numbers or texts that read as numbers.
    pub(super) fn compare(&self, other: &Val<'_>) -> Option<Ordering> {
        match (self, other) {
            (Val::Str(a) | Val::Markup(a), Val::Str(b) | Val::Markup(b)) => Some((**a).cmp(&**b)),
            _ => match (self.number()?, other.number()?) {
                (Num::Int(a), Num::Int(b)) => Some(a.cmp(&b)),
                (a, b) => a.float().partial_cmp(&b.float()),
            },
        }
    }
}
