//! The operators of conditions.

use crate::filter::tree::Comparison;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equals,
    NotEquals,
    Contains,
    NotContains,
    Compare(Comparison),
    Exists,
    NotExists,
    Within,
    OlderThan,
    Triggered,
    NotTriggered,
    TriggeredWithin,
    TriggeredOlderThan,
    NotTriggeredWithin,
    MemberOfSegment,
    NotMemberOfSegment,
}

/// The names of all operators.
pub fn operator_names() -> impl Iterator<Item = &'static str> {
    Operator::ALL.into_iter().map(Operator::as_str)
}

impl Operator {
    pub(super) const ALL: [Self; 19] = [
        Self::Equals,
        Self::NotEquals,
        Self::Contains,
        Self::NotContains,
        Self::Compare(Comparison::Greater),
        Self::Compare(Comparison::Less),
        Self::Compare(Comparison::GreaterOrEqual),
        Self::Compare(Comparison::LessOrEqual),
        Self::Exists,
        Self::NotExists,
        Self::Within,
        Self::OlderThan,
        Self::Triggered,
        Self::NotTriggered,
        Self::TriggeredWithin,
        Self::TriggeredOlderThan,
        Self::NotTriggeredWithin,
        Self::MemberOfSegment,
        Self::NotMemberOfSegment,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "equals",
            Self::NotEquals => "notEquals",
            Self::Contains => "contains",
            Self::NotContains => "notContains",
            Self::Compare(Comparison::Greater) => "greaterThan",
            Self::Compare(Comparison::Less) => "lessThan",
            Self::Compare(Comparison::GreaterOrEqual) => "greaterThanOrEqual",
            Self::Compare(Comparison::LessOrEqual) => "lessThanOrEqual",
            Self::Exists => "exists",
            Self::NotExists => "notExists",
            Self::Within => "within",
            Self::OlderThan => "olderThan",
            Self::Triggered => "triggered",
            Self::NotTriggered => "notTriggered",
            Self::TriggeredWithin => "triggeredWithin",
            Self::TriggeredOlderThan => "triggeredOlderThan",
            Self::NotTriggeredWithin => "notTriggeredWithin",
            Self::MemberOfSegment => "memberOfSegment",
            Self::NotMemberOfSegment => "notMemberOfSegment",
        }
    }

    pub(super) fn is_for_events(self) -> bool {
        matches!(
            self,
            Self::Triggered
                | Self::NotTriggered
                | Self::TriggeredWithin
                | Self::TriggeredOlderThan
                | Self::NotTriggeredWithin
        )
    }

    pub(super) fn is_for_segments(self) -> bool {
        matches!(self, Self::MemberOfSegment | Self::NotMemberOfSegment)
    }
}
