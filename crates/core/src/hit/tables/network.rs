//! Networks in CIDR notation (RFC 4632, RFC 4291 section 2.3).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network. Only those are made that one owner can have: at most 2^24 addresses of IPv4, and for IPv6 a prefix of at
/// least 16 bits. A wider one would be a mistake that turns everybody into a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network {
    first: IpAddr,
    prefix: u8,
}

impl Network {
    /// The first and the last address. Both are of the same kind.
    pub fn bounds(&self) -> (IpAddr, IpAddr) {
        let last = match self.first {
            IpAddr::V4(first) => Ipv4Addr::from_bits(first.to_bits() | host_bits_v4(self.prefix)).into(),
            IpAddr::V6(first) => Ipv6Addr::from_bits(first.to_bits() | host_bits_v6(self.prefix)).into(),
        };
        (self.first, last)
    }

    /// How many bits of the address name the network.
    pub fn prefix(&self) -> u8 {
        self.prefix
    }
}

fn host_bits_v4(prefix: u8) -> u32 {
    u32::MAX.checked_shr(prefix.into()).unwrap_or(0)
}

fn host_bits_v6(prefix: u8) -> u128 {
    u128::MAX.checked_shr(prefix.into()).unwrap_or(0)
}

/// `address/prefix`, or an address alone; no bit after the prefix may be set. The error is a sentence about the text.
impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let network = Self::around(text)?;
        let address = text.split_once('/').map_or(text, |(address, _)| address);
        if address.parse() == Ok(network.first) {
            Ok(network)
        } else {
            Err(format!("{text} has bits set after its prefix"))
        }
    }
}

impl Network {
    /// The network around an address: `address/prefix`, where bits after the prefix may be set, as they are in some
    /// published lists.
    pub(super) fn around(text: &str) -> Result<Self, String> {
        let no_network = || format!("{:?} is no network", text.chars().take(60).collect::<String>());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| no_network())?;
        let (bits, least) = if address.is_ipv4() { (32, 8) } else { (128, 16) };
        let prefix = match prefix {
            None => bits,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().map_err(|_| no_network())?
            }
            Some(_) => return Err(no_network()),
        };
        if prefix > bits {
            return Err(no_network());
        }
        if prefix < least {
            return Err(format!("{text} is wider than /{least}"));
        }
        let first = match address {
            IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & !host_bits_v4(prefix)).into(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !host_bits_v6(prefix)).into(),
        };
        Ok(Self { first, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

/// The fewest networks with the same addresses, ascending, IPv4 first.
pub(super) fn aggregate(mut networks: Vec<Network>) -> Vec<Network> {
    networks.sort_unstable();
    let mut found: Vec<Network> = Vec::new();
    for network in networks {
        // sorted by first address, the wider first: what is within another comes after it
        if let Some(before) = found.last()
            && before.bounds().1 >= network.first
        {
            continue;
        }
        found.push(network);
        // two halves become one, and that may be the other half of the one before
        while let [.., lower, upper] = found.as_slice()
            && let Some(both) = joined(lower, upper)
        {
            found.truncate(found.len() - 2);
            found.push(both);
        }
    }
    found
}

/// The network whose halves these are.
fn joined(lower: &Network, upper: &Network) -> Option<Network> {
    let prefix = lower.prefix.checked_sub(1)?;
    let is_wide = prefix < if lower.first.is_ipv4() { 8 } else { 16 };
    let both = Network { first: lower.first, prefix };
    let starts = match lower.first {
        IpAddr::V4(first) => first.to_bits() & host_bits_v4(prefix) == 0,
        IpAddr::V6(first) => first.to_bits() & host_bits_v6(prefix) == 0,
    };
    let fits = lower.prefix == upper.prefix && starts && !is_wide;
    (fits && both.bounds().1 == upper.bounds().1).then_some(both)
}
