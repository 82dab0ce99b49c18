//! Segments: groups of contacts, by rule or by hand (contract, Segment).

mod graph;
mod live;

use serde_json::Value;

use crate::ids::SegmentId;
use crate::names::names_in_json;
use crate::time::Timestamp;

pub use graph::{Graph, MAX_EXPANDED, MAX_NESTING, Node, Problem, mentions};
pub use live::{Change, Definition, Live, Sweep};

/// The most segments of a project.
pub const MAX_SEGMENTS: usize = 1000;
/// The largest condition, in bytes of JSON.
pub const MAX_CONDITION: usize = 64 * 1024;

names_in_json! {
    /// How the members of a segment are determined.
    pub enum SegmentType {
        /// A condition.
        Dynamic = "DYNAMIC",
        /// A list that is kept by hand.
        Static = "STATIC",
    }
}

/// A group of contacts.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Identifier.
    pub id: SegmentId,
    /// Name; the names of its events are derived from it.
    pub name: String,
    /// Internal note.
    pub description: Option<String>,
    /// How the members of a segment are determined.
    pub kind: SegmentType,
    /// The condition of a dynamic segment, as it was given.
    pub condition: Option<Value>,
    /// Whether members are stored, and events emitted as contacts join and leave. Without effect on a static segment.
    pub track_membership: bool,
    /// How many members it has, as far as that is known without looking.
    pub member_count: i64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Segment {
    /// Whether its members are rows that follow the contacts.
    pub fn is_tracked(&self) -> bool {
        self.kind == SegmentType::Dynamic && self.track_membership
    }
}

/// A segment's name as it occurs in the names of its events (reference 5.4). Names without any ASCII letter or
/// digit have an empty slug, and different names can have the same.
pub fn slug(name: &str) -> String {
    let kept = name.to_lowercase();
    let kept = kept.trim().chars().filter_map(|c| match c {
        'a'..='z' | '0'..='9' | '_' => Some(c),
        '-' => Some('-'),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    });
    let mut slug = String::new();
    for c in kept {
        if c != '-' || !slug.ends_with('-') {
            slug.push(c);
        }
    }
    slug.trim_matches('-').to_owned()
}

/// The name of the event that a contact's joining or leaving of a segment is.
pub fn event_name(segment: &str, entered: bool) -> String {
    format!("segment.{}.{}", slug(segment), if entered { "entry" } else { "exit" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::is_reserved;

    #[test]
    fn slugs_have_letters_digits_and_single_hyphens() {
        for (name, expected) in [
            ("VIP Users!", "vip-users"),
            ("  Big   spenders \t 2024 ", "big-spenders-2024"),
            ("a - b", "a-b"),
            ("--a--b--", "a-b"),
            ("under_score", "under_score"),
            ("Grüße aus Köln", "gre-aus-kln"),
            ("日本", ""),
            ("!a", "a"),
        ] {
            assert_eq!(slug(name), expected, "{name}");
        }
    }

    #[test]
    fn the_events_of_segments_are_reserved() {
        assert_eq!(event_name("VIP Users!", true), "segment.vip-users.entry");
        for (name, entered) in [("VIP", true), ("日本", false)] {
            assert!(is_reserved(&event_name(name, entered)));
        }
    }
}
