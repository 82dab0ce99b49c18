//! What the domain of a sender says of a mail that came in: SPF (RFC 7208), DKIM (RFC 6376) and DMARC (RFC 7489).
//!
//! A mail is never refused by it. What cannot be found out, because a name server is away, is told as such.

use std::net::IpAddr;
use std::time::Duration;

use mail_auth::dmarc::verify::DmarcParameters;
use mail_auth::spf::verify::SpfParameters;
use mail_auth::{
    AuthenticatedMessage, DkimOutput, DkimResult, DmarcResult, MessageAuthenticator, SpfOutput, SpfResult,
};
use mailwright_core::address::DomainName;
use memchr::memmem;
use tokio::time::timeout;

use crate::dns::Dns;
use crate::sns::{Verdict, Verdicts};

/// How long all look-ups for a mail may take.
const OVERALL: Duration = Duration::from_secs(20);
/// The largest header that is verified, in bytes. Each name that a signature covers is searched for in it.
const MAX_HEADER: usize = 128 * 1024;
/// The longest signature, in bytes, and how many of them are verified.
const MAX_SIGNATURE: usize = 4 * 1024;
const MAX_SIGNATURES: usize = 8;

/// How a mail came.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The address of the client.
    pub client: IpAddr,
    /// What it called itself.
    pub client_name: &'a str,
    /// The sender of the envelope; `None` for the null sender.
    pub mail_from: Option<&'a str>,
    /// Our own host name.
    pub our_name: &'a str,
}

impl<'a> Origin<'a> {
    /// The domain that SPF is asked about.
    fn sender_domain(&self) -> &'a str {
        self.mail_from
            .and_then(|sender| sender.rsplit_once('@'))
            .map_or(self.client_name, |(_, domain)| domain)
    }
}

/// Finds out what the sender's domain says of a mail. Nothing looks for spam and viruses here, so those are
/// [`Verdict::Disabled`].
pub async fn verify(dns: &Dns, origin: Origin<'_>, raw: &[u8]) -> Verdicts {
    let found = timeout(OVERALL, look(dns, origin, raw)).await;
    let [spf, dkim, dmarc] = found.unwrap_or([Verdict::ProcessingFailed; 3]);
    Verdicts {
        spam: Some(Verdict::Disabled),
        virus: Some(Verdict::Disabled),
        spf: Some(spf),
        dkim: Some(dkim),
        dmarc: Some(dmarc),
    }
}

/// The one address that a mail says it is from, as DMARC reads it; `None` where there is none, or several.
pub fn author(raw: &[u8]) -> Option<String> {
    let header = &raw[..raw.len().min(MAX_HEADER)];
    let end = memmem::find(header, b"\r\n\r\n").map(|end| end + 4)?;
    match AuthenticatedMessage::parse(&header[..end])?.froms() {
        [author] => Some(author.clone()),
        _ => None,
    }
}

/// The organisation that a mail is proved to be from, by its domain: the one of the address in `From`, where DKIM or
/// SPF passed for a domain of the same organisation. That is what DMARC asks for, whether the domain has a record or
/// not. `None` where nothing proves it, and where it cannot be found out.
pub async fn proven_organisation(dns: &Dns, origin: Origin<'_>, raw: &[u8]) -> Option<String> {
    timeout(OVERALL, prove(dns, origin, raw)).await.ok().flatten()
}

/// Whether a domain that signed may speak for the domain of a sender, as DMARC has it unless told otherwise: both
/// belong to one organisation (RFC 7489 section 3.1.1).
pub fn is_aligned(signer: &str, sender: &str) -> bool {
    organisation(signer) == organisation(sender)
}

/// The domain of the organisation that a domain belongs to (RFC 7489 section 3.2), in lower case.
fn organisation(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    psl::domain_str(&name).map_or_else(|| name.clone(), str::to_owned)
}

