//! What receivers look at first where mail is brought to them: our name, and what the name server says of our address.

use std::net::IpAddr;

use mailwright_app::DirectConfig;
use mailwright_mail::dns::Dns;
use mailwright_mail::route::Addresses;

use super::Fine;
use crate::config::Config;

/// Whether our name leads to our address and back (forward-confirmed reverse DNS), which large receivers insist on.
/// `url` says where the URL of the transport stands.
pub(super) async fn source(config: &Config, direct: &DirectConfig, url: &str) -> Result<Fine, String> {
    let dns = config.dns().map_err(|error| format!("{error:#}"))?;
    let name = direct.connection.helo_name.as_str();
    let addresses = match dns.addresses(name).await {
        Addresses::Known(addresses) => addresses,
        Addresses::None => {
            return Err(format!(
                "direct: {name}, as which this service introduces itself, has no address; add an A record for it"
            ));
        }
        Addresses::Unknown => return Err(format!("direct: the name server gives no answer about {name}")),
    };
    if let Some(source) = direct.source.filter(|source| !addresses.contains(source)) {
        return Err(format!(
            "direct: mail comes from {source}, and {name}, as which this service introduces itself, is {}; correct its \
             A or AAAA record, or helo in {url}",
            listed(&addresses)
        ));
    }
    let looked_at = direct.source.map_or(addresses, |source| vec![source]);
    let mut without = Vec::new();
    for address in looked_at {
        if !leads_to(&dns, address, name).await? {
            without.push(address);
        }
    }
    if without.is_empty() {
        return Ok(Fine::Ok(format!("direct: {name} and its address name each other, as receivers want it")));
    }
    Err(format!(
        "direct: the reverse name of {} is not {name}; large receivers refuse such mail. Ask whoever gave you the \
         address to set its PTR record to {name}",
        listed(&without)
    ))
}

async fn leads_to(dns: &Dns, address: IpAddr, name: &str) -> Result<bool, String> {
    use mailwright_mail::dns::DnsError;
    match dns.ptr(address).await {
        Ok(names) => Ok(names.iter().any(|found| found.eq_ignore_ascii_case(name))),
        Err(DnsError::NotFound) => Ok(false),
        Err(error) => Err(format!("direct: the reverse name of {address} cannot be looked up: {error}")),
    }
}

fn listed(addresses: &[IpAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
