//! The instants at which the passing of time changes the answer of a filter about a contact.

use std::collections::BTreeSet;
use std::time::Duration;

use super::date::Moment;
use super::tree::{Condition, DataPath, DataTest, EventTest, Filter, TimeField, TimeTest};
use crate::contact::Contact;
use crate::event::Activity;
use crate::time::Timestamp;

/// The least and the greatest instant that a date can stand for, in milliseconds: the years 0 to 9999.
const YEARS: (i64, i64) = (-62_167_219_200_000, 253_402_300_799_999);

/// A condition whose truth changes as time passes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Window {
    /// Whose time it looks at.
    pub source: WindowSource,
    /// How long: what happened at `v` changes sides right after `v + length`.
    pub length: Duration,
}

/// What a window looks at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowSource {
    /// The contact's creation.
    CreatedAt,
    /// The contact's last change.
    UpdatedAt,
    /// A date among the custom data.
    Data(DataPath),
    /// The newest event of a name.
    Event(String),
    /// The newest activity of a kind.
    Activity(Activity),
}

impl Filter {
    /// The windows of the filter, each once, nested trees included.
    pub fn windows(&self) -> Vec<Window> {
        let mut windows = BTreeSet::new();
        self.each(&mut |condition| windows.extend(condition.window()));
        windows.into_iter().collect()
    }
}

impl Condition {
    fn window(&self) -> Option<Window> {
        let (source, length) = match self {
            Self::Time { field, test: TimeTest::Within(length) | TimeTest::OlderThan(length) } => {
                let source = match field {
                    TimeField::CreatedAt => WindowSource::CreatedAt,
                    TimeField::UpdatedAt => WindowSource::UpdatedAt,
                };
                (source, *length)
            }
            Self::Data { path, test: DataTest::Within(length) | DataTest::OlderThan(length) } => {
                (WindowSource::Data(path.clone()), *length)
            }
            Self::Event { name, test } => (WindowSource::Event(name.clone()), test.length()?),
            Self::Activity { kind, test } => (WindowSource::Activity(*kind), test.length()?),
            Self::Email(_)
            | Self::Subscribed(_)
            | Self::Time { .. }
            | Self::Data { .. }
            | Self::Context { .. }
            | Self::Segment { .. } => return None,
        };
        Some(Window { source, length })
    }
}

impl EventTest {
    fn length(self) -> Option<Duration> {
        match self {
            Self::Triggered | Self::NotTriggered => None,
            Self::Within(length) | Self::OlderThan(length) | Self::NotWithin(length) => Some(length),
        }
    }
}

impl Window {
    /// The first instant at which the contact's own time lies outside of the window; `None` where the window looks at
    /// something else, or the contact has no such time.
    pub fn passes(&self, contact: &Contact) -> Option<Timestamp> {
        let time = match &self.source {
            WindowSource::CreatedAt => contact.created_at,
            WindowSource::UpdatedAt => contact.updated_at,
            WindowSource::Data(path) => {
                last_instant(&Moment::of_stored(path.find(&contact.data)?.as_str()?)?)
            }
            WindowSource::Event(_) | WindowSource::Activity(_) => return None,
        };
        // a window of a hundred million days, or a date of that year, is never left
        let passed = Timestamp(time.plus(self.length).0.saturating_add(1));
        (passed.0 < i64::MAX).then_some(passed)
    }
}

/// The last instant that is not after a date. Stored dates need not be in the calendar: the 30th of February lies
/// between the 29th and the 1st of March.
fn last_instant(date: &Moment) -> Timestamp {
    date.instant().unwrap_or_else(|| {
        let (mut least, mut greatest) = YEARS;
        while least < greatest {
            let middle = least + (greatest - least + 1) / 2;
            if Moment::of(Timestamp(middle)) <= *date {
                least = middle;
            } else {
                greatest = middle - 1;
            }
        }
        Timestamp(least)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::address::EmailAddress;
    use crate::filter::{DataPath, Filter};
    use crate::ids::{ContactId, SegmentId};

    struct Alone(Contact);

    impl crate::filter::Facts for Alone {
        fn contact(&self) -> &Contact {
            &self.0
        }

        fn last_event(&self, _: &str) -> Option<Timestamp> {
            None
        }

        fn last_activity(&self, _: crate::filter::Activity) -> Option<Timestamp> {
            None
        }

        fn is_member(&self, _: SegmentId) -> bool {
            false
        }
    }

    fn contact(renewal: &str) -> Contact {
        let at = Timestamp(1_763_000_000_123);
        let mut data = crate::custom_data::Data::new();
        data.insert("renewal".into(), json!(renewal));
        Contact {
            id: ContactId::new(at, rand::random()),
            email: EmailAddress::parse("ann@example.com").unwrap(),
            subscribed: true,
            data,
            created_at: at,
            updated_at: at.plus(Duration::from_secs(5)),
        }
    }

    /// The filter changes sides at that very millisecond.
    fn assert_flips(tree: &Filter, contact: &Contact, at: Timestamp) {
        let facts = Alone(contact.clone());
        assert!(tree.matches(&facts, Timestamp(at.0 - 1)), "{tree:?} before {at}");
        assert!(!tree.matches(&facts, at), "{tree:?} at {at}");
    }

    #[test]
    fn windows_pass_when_the_filter_changes_sides() {
        for field in ["createdAt", "updatedAt", "data.renewal"] {
            for renewal in [
                "2025-11-13",
                "2025-11-13T02:13:20",
                "2025-11-13T02:13:20.500Z",
                "2025-02-30",
                "2025-13-01",
                "2025-01-01T27:00:00",
            ] {
                let tree = Filter::parse(&json!({"logic": "AND", "groups": [{"filters": [
                    {"field": field, "operator": "within", "value": 3, "unit": "hours"}]}]}))
                .unwrap();
                let contact = contact(renewal);
                let [window] = &tree.windows()[..] else { panic!("one window") };
                assert_flips(&tree, &contact, window.passes(&contact).unwrap());
            }
        }
    }

    #[test]
    fn what_has_no_time_never_passes() {
        let source = WindowSource::Data(DataPath::new("renewal"));
        let window = Window { source, length: Duration::from_secs(1) };
        assert_eq!(window.passes(&contact("soon")), None);
        let forever = Window { source: WindowSource::CreatedAt, length: Duration::from_millis(u64::MAX) };
        assert_eq!(forever.passes(&contact("soon")), None);
    }
}
