//! The known machines: networks and user agents, with what a hit from there means. The tables are text with tabs, and
//! can be replaced while the service runs.

mod agents;
mod network;
pub mod published;
mod ranges;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

pub use network::Network;

use self::agents::Agents;
use self::ranges::Ranges;
use crate::names;

/// The networks that come with the service.
const NETWORKS: &str = include_str!("networks.tsv");
/// The user agents that come with the service.
const AGENTS: &str = include_str!("agents.tsv");

/// The most lines that a table or a published list may have.
pub(super) const MAX_LINES: usize = 500_000;

names! {
    /// What a hit of a known network or user agent means.
    pub enum Effect {
        /// Whatever comes from there is a scanner.
        Scanner = "scanner",
        /// Fetches images when a person opens the mail. A click from there is a scanner.
        ImageProxy = "image-proxy",
        /// Fetches images without a person. A click from there is a scanner.
        PrefetchProxy = "prefetch-proxy",
        /// Networks only: people browse through it, so that the address tells nothing about who comes from there.
        Relay = "relay",
        /// User agents only: a person, though a shorter pattern says otherwise.
        Person = "person",
    }
}

/// What a table knows of a network or user agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known<'a> {
    /// Whose it is.
    pub owner: &'a Arc<str>,
    /// What a hit from there means.
    pub effect: Effect,
}

/// Why a table or list could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl ParseError {
    pub(super) fn new(line: usize, why: impl Into<String>) -> Self {
        Self { line, why: why.into() }
    }
}

/// The known machines, for look-ups. Reading takes a while; looking up an address takes less than a microsecond, a
/// user agent a few.
#[derive(Debug)]
pub struct Tables {
    v4: Ranges<u32>,
    v6: Ranges<u128>,
    agents: Agents,
    owners: Owners,
}

impl Tables {
    /// The tables that come with the service, read once.
    pub fn embedded() -> Arc<Self> {
        static TABLES: LazyLock<Arc<Tables>> = LazyLock::new(|| {
            Arc::new(
                Tables::parse(NETWORKS, AGENTS).expect("the embedded tables are tested to be well-formed"),
            )
        });
        Arc::clone(&TABLES)
    }

    /// The networks that come with the service, as text: an operator's own table begins with them, and goes on with
    /// the [`rows`] of the published lists.
    pub const fn embedded_networks() -> &'static str {
        NETWORKS
    }

    /// The user agents that come with the service, as text.
    pub const fn embedded_agents() -> &'static str {
        AGENTS
    }

    /// Reads both tables. Empty lines and lines that begin with `#` are passed over; the columns are separated by one
    /// tab.
    ///
    /// `networks` has network (CIDR), owner, effect, origin and date. Of networks within others the smallest holds; of
    /// the same network in two lines, the later line. So rows can be replaced by adding others.
    ///
    /// `agents` has pattern, owner, effect and origin. A user agent matches when it contains the pattern, in any case;
    /// `^` before the pattern stands for its beginning, `=` for all of it. Of several that match the longest holds.
    ///
    /// An error names the first line that is wrong; those of `agents` count from its own first line.
    pub fn parse(networks: &str, agents: &str) -> Result<Self, ParseError> {
        let mut owners = Owners::default();
        let mut v4 = Vec::new();
        let mut v6 = Vec::new();
        for (line, columns) in lines::<5>(networks)? {
            let [network, owner, effect, ..] = columns;
            let network: Network = network.parse().map_err(|why: String| ParseError::new(line, why))?;
            let effect = effect_of(effect, line)?;
            if effect == Effect::Person {
                return Err(ParseError::new(line, "a network is not a person"));
            }
            let what = owners.add(owner, effect, line)?;
            match network.bounds() {
                (IpAddr::V4(first), IpAddr::V4(last)) => v4.push((first.to_bits(), last.to_bits(), what)),
                (IpAddr::V6(first), IpAddr::V6(last)) => v6.push((first.to_bits(), last.to_bits(), what)),
                _ => return Err(ParseError::new(line, "the ends of the network are of two kinds")),
            }
        }
        let mut patterns = Vec::new();
        for (line, columns) in lines::<4>(agents)? {
            let [pattern, owner, effect, _] = columns;
            let effect = effect_of(effect, line)?;
            if effect == Effect::Relay {
                return Err(ParseError::new(line, "a user agent is not a relay"));
            }
            let pattern = agents::pattern(pattern).map_err(|why| ParseError::new(line, why))?;
            patterns.push((pattern, owners.add(owner, effect, line)?));
        }
        owners.index = HashMap::new();
        Ok(Self { v4: Ranges::new(v4), v6: Ranges::new(v6), agents: Agents::new(patterns), owners })
    }

    /// What is known of the network of an address. An IPv4 address within IPv6 counts as IPv4.
    pub fn network(&self, address: IpAddr) -> Option<Known<'_>> {
        let what = match address.to_canonical() {
            IpAddr::V4(address) => self.v4.find(address.to_bits()),
            IpAddr::V6(address) => self.v6.find(address.to_bits()),
        };
        self.owners.known(what?)
    }

    /// What is known of a user agent.
    pub fn agent(&self, agent: &str) -> Option<Known<'_>> {
        self.owners.known(self.agents.find(agent)?)
    }

    /// How many bytes the networks take in memory.
    pub fn network_bytes(&self) -> usize {
        self.v4.bytes() + self.v6.bytes()
    }
}

