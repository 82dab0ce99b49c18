//! The tables.

use std::net::IpAddr;

use proptest::prelude::*;

use super::*;
use crate::hit::{Effect, Network, rows};

fn columns(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split('\t').collect()).collect()
}

fn effect(tables: &Tables, address: &str) -> Option<Effect> {
    tables.network(address.parse().unwrap()).map(|known| known.effect)
}

#[test]
fn every_network_is_well_formed_sorted_and_used() {
    let tables = Tables::embedded();
    let rows = columns(Tables::embedded_networks());
    assert!(rows.len() > 100);
    let networks: Vec<Network> = rows.iter().map(|row| row[0].parse().unwrap()).collect();
    assert!(networks.is_sorted_by(|a, b| a < b), "ascending, none twice");
    for (row, network) in rows.iter().zip(&networks) {
        let [text, owner, effect, origin, date] = row[..] else { panic!("{row:?}") };
        assert_eq!(network.to_string(), text);
        assert!(origin.len() > 10 && crate::time::Timestamp::parse(date).is_some(), "{row:?}");
        let is_whole =
            |address: &IpAddr| networks.iter().filter(|other| is_within(*address, other)).count() == 1;
        let (first, last) = network.bounds();
        for address in [first, last].into_iter().filter(is_whole) {
            let known = tables.network(address).unwrap();
            assert_eq!((&**known.owner, known.effect.as_str()), (owner, effect), "{address}");
        }
        // nothing is said twice
        for wider in
            networks.iter().zip(&rows).filter(|(wider, _)| *wider != network && is_within(first, wider))
        {
            assert_ne!(wider.1[1..3], row[1..3], "{text} is within {}", wider.0);
        }
    }
}

fn is_within(address: IpAddr, network: &Network) -> bool {
    let (first, last) = network.bounds();
    first <= address && address <= last
}

#[test]
fn every_pattern_is_well_formed_sorted_and_used() {
    let tables = Tables::embedded();
    let rows = columns(Tables::embedded_agents());
    assert!(rows.len() > 120);
    assert!(rows.is_sorted_by(|a, b| a[0] < b[0]), "ascending, none twice");
    for row in &rows {
        let [pattern, owner, effect, origin] = row[..] else { panic!("{row:?}") };
        assert_eq!(pattern, pattern.to_lowercase());
        assert!(origin.len() > 10, "{row:?}");
        let agent = pattern.trim_start_matches(['^', '=']).to_uppercase();
        let known = tables.agent(&agent).unwrap_or_else(|| panic!("{pattern} is not found"));
        assert_eq!((&**known.owner, known.effect.as_str()), (owner, effect), "{pattern}");
        let later = tables.agent(&format!("Mozilla/5.0 {agent}")).map(|known| &**known.owner);
        if pattern.starts_with(['^', '=']) {
            assert_ne!(later, Some(owner), "{pattern} is bound to the beginning");
        } else {
            assert_eq!(later, Some(owner));
        }
    }
}

#[test]
fn ordinary_programs_are_in_no_row() {
    let tables = Tables::embedded();
    let others = [
        IPHONE_MAIL,
        ANDROID_MAIL,
        OUTLOOK,
        THUNDERBIRD,
        "okhttp/4.12.0",
        "Mail/3826 CFNetwork/3826.500 Darwin/24.4.0",
    ];
    for agent in BROWSERS.iter().chain(&others) {
        let known = tables.agent(agent).filter(|known| known.effect != Effect::Person);
        assert_eq!(known, None, "{agent}");
    }
}

#[test]
fn the_smallest_network_holds() {
    let text = "10.0.0.0/8\ta\tscanner\to\td\n10.1.0.0/16\tb\timage-proxy\to\td\n10.1.1.0/24\tc\trelay\to\td\n\
                # a note\n\n10.2.0.0/16\ta\tscanner\to\td\n10.1.0.0/16\tb\tprefetch-proxy\to\td\nff00::/16\ta\tscanner\to\td\n\
                255.255.255.255\ta\tscanner\to\td\n";
    let tables = Tables::parse(text, "").unwrap();
    for (address, expected) in [
        ("9.255.255.255", None),
        ("10.0.0.0", Some(Effect::Scanner)),
        ("10.1.0.0", Some(Effect::PrefetchProxy)),
        ("10.1.0.255", Some(Effect::PrefetchProxy)),
        ("10.1.1.0", Some(Effect::Relay)),
        ("10.1.1.255", Some(Effect::Relay)),
        ("10.1.2.0", Some(Effect::PrefetchProxy)),
        ("10.2.0.0", Some(Effect::Scanner)),
        ("10.255.255.255", Some(Effect::Scanner)),
        ("11.0.0.0", None),
        ("::ffff:10.1.1.7", Some(Effect::Relay)),
        ("feff::1", None),
        ("ff00::", Some(Effect::Scanner)),
        ("ffff::", None),
        ("255.255.255.255", Some(Effect::Scanner)),
    ] {
        assert_eq!(effect(&tables, address), expected, "{address}");
    }
}

