//! The names of the counters of a campaign's ledger: `<campaign>:<recipient_state>`, with `:<reason>` if there is one,
//! and `<campaign>:<figure>` for other sums.

use std::fmt;

use mailwright_core::email::{Reason, RecipientState};
use mailwright_core::ids::CampaignId;
use mailwright_core::names;

/// The name of a counter of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) campaign: CampaignId,
    pub(super) sum: Sum,
}

/// What a counter of a campaign counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sum {
    /// The mails in a state, for a reason.
    State(RecipientState, Option<Reason>),
    /// Another figure.
    Figure(Figure),
}

names! {
    /// A sum besides those of the states.
    pub(super) enum Figure {
        Audience = "AUDIENCE",
        Recipients = "RECIPIENTS",
        Delivered = "DELIVERED",
        Opened = "OPENED",
        Clicked = "CLICKED",
        Bounced = "BOUNCED",
        Complained = "COMPLAINED",
        Unsubscribed = "UNSUBSCRIBED",
        MachineOpened = "MACHINE_OPENED",
        MachineClicked = "MACHINE_CLICKED",
    }
}

/// What the names of all counters of a campaign begin with.
pub(crate) fn beginning(campaign: CampaignId) -> String {
    format!("{campaign}:")
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&beginning(self.campaign))?;
        match self.sum {
            Sum::State(state, None) => f.write_str(state.as_str()),
            Sum::State(state, Some(reason)) => write!(f, "{}:{}", state.as_str(), reason.as_str()),
            Sum::Figure(figure) => f.write_str(figure.as_str()),
        }
    }
}

impl Key {
    /// Reads a name; `None` if it is none of ours. A reason that only a newer program knows counts as none.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (campaign, what) = name.split_once(':')?;
        let (head, reason) = what.split_once(':').unwrap_or((what, ""));
        let sum = match RecipientState::from_name(head) {
            Some(state) => Sum::State(state, Reason::from_name(reason)),
            None => Sum::Figure(Figure::from_name(what)?),
        };
        Some(Self { campaign: campaign.parse().ok()?, sum })
    }
}

#[cfg(test)]
mod tests {
    use mailwright_core::time::Timestamp;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    fn sum() -> impl Strategy<Value = Sum> {
        prop_oneof![
            (select(&RecipientState::ALL[..]), proptest::option::of(select(&Reason::ALL[..])))
                .prop_map(|(state, reason)| Sum::State(state, reason)),
            select(&Figure::ALL[..]).prop_map(Sum::Figure),
        ]
    }

    proptest! {
        #[test]
        fn a_name_is_read_as_it_was_written(millis in 0..1_i64 << 40, random: [u8; 10], sum in sum()) {
            let campaign = CampaignId::new(Timestamp(millis), random);
            let name = Key { campaign, sum }.to_string();
            prop_assert!(name.starts_with(&beginning(campaign)));
            prop_assert_eq!(Key::parse(&name), Some(Key { campaign, sum }));
        }
    }

    #[test]
    fn names_are_those_that_are_stored() {
        let campaign = CampaignId::from_bytes([0; 16]);
        let name = |sum| Key { campaign, sum }.to_string();
        let id = "00000000-0000-0000-0000-000000000000";
        assert_eq!(name(Sum::Figure(Figure::Audience)), format!("{id}:AUDIENCE"));
        assert_eq!(name(Sum::State(RecipientState::InDoubt, None)), format!("{id}:IN_DOUBT"));
        let bounced = Sum::State(RecipientState::Failed, Some(Reason::Bounced));
        assert_eq!(name(bounced), format!("{id}:FAILED:bounced"));
        assert_eq!(Key::parse(&format!("{id}:FORGOTTEN")), None);
    }
}
