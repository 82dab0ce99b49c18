//! What the data of records says, in the words of this crate.

use hickory_resolver::proto::rr::{Name, RData};
use mailwright_tls::Tlsa;

/// A name, taken as complete.
pub(super) fn complete(name: &str) -> Option<Name> {
    let mut name = Name::from_ascii(name).ok()?;
    name.set_fqdn(true);
    Some(name)
}

pub(super) fn mail_server(data: &RData) -> Option<(u16, String)> {
    match data {
        RData::MX(mx) => Some((mx.preference, host(&mx.exchange))),
        _ => None,
    }
}

pub(super) fn certificate(data: &RData) -> Option<Tlsa> {
    match data {
        RData::TLSA(tlsa) => Some(Tlsa {
            usage: tlsa.cert_usage.into(),
            selector: tlsa.selector.into(),
            matching: tlsa.matching.into(),
            data: tlsa.cert_data.clone(),
        }),
        _ => None,
    }
}

pub(super) fn name_server(data: &RData) -> Option<String> {
    match data {
        RData::NS(server) => Some(host(&server.0)),
        _ => None,
    }
}

pub(super) fn alias(data: &RData) -> Option<String> {
    match data {
        RData::CNAME(target) => Some(host(&target.0)),
        _ => None,
    }
}

/// A name in lower case and without the final dot.
pub(super) fn host(name: &Name) -> String {
    let mut text = name.to_ascii().to_ascii_lowercase();
    if text.ends_with('.') {
        text.pop();
    }
    text
}
