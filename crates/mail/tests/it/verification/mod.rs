//! Addresses against a name server that knows a few hundred domains, and against bad ones.

mod bad_servers;
mod corpus;
mod keeping;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use mailwright_mail::dns::Dns;
use mailwright_mail::verification::{Lists, Verification, Verifier};
use mailwright_testkit::dns::FakeDns;

const ZONE: &str = include_str!("zone.tsv");

fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

/// A server with the names of `zone.tsv`.
async fn server() -> FakeDns {
    let dns = FakeDns::start().await;
    for row in rows(ZONE) {
        let [name, kind, values] = row[..] else { panic!("{row:?}") };
        let values = values.split(' ').filter(|value| !value.is_empty());
        match kind {
            "mx" => dns.set_mx(
                name,
                values.map(|value| {
                    let (preference, host) = value.split_once(':').unwrap();
                    (preference.parse().unwrap(), host)
                }),
            ),
            "a" => dns.set_a(name, values.map(|value| value.parse::<Ipv4Addr>().unwrap())),
            "aaaa" => dns.set_aaaa(name, values.map(|value| value.parse::<Ipv6Addr>().unwrap())),
            "ns" => dns.set_ns(name, values),
            "cname" => values.for_each(|target| dns.set_cname(name, target)),
            "servfail" => dns.set_servfail(name),
            other => panic!("{other}"),
        }
    }
    dns
}

fn verifier(dns: &FakeDns) -> Verifier {
    Verifier::new(&Dns::with_server(dns.addr), Arc::new(Lists::default()))
}

/// The flags that are true, as `corpus.tsv` writes them.
fn flags(found: &Verification) -> String {
    let all = [
        ('+', found.is_plus_addressed),
        ('A', found.is_alias),
        ('D', found.is_disposable),
        ('E', found.domain_exists),
        ('K', found.is_parked),
        ('M', found.has_mx_records),
        ('P', found.is_personal_email),
        ('R', found.is_role_address),
        ('T', found.is_typo),
        ('V', found.valid),
        ('W', found.has_website),
    ];
    let letters: String = all.into_iter().filter_map(|(letter, is_so)| is_so.then_some(letter)).collect();
    if letters.is_empty() { "-".to_owned() } else { letters }
}
