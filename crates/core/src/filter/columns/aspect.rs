//! What a column is about.

use std::borrow::Cow;

use crate::event::Activity;
use crate::filter::tree::DataPath;
use crate::ids::SegmentId;

/// What a column is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// The address.
    Email,
    /// Whether the contact is subscribed.
    Subscribed,
    /// When it last changed.
    UpdatedAt,
    /// A place in its custom data.
    Data(DataPath),
    /// The newest of its events of a name.
    Event(String),
    /// When an activity was last seen on one of its mails.
    Activity(Activity),
    /// Whether it is a stored member of a segment.
    Segment(SegmentId),
}

const EMAIL: &str = "email";
const SUBSCRIBED: &str = "subscribed";
const UPDATED_AT: &str = "updatedAt";
const DATA: &str = "data.";
const EVENT: &str = "event.";
const ACTIVITY: &str = "activity.";
const SEGMENT: &str = "segment.";

impl Aspect {
    /// The name by which the column is stored.
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            Self::Email => EMAIL.into(),
            Self::Subscribed => SUBSCRIBED.into(),
            Self::UpdatedAt => UPDATED_AT.into(),
            Self::Data(path) => format!("{DATA}{}", path.as_str()).into(),
            Self::Event(name) => format!("{EVENT}{name}").into(),
            Self::Activity(kind) => format!("{ACTIVITY}{}", kind.as_str()).into(),
            Self::Segment(id) => format!("{SEGMENT}{id}").into(),
        }
    }

    /// The aspect that has a name.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            EMAIL => return Some(Self::Email),
            SUBSCRIBED => return Some(Self::Subscribed),
            UPDATED_AT => return Some(Self::UpdatedAt),
            _ => {}
        }
        if let Some(path) = name.strip_prefix(DATA) {
            Some(Self::Data(DataPath::new(path)))
        } else if let Some(event) = name.strip_prefix(EVENT) {
            Some(Self::Event(event.to_owned()))
        } else if let Some(kind) = name.strip_prefix(ACTIVITY) {
            Activity::from_name(kind).map(Self::Activity)
        } else {
            name.strip_prefix(SEGMENT)?.parse().ok().map(Self::Segment)
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_name_is_of_one_aspect() {
        let all = [
            Aspect::Email,
            Aspect::Subscribed,
            Aspect::UpdatedAt,
            Aspect::Data(DataPath::new("a.b")),
            Aspect::Data(DataPath::new("email")),
            Aspect::Event("data.a".to_owned()),
            Aspect::Activity(Activity::Opened),
            Aspect::Segment(SegmentId::from(Uuid::from_u128(7))),
        ];
        for aspect in all {
            assert_eq!(Aspect::of_name(&aspect.name()), Some(aspect));
        }
        for other in ["", "emails", "activity.", "segment.7", "first"] {
            assert_eq!(Aspect::of_name(other), None, "{other}");
        }
    }
}
