//! The values of a render.

use std::borrow::Cow;
use std::ops::Deref;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::number::Num;
use super::scope::{Fixed, Scope};
use super::{MAX_LIST, MAX_VALUE};

/// A value: borrowed from the data or the program, or made by a filter.
#[derive(Debug, Clone)]
pub(super) enum Val<'r> {
    /// Missing or null.
    Nil,
    Bool(bool),
    Int(i128),
    /// Always finite.
    Float(f64),
    Str(Text<'r>),
    /// A text in which values are escaped already. Only made in HTML mode.
    Markup(Text<'r>),
    Array(&'r [Value]),
    List(Rc<[Val<'r>]>),
    /// The whole numbers from the first to the last.
    Range(i64, i64),
    Object(Object<'r>),
    /// `forloop`.
    Turn(Turn),
    /// The literal `empty`.
    Empty,
    /// The literal `blank`.
    Blank,
}

impl<'r> From<Num> for Val<'r> {
    fn from(number: Num) -> Val<'r> {
        match number {
            Num::Int(value) => Val::Int(value),
            Num::Float(value) => Val::float(value),
        }
    }
}

impl Scope<'_> {
    /// What the top-level `name` stands for; nil when there is no such name.
    pub(super) fn lookup(&self, name: &str) -> Val<'_> {
        match self.fixed_value(name) {
            Some(Fixed::Text(text)) => return Val::borrowed(text),
            Some(Fixed::Bool(value)) => return Val::Bool(value),
            None => {}
        }
        match self.datum(name) {
            Some(value) => Val::from_json(value),
            None if name == "data" => Val::Object(Object::Merged(self)),
            None => Val::Nil,
        }
    }
}

/// A text that is cheap to clone.
#[derive(Debug, Clone)]
pub(super) enum Text<'r> {
    Borrowed(&'r str),
    Shared(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

/// A JSON object, or the merged layers of a scope.
#[derive(Debug, Clone, Copy)]
pub(super) enum Object<'r> {
    Map(&'r Map<String, Value>),
    Merged(&'r Scope<'r>),
}

impl<'r> Object<'r> {
    fn get(self, key: &str) -> Option<&'r Value> {
        match self {
            Self::Map(map) => map.get(key),
            Self::Merged(scope) => scope.datum(key),
        }
    }

    /// How many keys there are.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Map(map) => map.len(),
            Self::Merged(scope) => scope.merged().len(),
        }
    }

    /// The entries as lists of key and value.
    fn pairs(self) -> Vec<Val<'r>> {
        let pair = |(key, value)| Val::list(vec![Val::borrowed(key), Val::from_json(value)]);
        match self {
            Self::Map(map) => map.iter().map(|(key, value)| pair((key.as_str(), value))).collect(),
            Self::Merged(scope) => scope.merged().into_iter().map(pair).collect(),
        }
    }

    fn json(self) -> String {
        match self {
            Self::Map(map) => serde_json::to_string(map),
            Self::Merged(scope) => serde_json::to_string(&scope.merged()),
        }
        .unwrap_or_default()
    }
}

/// Where a loop is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) index: usize,
    pub(super) length: usize,
}

