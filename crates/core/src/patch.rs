//! A field of a change: absent, null or a value.

use serde::{Deserialize, Deserializer};

/// A field of a change: left out, set to null, or given a value. Needs `#[serde(default)]` on the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Patch<T> {
    /// Left out: stays as it is.
    #[default]
    Absent,
    /// Null: is cleared.
    Null,
    /// Has a new value.
    Value(T),
}

impl<T> Patch<T> {
    /// The same with the value changed by `f`.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Patch<U> {
        match self {
            Self::Absent => Patch::Absent,
            Self::Null => Patch::Null,
            Self::Value(value) => Patch::Value(f(value)),
        }
    }

    /// Applies the change to an optional field.
    pub fn apply(self, target: &mut Option<T>) {
        match self {
            Self::Absent => {}
            Self::Null => *target = None,
            Self::Value(value) => *target = Some(value),
        }
    }
}

impl<T> From<Option<T>> for Patch<T> {
    /// A missing value counts as absent.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Self::Value)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Self::Null, Self::Value))
    }
}
