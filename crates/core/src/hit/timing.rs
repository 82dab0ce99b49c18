//! How fast people are: every threshold of the judgement.

use std::time::Duration;

/// The thresholds. [`Timing::default`] has the ones to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// A click so long after the hand-over or the delivery is no person's: 2 seconds. Notice, opening, reading and
    /// aiming take a person longer. An open so early is no person's either when a machine was at work at that time.
    pub soon: Duration,
    /// An image proxy's fetch so long after the hand-over or the delivery is a prefetch: 3 seconds.
    pub prefetch: Duration,
    /// Hits so long before the known hand-over still count as soon after it: 1 minute. A scanner looks at the mail
    /// before its server answers. Earlier hits are those of another hand-over of the same mail, and tell nothing.
    pub ahead: Duration,
    /// What a person cannot do. One that is met is enough.
    pub bursts: Vec<Burst>,
    /// For how long, before and after, the network of a machine that was found by its behaviour is that machine's: 1
    /// minute. The same holds for the user agent of who followed the invisible link.
    pub company: Duration,
    /// For how long, before and after, the user agent of a burst, or of a click that came too soon, is that machine's:
    /// 2 seconds. It is short since many people have the same user agent.
    pub same_agent: Duration,
}

/// Different links in a short time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// How many different links, at least.
    pub links: usize,
    /// How many of the mail's links these must be.
    pub share: Share,
    /// In what time, from the first to the last.
    pub within: Duration,
}

/// A part of a mail's links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// All of them.
    All,
    /// At least half of them.
    Half,
    /// However many.
    Any,
}

/// A person who opens links in tabs needs about 0.6 seconds from one to the next, since each has to be found and aimed
/// at. The bursts are faster than that, or more than a person would open at this speed.
const BURSTS: [Burst; 5] = [
    Burst { links: 2, share: Share::All, within: Duration::from_secs(1) },
    Burst { links: 3, share: Share::Half, within: Duration::from_millis(1100) },
    Burst { links: 4, share: Share::Half, within: Duration::from_millis(1700) },
    Burst { links: 5, share: Share::Half, within: Duration::from_secs(2) },
    Burst { links: 8, share: Share::Any, within: Duration::from_secs(2) },
];

impl Default for Timing {
    fn default() -> Self {
        Self {
            soon: Duration::from_secs(2),
            prefetch: Duration::from_secs(3),
            ahead: Duration::from_mins(1),
            bursts: BURSTS.to_vec(),
            company: Duration::from_mins(1),
            same_agent: Duration::from_secs(2),
        }
    }
}

impl Burst {
    /// How many different links of a mail with `of` links make this burst; `None` when that mail has too few.
    pub(super) fn needed(&self, of: usize) -> Option<usize> {
        let share = match self.share {
            Share::All => of,
            Share::Half => of.div_ceil(2),
            Share::Any => return Some(self.links),
        };
        (of >= self.links).then_some(share.max(self.links))
    }
}