impl<'r> Val<'r> {
    /// The value of JSON data.
    pub(super) fn from_json(value: &'r Value) -> Self {
        match value {
            Value::Null => Self::Nil,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(int), ..) => Self::Int(int.into()),
                (_, Some(int), _) => Self::Int(int.into()),
                (.., float) => Self::float(float.unwrap_or(f64::NAN)),
            },
            Value::String(text) => Self::borrowed(text),
            Value::Array(items) => Self::Array(items),
            Value::Object(map) => Self::Object(Object::Map(map)),
        }
    }

    /// A text of the data or the program.
    pub(super) fn borrowed(text: &'r str) -> Self {
        Self::Str(Text::Borrowed(text))
    }

    /// A text made by a filter, cut off at [`MAX_VALUE`].
    pub(super) fn string(text: impl AsRef<str>) -> Self {
        Self::Str(shared(text.as_ref()))
    }

    /// A text in which values are escaped already, cut off at [`MAX_VALUE`].
    pub(super) fn markup(text: impl AsRef<str>) -> Self {
        Self::Markup(shared(text.as_ref()))
    }

    /// A list made by a filter.
    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(items.into())
    }

    /// A number; nil if it is not finite.
    pub(super) fn float(value: f64) -> Self {
        // Adding zero turns -0 into 0.
        if value.is_finite() { Self::Float(value + 0.0) } else { Self::Nil }
    }

    /// Whether the fallback applies.
    pub(super) fn is_nil(&self) -> bool {
        matches!(self, Self::Nil)
    }

    /// How many elements a list has; nothing for what is not a list.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Self::Array(items) => Some(items.len()),
            Self::List(items) => Some(items.len()),
            Self::Range(first, last) => {
                let len = i128::from(*last) - i128::from(*first) + 1;
                Some(usize::try_from(len).unwrap_or(0))
            }
            _ => None,
        }
    }

    /// The element of a list at `index`.
    pub(super) fn item(&self, index: usize) -> Self {
        match self {
            Self::Array(items) => items.get(index).map_or(Self::Nil, Self::from_json),
            Self::List(items) => items.get(index).cloned().unwrap_or(Self::Nil),
            Self::Range(first, _) if self.len().is_some_and(|len| index < len) => {
                Self::Int(i128::from(*first) + index as i128)
            }
            _ => Self::Nil,
        }
    }

    /// What a loop goes through: a list as it is, the pairs of an object, a text as one element.
    pub(super) fn into_sequence(self) -> Self {
        match self {
            Self::Object(object) => Self::list(object.pairs()),
            Self::Str(ref text) | Self::Markup(ref text) if !text.is_empty() => Self::list(vec![self]),
            Self::Array(_) | Self::List(_) | Self::Range(..) => self,
            _ => Self::list(Vec::new()),
        }
    }

    /// The elements of a list, at most [`MAX_LIST`].
    pub(super) fn items(&self) -> Vec<Self> {
        let len = self.len().unwrap_or_default().min(MAX_LIST);
        (0..len).map(|index| self.item(index)).collect()
    }

    /// What `key` leads to, `index` being the key read as a number.
    pub(super) fn member(&self, key: &str, index: Option<i64>) -> Self {
        match self {
            Self::Object(object) => match object.get(key) {
                Some(value) => Self::from_json(value),
                None if key == "size" => Self::Int(object.len() as i128),
                None => Self::Nil,
            },
            Self::Array(_) | Self::List(_) | Self::Range(..) => self.element(key, index),
            Self::Str(text) | Self::Markup(text) if key == "size" => Self::Int(text.chars().count() as i128),
            Self::Turn(turn) => turn.member(key),
            _ => Self::Nil,
        }
    }

    fn element(&self, key: &str, index: Option<i64>) -> Self {
        let len = self.len().unwrap_or_default();
        match (key, index) {
            (_, Some(index)) => position(index, len).map_or(Self::Nil, |index| self.item(index)),
            ("size", _) => Self::Int(len as i128),
            ("first", _) => self.item(0),
            ("last", _) if len > 0 => self.item(len - 1),
            _ => Self::Nil,
        }
    }

    /// What the value of another expression leads to. Lists and objects are no keys.
    pub(super) fn at(&self, key: &Val<'_>) -> Self {
        match key {
            Val::Int(index) => self.member(&index.to_string(), i64::try_from(*index).ok()),
            Val::Nil => Self::Nil,
            _ if key.is_compound() => Self::Nil,
            _ => {
                let key = key.text();
                self.member(&key, key.parse().ok())
            }
        }
    }

    /// Whether the value is a list or an object.
    pub(super) fn is_compound(&self) -> bool {
        self.len().is_some() || matches!(self, Self::Object(_))
    }

    /// The value as a text. Lists are joined, objects are JSON.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Str(text) | Self::Markup(text) => Cow::Borrowed(text),
            Self::Nil | Self::Turn(_) | Self::Empty | Self::Blank => Cow::Borrowed(""),
            Self::Bool(value) => Cow::Borrowed(if *value { "true" } else { "false" }),
            Self::Int(value) => Cow::Owned(value.to_string()),
            Self::Float(value) => Cow::Owned(value.to_string()),
            Self::Object(object) => Cow::Owned(object.json()),
            Self::Array(_) | Self::List(_) | Self::Range(..) => Cow::Owned(self.joined(", ")),
        }
    }

    /// The elements of a list with `separator` between them, until [`MAX_VALUE`] is reached.
    pub(super) fn joined(&self, separator: &str) -> String {
        let mut out = String::new();
        for index in 0..self.len().unwrap_or_default() {
            if index > 0 {
                out.push_str(separator);
            }
            out.push_str(&self.item(index).element_text());
            if out.len() > MAX_VALUE {
                break;
            }
        }
        out
    }

    /// The value as a text within a list: lists in lists are JSON.
    pub(super) fn element_text(&self) -> Cow<'_, str> {
        if self.is_compound() { Cow::Owned(self.json()) } else { self.text() }
    }

    /// The value as compact JSON.
    pub(super) fn json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    fn write_json(&self, out: &mut String) {
        match self {
            Self::Nil | Self::Turn(_) | Self::Empty | Self::Blank => out.push_str("null"),
            Self::Str(text) | Self::Markup(text) => {
                out.push_str(&serde_json::to_string(&**text).unwrap_or_default());
            }
            Self::Array(items) => out.push_str(&serde_json::to_string(items).unwrap_or_default()),
            Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::Object(_) => out.push_str(&self.text()),
            // Only filters make lists, and they put at most pairs into them, so this does not go deep.
            Self::List(_) | Self::Range(..) => {
                out.push('[');
                for index in 0..self.len().unwrap_or_default().min(MAX_LIST) {
                    if index > 0 {
                        out.push(',');
                    }
                    self.item(index).write_json(out);
                }
                out.push(']');
            }
        }
    }

    /// The number that the value is, or that its text reads as.
    pub(super) fn number(&self) -> Option<Num> {
        match self {
            Self::Int(value) => Some(Num::Int(*value)),
            Self::Float(value) => Some(Num::Float(*value)),
            Self::Str(text) | Self::Markup(text) => Num::read(text),
            _ => None,
        }
    }

    /// About how many bytes must be touched to go through the value once, without going into its elements.
    pub(super) fn weight(&self) -> u64 {
        let bytes = match self {
            Self::Str(text) | Self::Markup(text) => text.len(),
            Self::Object(object) => object.len().saturating_mul(64),
            _ => self.len().unwrap_or(1).min(MAX_LIST) * 64,
        };
        bytes as u64
    }
}

impl Turn {
    fn member(self, key: &str) -> Val<'static> {
        let Self { index, length } = self;
        let left = length.saturating_sub(index);
        match key {
            "index" => Val::Int(index as i128 + 1),
            "index0" => Val::Int(index as i128),
            "rindex" => Val::Int(left as i128),
            "rindex0" => Val::Int(left as i128 - 1),
            "first" => Val::Bool(index == 0),
            "last" => Val::Bool(left == 1),
            "length" => Val::Int(length as i128),
            _ => Val::Nil,
        }
    }
}

/// The index that `index` is in a list of `len`; negative ones count from the end.
pub(super) fn position(index: i64, len: usize) -> Option<usize> {
    let from_start = if index < 0 { index.checked_add(i64::try_from(len).ok()?)? } else { index };
    usize::try_from(from_start).ok().filter(|index| *index < len)
}

/// `text` up to `limit` bytes, cut between characters.
pub(super) fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

fn shared<'r>(text: &str) -> Text<'r> {
    Text::Shared(cut(text, MAX_VALUE).into())
}