async fn prove(dns: &Dns, origin: Origin<'_>, raw: &[u8]) -> Option<String> {
    let message = bounded(raw)?;
    let [author] = message.froms() else { return None };
    let domain = DomainName::parse(author.rsplit_once('@')?.1)?;
    let domain = domain.as_str();
    let authenticator = MessageAuthenticator(dns.resolver().clone());
    let signatures = authenticator.verify_dkim(&message).await;
    let passed = signatures.iter().filter(|output| *output.result() == DkimResult::Pass);
    let is_signed =
        passed.filter_map(DkimOutput::signature).any(|signature| is_aligned(&signature.d, domain));
    // who did not sign has to be the sender of the envelope too
    let is_proven = is_signed
        || is_aligned(origin.sender_domain(), domain)
            && spf(&authenticator, origin).await.result() == SpfResult::Pass;
    is_proven.then(|| organisation(domain))
}

/// A mail with the signatures that are verified; `None` where its header is too large, or it has none.
fn bounded(raw: &[u8]) -> Option<AuthenticatedMessage<'_>> {
    memmem::find(&raw[..raw.len().min(MAX_HEADER)], b"\r\n\r\n")?;
    let mut message = AuthenticatedMessage::parse(raw)?;
    message.dkim_headers.retain(|signature| signature.value.len() <= MAX_SIGNATURE);
    message.dkim_headers.truncate(MAX_SIGNATURES);
    message.errors.truncate(MAX_SIGNATURES);
    Some(message)
}

async fn spf(authenticator: &MessageAuthenticator, origin: Origin<'_>) -> SpfOutput {
    let Origin { client, client_name, mail_from, our_name } = origin;
    let client = client.to_canonical();
    let parameters = match mail_from {
        Some(sender) => SpfParameters::verify_mail_from(client, client_name, our_name, sender),
        None => SpfParameters::verify_ehlo(client, client_name, our_name),
    };
    authenticator.verify_spf(parameters).await
}

async fn look(dns: &Dns, origin: Origin<'_>, raw: &[u8]) -> [Verdict; 3] {
    let authenticator = MessageAuthenticator(dns.resolver().clone());
    let spf = spf(&authenticator, origin).await;
    let Some(message) = bounded(raw) else { return [of_spf(&spf), Verdict::Gray, Verdict::Gray] };
    let dkim = authenticator.verify_dkim(&message).await;
    let domain = origin.sender_domain();
    let dmarc = authenticator.verify_dmarc(DmarcParameters::new(&message, &dkim, domain, &spf)).await;
    [of_spf(&spf), of_dkim(&dkim), of_dmarc(&dmarc.result())]
}

fn of_spf(spf: &SpfOutput) -> Verdict {
    match spf.result() {
        SpfResult::Pass => Verdict::Pass,
        SpfResult::Fail | SpfResult::SoftFail => Verdict::Fail,
        SpfResult::TempError => Verdict::ProcessingFailed,
        SpfResult::Neutral | SpfResult::PermError | SpfResult::None => Verdict::Gray,
    }
}

/// The best of the signatures. A mail without one is neither right nor wrong.
fn of_dkim(signatures: &[DkimOutput<'_>]) -> Verdict {
    let has = |wanted: fn(&DkimResult) -> bool| signatures.iter().any(|output| wanted(output.result()));
    if signatures.is_empty() {
        Verdict::Gray
    } else if has(|result| *result == DkimResult::Pass) {
        Verdict::Pass
    } else if has(|result| matches!(result, DkimResult::TempError(_))) {
        Verdict::ProcessingFailed
    } else {
        Verdict::Fail
    }
}

fn of_dmarc(result: &DmarcResult) -> Verdict {
    match result {
        DmarcResult::Pass => Verdict::Pass,
        DmarcResult::Fail(_) => Verdict::Fail,
        DmarcResult::TempError(_) => Verdict::ProcessingFailed,
        DmarcResult::PermError(_) | DmarcResult::None => Verdict::Gray,
    }
}

#[cfg(test)]
mod tests {
    use super::is_aligned;

    #[test]
    fn one_organisation_may_sign_for_its_names() {
        for (signer, sender, aligned) in [
            ("acme.com", "acme.com", true),
            ("mail.acme.com", "ACME.com", true),
            ("acme.co.uk", "news.acme.co.uk", true),
            ("acme.co.uk", "other.co.uk", false),
            ("acme.com", "acme.net", false),
            ("localhost", "localhost", true),
        ] {
            assert_eq!(is_aligned(signer, sender), aligned, "{signer} for {sender}");
        }
    }
}
