//! What DNS demands of connections to a mail server: TLSA records that DNSSEC proves (RFC 7672 section 2.2).
//!
//! Records without proof, and their absence, demand nothing. No answer is not absence: a zone whose signatures are wrong
//! looks like a name server that fails, and whoever suppresses the records must gain nothing.

use mailwright_tls::Tlsa;

use crate::dns::{Answer, Dns};
use crate::route::MailHost;

/// What connections to a mail server have to be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Demand {
    /// Anything will do.
    Nothing,
    /// Encrypted, whatever the certificate: there are records, and none of them can be used.
    Encryption,
    /// Encrypted, with a certificate that records name.
    Certificate {
        /// The name that has the records (TLSA base domain).
        base: String,
        /// Those that can be used; never empty.
        records: Vec<Tlsa>,
    },
    /// The name server gave no answer: the server must not be used (section 2.1.2).
    Unknown,
}

impl Dns {
    /// What the TLSA records of a mail server demand of connections to a port. Ask it only about servers whose names are
    /// proven ([`Directions`](crate::route::Directions)).
    pub async fn demand(&self, host: &MailHost, port: u16) -> Demand {
        for base in &host.bases {
            let said = self.prove_tlsa(&format!("_{port}._tcp.{base}")).await;
            match said.answer {
                Answer::Records(records) if said.is_secure => return of_records(base, records),
                Answer::Unknown => return Demand::Unknown,
                Answer::Records(_) | Answer::NoData | Answer::Empty | Answer::NoName => {}
            }
        }
        Demand::Nothing
    }
}

fn of_records(base: &str, mut records: Vec<Tlsa>) -> Demand {
    records.retain(Tlsa::is_usable);
    if records.is_empty() {
        Demand::Encryption
    } else {
        Demand::Certificate { base: base.to_owned(), records }
    }
}