/// The lines of a table of networks for the networks of a published list. Tabs and line ends in the texts become
/// spaces.
pub fn rows(networks: &[Network], owner: &str, effect: Effect, origin: &str, date: &str) -> String {
    let [owner, origin, date] = [owner, origin, date].map(|text| text.replace(['\t', '\n', '\r'], " "));
    let mut text = String::new();
    for network in networks {
        text += &format!("{network}\t{owner}\t{effect}\t{origin}\t{date}\n");
    }
    text
}

/// Who the rows belong to and what they mean, each pair once.
#[derive(Debug, Default)]
struct Owners {
    list: Vec<(Arc<str>, Effect)>,
    /// Only while the tables are read.
    index: HashMap<(String, Effect), u16>,
}

impl Owners {
    fn add(&mut self, owner: &str, effect: Effect, line: usize) -> Result<u16, ParseError> {
        if let Some(&known) = self.index.get(&(owner.to_owned(), effect)) {
            return Ok(known);
        }
        let next =
            u16::try_from(self.list.len()).map_err(|_| ParseError::new(line, "more than 65,536 owners"))?;
        self.list.push((owner.into(), effect));
        self.index.insert((owner.to_owned(), effect), next);
        Ok(next)
    }

    fn known(&self, what: u16) -> Option<Known<'_>> {
        self.list.get(usize::from(what)).map(|(owner, effect)| Known { owner, effect: *effect })
    }
}

fn effect_of(name: &str, line: usize) -> Result<Effect, ParseError> {
    Effect::from_name(name).ok_or_else(|| {
        let names = Effect::ALL.map(Effect::as_str).join(", ");
        ParseError::new(line, format!("{:?} is no effect; there are {names}", short(name)))
    })
}

/// The lines that say something, with their numbers and their columns, none of them empty.
fn lines<const N: usize>(text: &str) -> Result<Vec<(usize, [&str; N])>, ParseError> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if found.len() == MAX_LINES {
            return Err(ParseError::new(number, format!("more than {MAX_LINES} lines")));
        }
        let mut columns = [""; N];
        let mut parts = line.split('\t');
        for column in &mut columns {
            *column = parts.next().unwrap_or_default();
        }
        if parts.next().is_some() || columns.contains(&"") {
            return Err(ParseError::new(number, format!("expected {N} columns, separated by one tab")));
        }
        found.push((number, columns));
    }
    Ok(found)
}

/// The beginning of a text from outside, for messages.
fn short(text: &str) -> String {
    text.chars().take(60).collect()
}
