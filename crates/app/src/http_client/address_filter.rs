//! Which addresses requests may be sent to (server-side request forgery).
//!
//! The list is that of IANA's registries of special-purpose addresses (RFC 6890), and a few addresses of cloud
//! platforms. Of IPv6 only what is assigned for global unicast (`2000::/3`) is public, so that blocks assigned later are
//! refused until somebody looks at them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::error::Refusal;

/// Which addresses a kind of destination may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    /// All of them.
    Any,
    /// Public ones alone.
    Public,
    /// Public ones, and those of this machine and of private networks.
    PublicAndPrivate,
}

/// What an address is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Public,
    /// This machine, or a network of its operator.
    Private(&'static str),
    /// Nothing that serves users: refused even where private networks are allowed.
    Special(&'static str),
}

impl Filter {
    /// Whether an address may be connected to.
    pub(super) fn check(self, address: IpAddr) -> Result<(), Refusal> {
        match (self, scope(address)) {
            (Self::Any, _) | (_, Scope::Public) | (Self::PublicAndPrivate, Scope::Private(_)) => Ok(()),
            (_, Scope::Private(what) | Scope::Special(what)) => Err(Refusal::Host(what)),
        }
    }
}

fn scope(address: IpAddr) -> Scope {
    match address {
        IpAddr::V4(address) => scope_v4(address),
        IpAddr::V6(address) => scope_v6(address),
    }
}

fn scope_v4(address: Ipv4Addr) -> Scope {
    match address.octets() {
        [127, ..] => Scope::Private("loopback"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Scope::Private("private network"),
        [100, 64..=127, ..] => Scope::Private("shared address space"),
        [0, ..] => Scope::Special("this network"),
        // metadata and credentials of cloud machines
        [169, 254, ..] => Scope::Special("link-local"),
        // the same, of Azure
        [168, 63, 129, 16] => Scope::Special("cloud platform"),
        // also metadata, of Oracle (192.0.0.192)
        [192, 0, 0, _] => Scope::Special("protocol assignments"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => {
            Scope::Special("an address for documentation")
        }
        [192, 88, 99, _] => Scope::Special("6to4 relay"),
        [198, 18..=19, ..] => Scope::Special("benchmarking"),
        [224..=239, ..] => Scope::Special("multicast"),
        [255, 255, 255, 255] => Scope::Special("broadcast"),
        [240..=255, ..] => Scope::Special("reserved"),
        _ => Scope::Public,
    }
}

fn scope_v6(address: Ipv6Addr) -> Scope {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Scope::Special("unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Scope::Private("loopback"),
        // IPv4-mapped, IPv4-compatible, NAT64 (RFC 6052): the address of IPv4 is what is reached
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            scope_v4(embedded(high, low))
        }
        // 6to4 (RFC 3056)
        [0x2002, high, low, ..] => scope_v4(embedded(high, low)),
        // Teredo (2001::/32) and other protocol assignments: no web server has one of these
        [0x2001, 0..=0x1ff, ..] => Scope::Special("protocol assignments"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Scope::Special("an address for documentation"),
        [0xfc00..=0xfdff, ..] if is_metadata(address) => Scope::Special("cloud platform"),
        [0xfc00..=0xfdff, ..] => Scope::Private("unique local"),
        [0xfe80..=0xfebf, ..] => Scope::Special("link-local"),
        [0xff00..=0xffff, ..] => Scope::Special("multicast"),
        [0x2000..=0x3fff, ..] => Scope::Public,
        _ => Scope::Special("not assigned"),
    }
}

/// Metadata of AWS and Google over IPv6.
fn is_metadata(address: Ipv6Addr) -> bool {
    matches!(address.segments(), [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254])
}

fn embedded(high: u16, low: u16) -> Ipv4Addr {
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Ipv4Addr::new(a, b, c, d)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Address, whether it is allowed by default, and whether where private networks are.
    const ADDRESSES: [(&str, bool, bool); 84] = [
        ("1.1.1.1", true, true),
        ("8.8.8.8", true, true),
        ("93.184.216.34", true, true),
        ("9.255.255.255", true, true),
        ("11.0.0.0", true, true),
        ("100.63.255.255", true, true),
        ("100.128.0.0", true, true),
        ("126.255.255.255", true, true),
        ("128.0.0.0", true, true),
        ("168.63.129.15", true, true),
        ("169.253.255.255", true, true),
        ("169.255.0.0", true, true),
        ("172.15.255.255", true, true),
        ("172.32.0.0", true, true),
        ("192.0.1.0", true, true),
        ("192.167.255.255", true, true),
        ("192.169.0.0", true, true),
        ("198.17.255.255", true, true),
        ("198.20.0.0", true, true),
        ("223.255.255.255", true, true),
        ("127.0.0.1", false, true),
        ("127.255.255.254", false, true),
        ("10.0.0.1", false, true),
        ("10.255.255.255", false, true),
        ("172.16.0.1", false, true),
        ("172.31.255.255", false, true),
        ("192.168.0.1", false, true),
        ("192.168.255.255", false, true),
        ("100.64.0.1", false, true),
        ("100.100.100.200", false, true),
        ("100.127.255.255", false, true),
        ("0.0.0.0", false, false),
        ("0.1.2.3", false, false),
        ("169.254.0.1", false, false),
        ("169.254.169.254", false, false),
        ("168.63.129.16", false, false),
        ("192.0.0.8", false, false),
        ("192.0.0.192", false, false),
        ("192.0.2.1", false, false),
        ("192.88.99.1", false, false),
        ("198.18.0.1", false, false),
        ("198.19.255.255", false, false),
        ("198.51.100.1", false, false),
        ("203.0.113.1", false, false),
        ("224.0.0.1", false, false),
        ("239.255.255.255", false, false),
        ("240.0.0.1", false, false),
        ("255.255.255.255", false, false),
        ("2606:4700:4700::1111", true, true),
        ("2001:4860:4860::8888", true, true),
        ("2001:200::1", true, true),
        ("2a00:1450:4001::1", true, true),
        ("::ffff:8.8.8.8", true, true),
        ("64:ff9b::8.8.8.8", true, true),
        ("2002:808:808::1", true, true),
        ("::1", false, true),
        ("fc00::1", false, true),
        ("fdff:ffff::1", false, true),
        ("::ffff:127.0.0.1", false, true),
        ("::ffff:10.0.0.1", false, true),
        ("::127.0.0.1", false, true),
        ("64:ff9b::10.0.0.1", false, true),
        ("2002:7f00:1::1", false, true),
        ("2002:a00:1::1", false, true),
        ("::", false, false),
        ("::2", false, false),
        ("::ffff:169.254.169.254", false, false),
        ("::169.254.169.254", false, false),
        ("64:ff9b::169.254.169.254", false, false),
        ("64:ff9b:1::1", false, false),
        ("2002:a9fe:a9fe::1", false, false),
        ("2001::1", false, false),
        ("2001:0:a9fe:a9fe::1", false, false),
        ("2001:2::1", false, false),
        ("2001:10::1", false, false),
        ("2001:db8::1", false, false),
        ("3fff::1", false, false),
        ("fd00:ec2::254", false, false),
        ("fd20:ce::254", false, false),
        ("fe80::1", false, false),
        ("febf::1", false, false),
        ("fec0::1", false, false),
        ("ff02::1", false, false),
        ("4000::1", false, false),
    ];

    #[test]
    fn addresses_are_told_apart() {
        for (text, public, with_private) in ADDRESSES {
            let address = text.parse().unwrap();
            assert_eq!(Filter::Public.check(address).is_ok(), public, "{text}");
            assert_eq!(Filter::PublicAndPrivate.check(address).is_ok(), with_private, "{text}");
            assert!(Filter::Any.check(address).is_ok(), "{text}");
        }
    }
}
