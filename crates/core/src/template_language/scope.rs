//! Where a template's names get their values.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::custom_data;

/// A value that the service sets itself and that no data can replace.
#[derive(Debug, Clone, Copy)]
pub enum Fixed<'a> {
    /// A text, such as `email`.
    Text(&'a str),
    /// A truth value, such as `subscribed`.
    Bool(bool),
}

impl<'a> From<&'a str> for Fixed<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Fixed<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

/// The values that one render can see. Building it clones no data.
///
/// A name is looked up among the fixed values (`id`, `email`, the URLs), then in the layers in the order they were
/// added. The first layer that has the key wins even with `null`, so a `null` in the request hides the stored value
/// and the fallback applies. The name `data`, unless a layer has such a key, stands for all layers merged.
#[derive(Debug, Clone, Default)]
pub struct Scope<'a> {
    fixed: Vec<(&'a str, Fixed<'a>)>,
    layers: Vec<&'a Map<String, Value>>,
}

impl<'a> Scope<'a> {
    /// A scope without any value.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds data that is asked after the layers already there: add the request's data first, then the contact's.
    #[must_use]
    pub fn layer(mut self, data: &'a Map<String, Value>) -> Self {
        self.layers.push(data);
        self
    }

    /// Adds a value that comes before every layer and is not part of `data`.
    #[must_use]
    pub fn fixed(mut self, name: &'a str, value: impl Into<Fixed<'a>>) -> Self {
        self.fixed.push((name, value.into()));
        self
    }

    /// Bytes of all values, nearly.
    pub(super) fn size(&self) -> usize {
        let fixed = |value: &Fixed<'_>| if let Fixed::Text(text) = value { text.len() } else { 8 };
        let fixed: usize = self.fixed.iter().map(|(_, value)| fixed(value)).sum();
        fixed + self.layers.iter().map(|layer| custom_data::size(layer)).sum::<usize>()
    }

    /// The fixed value of the top-level `name`.
    pub(super) fn fixed_value(&self, name: &str) -> Option<Fixed<'a>> {
        self.fixed.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    /// The value of `key` in the merged layers.
    pub(super) fn datum(&self, key: &str) -> Option<&Value> {
        self.layers.iter().find_map(|layer| layer.get(key))
    }

    /// The merged layers, in the order of their keys.
    pub(super) fn merged(&self) -> BTreeMap<&str, &Value> {
        let pairs = self.layers.iter().rev().flat_map(|layer| layer.iter());
        pairs.map(|(key, value)| (key.as_str(), value)).collect()
    }
}
