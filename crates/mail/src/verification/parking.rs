//! Domains that have an owner and nobody who uses them: they point to a service that parks domains.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::LazyLock;

use mailwright_core::hit::Network;

use super::domain_set::suffixes;

const TABLE: &str = include_str!("data/parking.tsv");

/// The services, by what points to them.
struct Services {
    name_servers: HashMap<&'static str, &'static str>,
    mail_servers: HashMap<&'static str, &'static str>,
    /// The first and the last address of each network, and whose it is.
    networks: Vec<(IpAddr, IpAddr, &'static str)>,
}

static SERVICES: LazyLock<Services> = LazyLock::new(|| {
    let mut services =
        Services { name_servers: HashMap::new(), mail_servers: HashMap::new(), networks: Vec::new() };
    for line in TABLE.lines() {
        let mut columns = line.split('\t');
        let (Some(kind), Some(value), Some(owner)) = (columns.next(), columns.next(), columns.next()) else {
            continue;
        };
        match (kind, value.parse::<Network>()) {
            ("ns", _) => drop(services.name_servers.insert(value, owner)),
            ("mx", _) => drop(services.mail_servers.insert(value, owner)),
            ("address", Ok(network)) => {
                let (first, last) = network.bounds();
                services.networks.push((first, last, owner));
            }
            _ => {}
        }
    }
    services
});

/// What points to a service that parks domains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parked {
    /// The name server, the mail server or the address.
    pub(super) by: String,
    /// Whose it is.
    pub(super) owner: &'static str,
}

/// The first of the name servers, the mail servers and the addresses that belongs to a service that parks domains. Hosts
/// are in lower case and without the final dot.
pub(super) fn find(name_servers: &[String], mail_servers: &[String], addresses: &[IpAddr]) -> Option<Parked> {
    let host = |hosts: &[String], table: &HashMap<&str, &'static str>| {
        hosts.iter().find_map(|host| {
            let owner = suffixes(host).find_map(|name| table.get(name).copied())?;
            Some(Parked { by: host.clone(), owner })
        })
    };
    let address = || {
        addresses.iter().find_map(|address| {
            let (.., owner) =
                SERVICES.networks.iter().find(|(first, last, _)| (first..=last).contains(&address))?;
            Some(Parked { by: address.to_string(), owner })
        })
    };
    host(name_servers, &SERVICES.name_servers)
        .or_else(|| host(mail_servers, &SERVICES.mail_servers))
        .or_else(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        let rows: Vec<&str> = TABLE.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(rows.is_sorted());
        let read = SERVICES.name_servers.len() + SERVICES.mail_servers.len() + SERVICES.networks.len();
        assert_eq!(read, rows.len());
    }

    #[test]
    fn a_service_is_found_by_each_of_its_marks() {
        let hosts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let found = find(&hosts(&["ns1.example.net", "ns2.sedoparking.com"]), &[], &[]).unwrap();
        assert_eq!((found.by.as_str(), found.owner), ("ns2.sedoparking.com", "Sedo"));
        assert!(find(&[], &hosts(&["mail.h-email.net"]), &[]).is_some());
        assert!(find(&[], &[], &["91.195.241.7".parse().unwrap()]).is_some());
        let others = hosts(&["ns.sedoparking.com.example", "notbodis.com", "ns1.example.net"]);
        assert_eq!(
            find(&others, &others, &["91.195.242.0".parse().unwrap(), "2001:db8::1".parse().unwrap()]),
            None
        );
    }
}