#[test]
fn the_longest_pattern_holds() {
    let agents = "bot\ta\tscanner\to\ncubot\tb\tperson\to\n^bot\tc\timage-proxy\to\n=abbot\td\tscanner\to\nbot\te\tscanner\to\n";
    let tables = Tables::parse("", agents).unwrap();
    let owner = |agent: &str| tables.agent(agent).map(|known| known.owner.to_string());
    for (agent, expected) in [
        ("a Bot", Some("e")),
        ("CUBOT bot", Some("b")),
        ("bot", Some("c")),
        ("AbBot", Some("d")),
        ("abbot ", Some("e")),
        ("bo", None),
        ("", None),
        ("\u{2}bo\u{3}t", None),
    ] {
        assert_eq!(owner(agent).as_deref(), expected, "{agent}");
    }
}

#[test]
fn mistakes_are_named() {
    for (line, why) in [
        ("10.0.0.0/8\ta\tscanner\to", "expected 5 columns"),
        ("10.0.0.0/8\ta\tscanner\to\td\te", "expected 5 columns"),
        ("10.0.0.0/8\t\tscanner\to\td", "expected 5 columns"),
        ("10.0.0.1/8\ta\tscanner\to\td", "bits set"),
        ("10.0.0.0/7\ta\tscanner\to\td", "wider than /8"),
        ("::/0\ta\tscanner\to\td", "wider than /16"),
        ("10.0.0.0/33\ta\tscanner\to\td", "is no network"),
        ("10.0.0.0/+8\ta\tscanner\to\td", "is no network"),
        ("10.0.0.0/\ta\tscanner\to\td", "is no network"),
        ("10.0.0/8\ta\tscanner\to\td", "is no network"),
        ("10.0.0.0/8\ta\tbad\to\td", "is no effect"),
        ("10.0.0.0/8\ta\tperson\to\td", "not a person"),
    ] {
        let error = Tables::parse(&format!("# head\n{line}\n"), "").unwrap_err();
        assert!(error.line == 2 && error.why.contains(why), "{line}: {error}");
    }
    for (line, why) in [
        ("bot\ta\tscanner", "expected 4 columns"),
        ("bo\ta\tscanner\to", "3 to 100 bytes"),
        ("^bo\ta\tscanner\to", "3 to 100 bytes"),
        ("bot\ta\trelay\to", "not a relay"),
        ("b\u{3}ot\ta\tscanner\to", "control"),
    ] {
        let error = Tables::parse("", line).unwrap_err();
        assert!(error.line == 1 && error.why.contains(why), "{line}: {error}");
    }
}

#[test]
fn rows_extend_the_embedded_table() {
    let network: Network = "66.249.80.0/20".parse().unwrap();
    let more = rows(&[network], "An\towner", Effect::Relay, "list", "2026-11-25");
    assert_eq!(more, "66.249.80.0/20\tAn owner\trelay\tlist\t2026-11-25\n");
    let text = format!("{}{more}", Tables::embedded_networks());
    let tables = Tables::parse(&text, Tables::embedded_agents()).unwrap();
    assert_eq!(effect(&tables, "66.249.84.7"), Some(Effect::Relay));
}

proptest! {
    #[test]
    fn the_search_finds_what_a_look_at_every_row_finds(
        networks in proptest::collection::vec((0_u32..1 << 14, 18_u8..=32, 0_u8..3), 0..60),
        address in 0_u32..1 << 14,
    ) {
        let base = 0xff_ff_c0_00_u32;
        let clean = |first: u32, prefix: u8| base | first & !(u32::MAX.checked_shr(prefix.into()).unwrap_or(0));
        let rows: Vec<(u32, u8, u8)> =
            networks.into_iter().map(|(first, prefix, owner)| (clean(first, prefix), prefix, owner)).collect();
        let mut text = String::new();
        for (first, prefix, owner) in &rows {
            text += &format!("{}/{prefix}\t{owner}\tscanner\to\td\n", std::net::Ipv4Addr::from_bits(*first));
        }
        let address = base | address;
        let holds = rows.iter().filter(|(first, prefix, _)| clean(address, *prefix) == *first);
        let expected = holds.max_by_key(|(_, prefix, _)| *prefix).map(|(_, _, owner)| owner.to_string());
        let tables = Tables::parse(&text, "").unwrap();
        let found = tables.network(std::net::Ipv4Addr::from_bits(address).into());
        prop_assert_eq!(found.map(|known| known.owner.to_string()), expected);
    }

    #[test]
    fn any_text_is_read_without_panic(networks in "(?s).{0,200}", agents in "([^\t]{0,9}\ta\tscanner\to\n){0,5}", agent in "(?s).{0,300}") {
        let _ = Tables::parse(&networks, "");
        if let Ok(tables) = Tables::parse("", &agents) {
            let _ = tables.agent(&agent);
        }
    }
}
