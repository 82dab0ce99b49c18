//! Lists of networks that their owners publish.

use proptest::prelude::*;

use super::*;
use crate::hit::published::{geofeed, google, microsoft, plain};
use crate::hit::{Effect, Format, Network, ParseError, rows, sources};

fn texts(read: Result<Vec<Network>, ParseError>) -> Vec<String> {
    read.unwrap().iter().map(ToString::to_string).collect()
}

#[test]
fn google_publishes_json() {
    let list = r#"{"creationTime": "2026-11-20T14:46:15.000000", "prefixes": [
        {"ipv6Prefix": "2001:4860:4801:10::/64"}, {"ipv4Prefix": "66.249.64.0/27"}, {"ipv4Prefix": "66.249.64.32/27"}
    ]}"#;
    assert_eq!(texts(google(list)), ["66.249.64.0/26", "2001:4860:4801:10::/64"]);
    assert_eq!(google("<html>").unwrap_err().line, 1);
    assert_eq!(google(r#"{"prefixes": []}"#).unwrap_err().why, "the list has no networks");
    let error =
        google(r#"{"prefixes": [{"ipv4Prefix": "10.0.0.0/8"}, {"ipv4Prefix": "0.0.0.0/0"}]}"#).unwrap_err();
    assert_eq!(error.why, "entry 2: 0.0.0.0/0 is wider than /8");
}

#[test]
fn microsoft_publishes_endpoints() {
    let list = r#"[
        {"id": 1, "serviceArea": "Exchange", "serviceAreaDisplayName": "Exchange Online", "urls": ["outlook.office.com"],
         "ips": ["52.96.0.0/14", "2603:1006::/40"], "tcpPorts": "80,443", "category": "Optimize", "required": true},
        {"id": 10, "serviceArea": "Exchange", "ips": ["40.92.0.0/15", "104.47.0.0/17"], "tcpPorts": "25"},
        {"id": 11, "serviceArea": "Skype", "ips": ["13.107.64.0/18"], "udpPorts": "3478"},
        {"id": 8, "serviceArea": "Exchange", "urls": ["*.outlook.com"], "tcpPorts": "80,443"}
    ]"#;
    assert_eq!(
        texts(microsoft(list, "Exchange")),
        ["40.92.0.0/15", "52.96.0.0/14", "104.47.0.0/17", "2603:1006::/40"]
    );
    assert_eq!(texts(microsoft(list, "Exchange/25")), ["40.92.0.0/15", "104.47.0.0/17"]);
    assert_eq!(texts(microsoft(list, "")).len(), 5);
    assert!(microsoft(list, "Teams").is_err());
    assert!(microsoft("{}", "").is_err());
}

#[test]
fn apple_publishes_a_geofeed() {
    let list = "172.224.224.0/27,GB,GB-EN,London,\n172.224.224.32/27,GB,GB-EN,London,\n# note\n\n\
                2a02:26f7:b000:4000:0:0:0:0/64,US,US-CA,San Francisco,\n";
    assert_eq!(texts(geofeed(list)), ["172.224.224.0/26", "2a02:26f7:b000:4000::/64"]);
    let error = geofeed("172.224.224.0/27,GB,,,\n<html>\n").unwrap_err();
    assert_eq!((error.line, error.why.as_str()), (2, "\"<html>\" is no network"));
}

#[test]
fn others_publish_lines() {
    let list =
        "91.108.56.0/22\r\n91.108.4.1/22 ; bits after the prefix\n# note\n\n2001:67c:4e8::/48\n192.0.2.1\n";
    assert_eq!(texts(plain(list)), ["91.108.4.0/22", "91.108.56.0/22", "192.0.2.1/32", "2001:67c:4e8::/48"]);
    assert!(plain("").is_err());
}

#[test]
fn lists_are_bounded() {
    let long: String = (0..=500_000).map(|_| "192.0.2.1\n").collect();
    assert!(plain(&long).unwrap_err().why.contains("more than 500000 networks"));
    assert_eq!(texts(plain(long.get(10..).unwrap())), ["192.0.2.1/32"]);
    assert!(plain(&" ".repeat((64 << 20) + 1)).is_err());
}

#[test]
fn a_list_as_long_as_apples_takes_little_memory() {
    // 280,000 networks of which no two can be joined, which is the worst
    let mut list = String::new();
    for index in 0..280_000_u32 {
        let (high, low) = (0x2600 + (index >> 15), (index & 0x7fff) << 1);
        list += &format!("{high:x}:26f7:{low:x}:4000::/64,US,US-CA,San Francisco,\n");
    }
    let networks = geofeed(&list).unwrap();
    assert_eq!(networks.len(), 280_000);
    let text = rows(&networks, "iCloud Private Relay", Effect::Relay, "list", "2026-11-25");
    let tables = Tables::parse(&text, "").unwrap();
    assert!(tables.network_bytes() < 10_000_000, "{}", tables.network_bytes());
    let known = tables.network("2601:26f7:4:4000::17".parse().unwrap()).unwrap();
    assert_eq!(known.effect, Effect::Relay);
}

#[test]
fn every_source_is_well_formed() {
    for source in sources() {
        assert!(source.url.starts_with("https://") && !source.owner.is_empty(), "{source:?}");
        assert!(!matches!(source.effect, Effect::Person), "{source:?}");
        assert_eq!(source.part.is_empty(), source.format != Format::Microsoft, "{source:?}");
        assert!(source.read("").is_err() && source.read("<html>").is_err());
    }
    let formats = Format::ALL.map(|format| sources().iter().any(|source| source.format == format));
    assert_eq!(formats, [true; 4]);
    let mut places: Vec<_> = sources().iter().map(|source| (source.url, source.part)).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), sources().len());
}

proptest! {
    #[test]
    fn aggregation_keeps_the_addresses(
        networks in proptest::collection::vec((0_u32..1 << 10, 22_u8..=32), 1..80),
    ) {
        let mut text = String::new();
        for (first, prefix) in &networks {
            text += &format!("192.0.{}.{}/{prefix}\n", first >> 8, first & 0xff);
        }
        let found = plain(&text).unwrap();
        prop_assert!(found.is_sorted());
        let mut covered = vec![false; 1 << 10];
        for (first, prefix) in networks {
            let size = 1_usize << (32 - prefix);
            let start = first as usize & !(size - 1);
            covered[start..start + size].fill(true);
        }
        let mut again = vec![false; 1 << 10];
        let mut blocks = 0;
        for network in &found {
            let std::net::IpAddr::V4(first) = network.bounds().0 else { panic!() };
            let start = (first.to_bits() & 0x3ff) as usize;
            for place in &mut again[start..start + (1 << (32 - network.prefix()))] {
                prop_assert!(!*place, "none lies within another");
                *place = true;
            }
            blocks += 1;
        }
        prop_assert_eq!(&again, &covered);
        prop_assert_eq!(blocks, fewest(&covered));
    }

    #[test]
    fn any_text_is_read_without_panic(text in "(?s).{0,300}", json in "[\\[{\"ipsv4Prefix:,./0-9}\\]]{0,60}") {
        for text in [text, json] {
            for source in sources() {
                let _ = source.read(&text);
            }
        }
    }
}

/// How many networks are needed for these addresses.
fn fewest(covered: &[bool]) -> usize {
    if covered.iter().all(|is| *is) {
        1
    } else if covered.len() == 1 {
        0
    } else {
        let (lower, upper) = covered.split_at(covered.len() / 2);
        fewest(lower) + fewest(upper)
    }
}
