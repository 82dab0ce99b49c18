//! Lists of networks that their owners publish, in the formats in which they do. What is read here is not trusted: it
//! is bounded, and what is no list of networks is refused as a whole, so that an error page replaces no table.

use std::sync::LazyLock;

use serde::Deserialize;

use super::network::aggregate;
use super::{Effect, MAX_LINES, Network, ParseError, effect_of, lines};
use crate::names;

/// The longest list, in bytes.
const MAX_BYTES: usize = 64 << 20;

names! {
    /// How a list is written.
    pub enum Format {
        /// JSON as Google publishes it, and others after it: [`google`].
        Google = "google",
        /// JSON as Microsoft publishes the endpoints of Microsoft 365: [`microsoft`].
        Microsoft = "microsoft",
        /// CSV that begins with the network (RFC 8805): [`geofeed`].
        Geofeed = "geofeed",
        /// A network a line: [`plain`].
        Plain = "plain",
    }
}

/// A list that somebody publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Where it is published.
    pub url: &'static str,
    /// How it is written.
    pub format: Format,
    /// Which part of it is meant; empty for all of it. Microsoft: a service area, and after a `/` a TCP port.
    pub part: &'static str,
    /// Whose networks these are.
    pub owner: &'static str,
    /// What a hit from there means.
    pub effect: Effect,
}

/// The published lists that are known. Where two have the same network the later one holds.
pub fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        read_sources(include_str!("sources.tsv")).expect("the embedded table is tested to be well-formed")
    });
    &SOURCES
}

fn read_sources(text: &'static str) -> Result<Vec<Source>, ParseError> {
    let source = |(line, [url, format, part, owner, effect]): (usize, [&'static str; 5])| {
        let format = Format::from_name(format).ok_or_else(|| ParseError::new(line, "no format"))?;
        let part = if part == "-" { "" } else { part };
        Ok(Source { url, format, part, owner, effect: effect_of(effect, line)? })
    };
    lines::<5>(text)?.into_iter().map(source).collect()
}

impl Source {
    /// Reads the list as it was fetched from [`Source::url`].
    pub fn read(&self, text: &str) -> Result<Vec<Network>, ParseError> {
        match self.format {
            Format::Google => google(text),
            Format::Microsoft => microsoft(text, self.part),
            Format::Geofeed => geofeed(text),
            Format::Plain => plain(text),
        }
    }
}

#[derive(Deserialize)]
struct GoogleList {
    prefixes: Vec<GooglePrefix>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GooglePrefix {
    ipv4_prefix: Option<String>,
    ipv6_prefix: Option<String>,
}

/// Reads `{"prefixes": [{"ipv4Prefix": "..."}, {"ipv6Prefix": "..."}]}`. The networks are aggregated: the fewest with
/// the same addresses, ascending.
pub fn google(text: &str) -> Result<Vec<Network>, ParseError> {
    let list: GoogleList = json(text)?;
    let texts =
        list.prefixes.into_iter().flat_map(|prefix| [prefix.ipv4_prefix, prefix.ipv6_prefix]).flatten();
    finish((1..).zip(texts), "entry")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MicrosoftEndpoints {
    service_area: String,
    #[serde(default)]
    tcp_ports: String,
    #[serde(default)]
    ips: Vec<String>,
}

/// Reads `[{"serviceArea": "Exchange", "ips": ["..."], "tcpPorts": "25"}]`. `part` is a service area (`Exchange`), or
/// one with a port (`Exchange/25`), or empty for everything. The networks are aggregated as in [`google`].
pub fn microsoft(text: &str, part: &str) -> Result<Vec<Network>, ParseError> {
    let list: Vec<MicrosoftEndpoints> = json(text)?;
    let (area, tcp_port) = part.split_once('/').unwrap_or((part, ""));
    let is_meant = |endpoints: &MicrosoftEndpoints| {
        (area.is_empty() || endpoints.service_area == area)
            && (tcp_port.is_empty() || endpoints.tcp_ports.split(',').any(|port| port.trim() == tcp_port))
    };
    let texts = list.into_iter().filter(is_meant).flat_map(|endpoints| endpoints.ips);
    finish((1..).zip(texts), "entry")
}

/// Reads lines of `network,country,region,city,` (RFC 8805), of which only the network matters. Empty lines and lines
/// that begin with `#` are passed over. The networks are aggregated as in [`google`].
pub fn geofeed(text: &str) -> Result<Vec<Network>, ParseError> {
    bounded(text)?;
    let first = |(number, line): (usize, &str)| {
        let network = line.split(',').next().unwrap_or_default().trim();
        (!network.is_empty() && !network.starts_with('#')).then(|| (number, network.to_owned()))
    };
    finish((1..).zip(text.lines()).filter_map(first), "line")
}

/// Reads a network or address a line. Empty lines and what follows `#` or `;` are passed over. The networks are
/// aggregated as in [`google`].
pub fn plain(text: &str) -> Result<Vec<Network>, ParseError> {
    bounded(text)?;
    let first = |(number, line): (usize, &str)| {
        let network = line.split(['#', ';']).next().unwrap_or_default().trim();
        (!network.is_empty()).then(|| (number, network.to_owned()))
    };
    finish((1..).zip(text.lines()).filter_map(first), "line")
}

fn bounded(text: &str) -> Result<(), ParseError> {
    if text.len() > MAX_BYTES {
        return Err(ParseError::new(1, format!("the list is longer than {MAX_BYTES} bytes")));
    }
    Ok(())
}

fn json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ParseError> {
    bounded(text)?;
    serde_json::from_str(text).map_err(|error| ParseError::new(error.line(), error.to_string()))
}

/// Reads the networks. The numbers are those of lines, or of entries where lines mean nothing.
fn finish(texts: impl Iterator<Item = (usize, String)>, unit: &str) -> Result<Vec<Network>, ParseError> {
    let mut networks = Vec::new();
    for (number, text) in texts {
        if networks.len() == MAX_LINES {
            return Err(ParseError::new(number, format!("more than {MAX_LINES} networks")));
        }
        let network = Network::around(&text).map_err(|why| match unit {
            "line" => ParseError::new(number, why),
            _ => ParseError::new(1, format!("{unit} {number}: {why}")),
        })?;
        networks.push(network);
    }
    if networks.is_empty() {
        return Err(ParseError::new(1, "the list has no networks"));
    }
    Ok(aggregate(networks))
}
