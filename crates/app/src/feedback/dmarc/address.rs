//! The addresses that reports about a sender domain come to: each names its domain, signed, so that reports come only to
//! addresses that were given out.
//!
//! The local part is `dmarc-` and 40 characters of Base32: the domain's id, and a tag of 9 bytes. The id alone is enough,
//! since a domain is of one project, and it stays when a reset gives the project another number: what is published in the
//! DNS stays right for years.

use mailwright_core::ids::DomainId;
use ring::hmac;

use crate::feedback::base32;
use crate::secret::InstanceSecret;

/// Purpose under which the addresses are signed.
const PURPOSE: &str = "dmarc reports";
/// What local parts begin with.
const PREFIX: &str = "dmarc-";
/// Bytes of a domain's id.
const ID: usize = 16;
/// Bytes of the tag. Guesses cost a command each, and a session has few of them.
const TAG: usize = 9;
/// Bytes of a token.
const TOKEN: usize = ID + TAG;

/// What the addresses are made and read with.
#[derive(Debug)]
pub(crate) struct ReportAddress(hmac::Key);

impl ReportAddress {
    pub(crate) fn new(secret: &InstanceSecret) -> Self {
        Self(secret.signing_key(PURPOSE).expect("a key of 32 bytes can be derived from any secret"))
    }

    /// The local part of the address for reports about a domain.
    pub(crate) fn local_part(&self, domain: DomainId) -> String {
        let id = domain.as_uuid().as_bytes();
        let mut token = [0; TOKEN];
        token[..ID].copy_from_slice(id);
        token[ID..].copy_from_slice(&hmac::sign(&self.0, id).as_ref()[..TAG]);
        format!("{PREFIX}{}", base32::encode(&token))
    }

    /// The domain that a local part is for; `None` for one that is not ours. Case does not matter.
    pub(crate) fn read(&self, local: &str) -> Option<DomainId> {
        let begin = local.get(..PREFIX.len()).filter(|begin| begin.eq_ignore_ascii_case(PREFIX))?;
        let token = base32::decode::<TOKEN>(&local[begin.len()..])?;
        let (id, tag) = token.split_at(ID);
        let right = hmac::sign(&self.0, id);
        // the time that it takes tells nothing of the right tag
        let differs = right.as_ref().iter().zip(tag).fold(0, |all, (a, b)| all | (a ^ b));
        let id = <[u8; ID]>::try_from(id).ok()?;
        (differs == 0).then(|| DomainId::from_bytes(id))
    }
}

#[cfg(test)]
mod tests {
    use mailwright_core::time::Timestamp;

    use super::*;

    #[test]
    fn a_local_part_names_its_domain_in_any_case() {
        let address = ReportAddress::new(&InstanceSecret::new(*b"0123456789abcdef"));
        let domain = DomainId::new(Timestamp(1_741_608_000_000), rand::random());
        let local = address.local_part(domain);
        assert_eq!(local.len(), 46);
        assert_eq!(address.read(&local), Some(domain));
        assert_eq!(address.read(&local.to_uppercase()), Some(domain));
        let other = ReportAddress::new(&InstanceSecret::new(*b"another secret!!"));
        assert_eq!(other.read(&local), None);
        for text in ["", "dmarc", "dmarc-", "dmarcé", &local[1..], &format!("{local}a"), &local[6..]] {
            assert_eq!(address.read(text), None, "{text}");
        }
        let mut forged = local.clone().into_bytes();
        for at in PREFIX.len()..forged.len() {
            let before = forged[at];
            forged[at] = if before == b'a' { b'b' } else { b'a' };
            assert_eq!(address.read(std::str::from_utf8(&forged).unwrap()), None, "{at}");
            forged[at] = before;
        }
    }
}
