//! Hits: the opens (the tracking pixel was fetched) and clicks (a tracked link was followed) of a mail, and whether a
//! person or a machine made them.
//!
//! Every hit is stored as it comes. After a settle time [`judge()`] looks at all hits of the mail that are not judged
//! yet, together with the earlier ones. It uses nothing but its arguments: the [`Tables`] of known machines, the
//! [`Timing`], the [`MailFacts`] and the hits.
//!
//! # What counts as a person
//!
//! - What no evidence speaks against is a person's.
//! - An image proxy that fetches when the mail is opened (Gmail, Yahoo Mail) shows that a person opened it: its fetch
//!   is `human`, and the reason names the proxy. Within [`Timing::prefetch`] of the delivery it is `proxy`, since
//!   nobody reads that fast. A click by an image proxy is a check of the link: `scanner`.
//! - A proxy that fetches without anybody (Apple Mail Privacy Protection) is always `proxy`.
//! - Security scanners, link previews, crawlers and HTTP libraries are `scanner`.
//!
//! # Evidence against a person
//!
//! Evidence of a hit alone: the user agent, the network of the address, both, an absent user agent, the trap (a link
//! that no reader can see), a click too soon after the delivery. Evidence of hits together: a burst, which is more
//! different links in a short time than a person can follow ([`Timing::bursts`]). What comes from the network of a
//! trap hit, of a burst or of a click that came too soon, or has its user agent, is judged like it for a short time
//! ([`Timing::company`], [`Timing::same_agent`]). Company is not passed on: only the direct evidence counts, so that the
//! order of the hits does not matter. Networks of the tables are shared by many people and make no company.
//!
//! More hits can only add evidence. So a hit that was judged `human` may become `proxy` or `scanner` when later hits
//! are known, and never the other way: judging at once and in pieces ends with the same classes.
//!
//! # Limits
//!
//! A person who clicks from behind the address of an on-premises scanner within a minute of its burst is taken for the
//! scanner. A scanner that follows one link, later than a few seconds after the delivery, from an unknown network and
//! with the user agent of a browser, is taken for a person. Nothing in a hit tells these apart.

mod evidence;
mod judge;
mod prefetch;
mod reason;
mod tables;
#[cfg(test)]
mod tests;
mod timing;

use std::net::IpAddr;
use std::sync::Arc;

pub use judge::{Judged, judge};
pub use prefetch::is_prefetch;
pub use reason::HitReason;
pub use tables::published::{self, Format, Source, sources};
pub use tables::{Effect, Known, Network, ParseError, Tables, rows};
pub use timing::{Burst, Share, Timing};

use crate::names::names_in_json;
use crate::time::Timestamp;

names_in_json! {
    /// Who made a hit: a person, a proxy that fetches images, or a machine that checks mails.
    #[derive(PartialOrd, Ord)]
    pub enum HitClass {
        /// A person, possibly through an image proxy. The counters of people count these.
        Human = "human",
        /// A proxy that fetched the images without a person. Counted apart, as a machine.
        Proxy = "proxy",
        /// A scanner, a link preview, a crawler or a program. Counted apart, as a machine.
        Scanner = "scanner",
    }
}

/// What was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// The tracking pixel: an open.
    Pixel,
    /// The tracked link with this number: a click.
    Link(u32),
}

/// A hit as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawHit {
    /// When.
    pub at: Timestamp,
    /// What was fetched.
    pub target: Target,
    /// The `User-Agent` field as it was sent, possibly cut; empty when there was none.
    pub agent: String,
    /// The address of the client, when it is known.
    pub address: Option<IpAddr>,
}

/// A hit that was judged before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedHit {
    /// The hit.
    pub hit: RawHit,
    /// What it was judged to be.
    pub class: HitClass,
    /// Why.
    pub reason: HitReason,
}

/// What is known of the mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MailFacts {
    /// When the next hop took the mail; `None` when that is not known yet.
    pub handed_over_at: Option<Timestamp>,
    /// When the mail reached the mailbox, as a report says; `None` without a report.
    pub delivered_at: Option<Timestamp>,
    /// How many different tracked links the mail has, without the trap.
    pub links: usize,
    /// The number of the invisible link, when the mail has one.
    pub trap: Option<u32>,
}

/// What a hit is, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The class.
    pub class: HitClass,
    /// The evidence that decided.
    pub reason: HitReason,
    /// Whose proxy or scanner it is, where the tables know.
    pub owner: Option<Arc<str>>,
}

impl Judgement {
    /// The reason as a sentence for users: why this is a machine, or a person.
    pub fn words(&self) -> String {
        self.reason.words(self.owner.as_deref())
    }
}
