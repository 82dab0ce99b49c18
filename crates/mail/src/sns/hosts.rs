//! The addresses in an envelope that a caller may fetch. Whoever can post here chooses them, so they are held to what
//! SNS itself sends.

use url::{Origin, Url};

use super::envelope::{Envelope, Kind};

/// Where certificates and confirmations may be fetched from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosts {
    /// Amazon's own: `https` at `sns.<region>.amazonaws.com`, `sns.<region>.amazonaws.com.cn`, or
    /// `sns.<region>.amazonaws.eu` for the regions of the European Sovereign Cloud (`eusc-...`).
    Amazon,
    /// One service that speaks as SNS does: this scheme, host and port, and no other.
    Only(Origin),
}

impl Hosts {
    /// The service at the scheme, host and port of `endpoint`; `None` unless that is HTTP or HTTPS.
    pub fn only(endpoint: &Url) -> Option<Self> {
        matches!(endpoint.scheme(), "http" | "https").then(|| Self::Only(endpoint.origin()))
    }
}

/// Why an address in an envelope must not be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It is no URL, or not written as SNS writes it.
    #[error("the address is not a URL as SNS writes it")]
    Syntax,
    /// Scheme, host or port are not those of the service.
    #[error("the address is not at a host of SNS")]
    Host,
    /// The path is not that of a certificate, or has a query.
    #[error("the address is not that of a certificate")]
    Certificate,
    /// It does not confirm the subscription that the message speaks of.
    #[error("the address does not confirm the subscription of this message")]
    Confirmation,
    /// The message is of a type that asks for no confirmation.
    #[error("only a SubscriptionConfirmation can be confirmed")]
    Kind,
}

/// Where the certificate is that the message was signed with: `SigningCertURL`, if it is at a host that is allowed, its
/// path ends with `.pem`, and it has neither query, fragment, user nor escaped characters.
pub fn certificate_url(envelope: &Envelope, allowed: &Hosts) -> Result<Url, UrlError> {
    let url = at_allowed_host(&envelope.signing_cert_url, allowed)?;
    let name = url.path().rsplit('/').next().and_then(|name| name.strip_suffix(".pem")).unwrap_or_default();
    if name.is_empty() || url.query().is_some() || url.path().contains('%') {
        return Err(UrlError::Certificate);
    }
    Ok(url)
}

/// What has to be fetched to confirm a subscription: `SubscribeURL`, if it is at a host that is allowed and confirms
/// what the message names: `Action=ConfirmSubscription`, its `TopicArn` and its `Token`, each once.
///
/// An `UnsubscribeConfirmation` has such an address as well; fetching it would undo what somebody did on purpose.
pub fn subscribe_url(envelope: &Envelope, allowed: &Hosts) -> Result<Url, UrlError> {
    if envelope.kind != Some(Kind::SubscriptionConfirmation) {
        return Err(UrlError::Kind);
    }
    let text = envelope.subscribe_url.as_deref().ok_or(UrlError::Confirmation)?;
    let token = envelope.token.as_deref().ok_or(UrlError::Confirmation)?;
    let url = at_allowed_host(text, allowed)?;
    let is_once = |name: &str, value: &str| {
        let mut values = url.query_pairs().filter(|(of, _)| of == name);
        values.next().is_some_and(|(_, of)| of == value) && values.next().is_none()
    };
    let confirms = is_once("Action", "ConfirmSubscription")
        && is_once("TopicArn", &envelope.topic_arn)
        && is_once("Token", token);
    if confirms && (*allowed != Hosts::Amazon || url.path() == "/") {
        Ok(url)
    } else {
        Err(UrlError::Confirmation)
    }
}

fn at_allowed_host(text: &str, allowed: &Hosts) -> Result<Url, UrlError> {
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(UrlError::Syntax);
    }
    let url = Url::parse(text).map_err(|_| UrlError::Syntax)?;
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(UrlError::Syntax);
    }
    match allowed {
        Hosts::Amazon => {
            let is_amazon =
                url.scheme() == "https" && url.port().is_none() && url.host_str().is_some_and(is_amazons);
            if !is_amazon {
                return Err(UrlError::Host);
            }
            // what the parser had to put right, another parser may understand otherwise
            if url.as_str() != text {
                return Err(UrlError::Syntax);
            }
        }
        Hosts::Only(origin) if url.origin() == *origin => {}
        Hosts::Only(_) => return Err(UrlError::Host),
    }
    Ok(url)
}

fn is_amazons(host: &str) -> bool {
    let Some(rest) = host.strip_prefix("sns.") else { return false };
    if let Some(region) = rest.strip_suffix(".amazonaws.eu") {
        return region.strip_prefix("eusc-").is_some_and(is_region);
    }
    let common = rest.strip_suffix(".amazonaws.com").or_else(|| rest.strip_suffix(".amazonaws.com.cn"));
    common.is_some_and(is_region)
}

/// Whether the name is like `us-east-1` or `us-gov-west-1`: two letters, words, and a digit.
fn is_region(name: &str) -> bool {
    let is_word = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase());
    let Some((area, number)) = name.rsplit_once('-') else { return false };
    let Some((country, words)) = area.split_once('-') else { return false };
    country.len() == 2
        && is_word(country)
        && words.split('-').all(is_word)
        && matches!(number.as_bytes(), [b'0'..=b'9'])
}
