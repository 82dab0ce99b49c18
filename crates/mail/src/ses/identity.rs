//! Identities of Amazon SES: the domains that an account may send from (version 2 of the API).
//!
//! SES verifies a domain by the record of the key that it signs with. It is given the domain's own RSA key (BYODKIM), and
//! finds the record that is published already; or it makes keys of its own (Easy DKIM), to which three CNAME records of
//! the domain have to lead. An own key has 1024 to 2048 bits; ours have 2048.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mailwright_core::domain::IdentityWay;
use mailwright_core::names;
use mailwright_core::time::Timestamp;
use percent_encoding::utf8_percent_encode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::config::SesConfig;
use super::request::{ErrorAnswer, JSON, Method, Said, SignedRequest, error, is_denied};
use super::signature::ENCODED;

const IDENTITIES: &str = "/v2/email/identities";
/// What SES signs with: keys of its own, or one that it was given.
const OWN: &str = "AWS_SES";
const GIVEN: &str = "EXTERNAL";
/// The domain in which SES publishes keys of its own, where an answer names no other.
pub const EASY_DKIM_ZONE: &str = "dkim.amazonses.com";
/// Most tokens of an answer that are kept; SES gives three.
const TOKENS: usize = 10;

/// What SES is to sign with for a domain.
#[derive(Clone, Copy)]
pub enum Signer<'a> {
    /// The domain's own RSA key.
    OwnKey {
        /// The selector of its record.
        selector: &'a str,
        /// The private key: PKCS #1 or PKCS #8, DER.
        private_key: &'a [u8],
    },
    /// Keys of SES.
    EasyDkim,
}

/// Without the key.
impl fmt::Debug for Signer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnKey { selector, .. } => {
                f.debug_struct("OwnKey").field("selector", selector).finish_non_exhaustive()
            }
            Self::EasyDkim => f.write_str("EasyDkim"),
        }
    }
}

impl Signer<'_> {
    fn origin(&self) -> &'static str {
        match self {
            Self::OwnKey { .. } => GIVEN,
            Self::EasyDkim => OWN,
        }
    }

    /// The object that goes with it.
    fn attributes(&self) -> Option<Value> {
        match self {
            Self::OwnKey { selector, private_key } => Some(json!({
                "DomainSigningSelector": selector,
                "DomainSigningPrivateKey": STANDARD.encode(private_key),
            })),
            Self::EasyDkim => None,
        }
    }
}

names! {
    /// Whether SES has found the records that it looks for.
    pub enum DkimStatus {
        /// Not yet.
        Pending = "PENDING",
        /// It has.
        Success = "SUCCESS",
        /// It has given up, after 72 hours.
        Failed = "FAILED",
        /// It cannot tell at the moment.
        TemporaryFailure = "TEMPORARY_FAILURE",
        /// It does not look for any.
        NotStarted = "NOT_STARTED",
    }
}

/// What SES says of a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Whether it takes mail from the domain.
    pub is_verified: bool,
    /// Whether it has found the records.
    pub dkim: DkimStatus,
    /// What it signs with; `None` where the answer does not say.
    pub way: Option<IdentityWay>,
    /// With keys of its own, the labels of the CNAME records; with a key that it was given, the selector.
    pub tokens: Vec<String>,
    /// The domain in which it publishes keys of its own.
    pub hosted_zone: Option<String>,
}

/// Why a request about a domain came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hindrance {
    /// The key, its rights, the account.
    Denied,
    /// Too many requests: later.
    Throttled,
    /// The account has as many identities as it may have.
    Full,
    /// The request is not one that SES accepts.
    Invalid,
    /// The service failed, or the answer is none of SES.
    Failed,
}

/// What came of a request about a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentityAnswer {
    /// This is what SES has now.
    Known(Identity),
    /// The domain is registered already, and stays as it is.
    Exists,
    /// The domain is not registered.
    Missing,
    /// Nothing.
    Hindered(Hindrance, Said),
}

impl SesConfig {
    /// A request that registers a domain (`CreateEmailIdentity`).
    pub fn create_identity(&self, domain: &str, signer: Signer<'_>, now: Timestamp) -> SignedRequest {
        let mut body = json!({"EmailIdentity": domain});
        if let Some(attributes) = signer.attributes() {
            body["DkimSigningAttributes"] = attributes;
        }
        self.signed(Method::Post, IDENTITIES, Some(JSON), body.to_string().into_bytes(), now)
    }

    /// A request that asks about a domain (`GetEmailIdentity`).
    pub fn get_identity(&self, domain: &str, now: Timestamp) -> SignedRequest {
        self.signed(Method::Get, &path(domain), None, Vec::new(), now)
    }

    /// A request that removes a domain (`DeleteEmailIdentity`).
    pub fn delete_identity(&self, domain: &str, now: Timestamp) -> SignedRequest {
        self.signed(Method::Delete, &path(domain), None, Vec::new(), now)
    }

    /// A request that has SES sign otherwise for a domain (`PutEmailIdentityDkimSigningAttributes`).
    pub fn put_signer(&self, domain: &str, signer: Signer<'_>, now: Timestamp) -> SignedRequest {
        let mut body = json!({"SigningAttributesOrigin": signer.origin()});
        if let Some(attributes) = signer.attributes() {
            body["SigningAttributes"] = attributes;
        }
        let path = format!("{}/dkim/signing", path(domain));
        self.signed(Method::Put, &path, Some(JSON), body.to_string().into_bytes(), now)
    }
}

fn path(domain: &str) -> String {
    format!("{IDENTITIES}/{}", utf8_percent_encode(domain, ENCODED))
}

/// An answer about a domain. That to a change of the signer has the second half alone.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Shown {
    verified_for_sending_status: Option<bool>,
    dkim_attributes: Option<Attributes>,
    dkim_status: Option<String>,
    dkim_tokens: Option<Vec<String>>,
    signing_hosted_zone: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Attributes {
    status: Option<String>,
    tokens: Option<Vec<String>>,
    signing_hosted_zone: Option<String>,
    signing_attributes_origin: Option<String>,
}

impl Shown {
    fn identity(self) -> Option<Identity> {
        let attributes = self.dkim_attributes.unwrap_or_default();
        let status = attributes.status.or(self.dkim_status);
        if status.is_none() && self.verified_for_sending_status.is_none() {
            return None;
        }
        let dkim = status.and_then(|name| DkimStatus::from_name(&name)).unwrap_or(DkimStatus::Pending);
        let way = attributes.signing_attributes_origin.and_then(|origin| match origin.as_str() {
            GIVEN => Some(IdentityWay::OwnKey),
            // with a region behind it, where the keys are those of an identity there
            origin => origin.starts_with(OWN).then_some(IdentityWay::EasyDkim),
        });
        let tokens = attributes.tokens.or(self.dkim_tokens).unwrap_or_default();
        let zone = attributes.signing_hosted_zone.or(self.signing_hosted_zone);
        Some(Identity {
            is_verified: self.verified_for_sending_status.unwrap_or(dkim == DkimStatus::Success),
            dkim,
            way,
            tokens: tokens.into_iter().filter(|token| is_label(token)).take(TOKENS).collect(),
            hosted_zone: zone.filter(|zone| is_name(zone)),
        })
    }
}

/// What an answer to the removal of a domain says: `Missing` where it is not registered any more.
pub fn removed(status: u16, error_type: Option<&str>, body: &[u8]) -> IdentityAnswer {
    // whatever is in the answer: this one has nothing to say
    if status == 200 { IdentityAnswer::Missing } else { answered(status, error_type, body) }
}

/// What an answer to one of the other requests says. `error_type` is the header `x-amzn-errortype`.
pub fn answered(status: u16, error_type: Option<&str>, body: &[u8]) -> IdentityAnswer {
    if status == 200
        && let Some(found) = serde_json::from_slice(body).ok().and_then(Shown::identity)
    {
        return IdentityAnswer::Known(found);
    }
    let ErrorAnswer { name, said, .. } = error(status, error_type, &String::from_utf8_lossy(body));
    let why = match name.as_str() {
        "AlreadyExistsException" => return IdentityAnswer::Exists,
        "NotFoundException" => return IdentityAnswer::Missing,
        "TooManyRequestsException" | "Throttling" | "ThrottlingException" | "RequestLimitExceeded" => {
            Hindrance::Throttled
        }
        "LimitExceededException" => Hindrance::Full,
        "AccountSuspendedException" => Hindrance::Denied,
        name if is_denied(name) => Hindrance::Denied,
        _ if matches!(status, 401 | 403) => Hindrance::Denied,
        _ if status == 429 => Hindrance::Throttled,
        _ if status == 400 => Hindrance::Invalid,
        _ => Hindrance::Failed,
    };
    IdentityAnswer::Hindered(why, said)
}

fn is_label(text: &str) -> bool {
    let is_of_a_label = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=63).contains(&text.len()) && text.bytes().all(is_of_a_label)
}

fn is_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(0);
    const KEY: Signer<'static> = Signer::OwnKey { selector: "mw1", private_key: b"a private key" };

    fn config() -> SesConfig {
        SesConfig::from_url("ses://AKIA:secret@eu-central-1").unwrap()
    }

    fn body(request: &SignedRequest) -> Value {
        serde_json::from_slice(&request.body).unwrap()
    }

    fn said(status: u16, error_type: &str, text: &str) -> IdentityAnswer {
        answered(status, Some(error_type), json!({"message": text}).to_string().as_bytes())
    }

    #[test]
    fn a_domain_is_registered_with_its_key_or_without() {
        let own = config().create_identity("acme.test", KEY, NOW);
        assert_eq!(own.method, Method::Post);
        assert_eq!(own.url, "https://email.eu-central-1.amazonaws.com/v2/email/identities");
        let attributes =
            json!({"DomainSigningSelector": "mw1", "DomainSigningPrivateKey": "YSBwcml2YXRlIGtleQ=="});
        assert_eq!(body(&own), json!({"EmailIdentity": "acme.test", "DkimSigningAttributes": attributes}));
        let easy = config().create_identity("acme.test", Signer::EasyDkim, NOW);
        assert_eq!(body(&easy), json!({"EmailIdentity": "acme.test"}));
        for shown in [format!("{own:?}"), format!("{KEY:?}")] {
            assert!(!shown.contains("YSBw") && !shown.contains("private key"), "{shown}");
        }
    }

    #[test]
    fn a_domain_is_asked_about_and_gets_another_key() {
        let get = config().get_identity("acme.test", NOW);
        assert_eq!((get.method, get.body.len()), (Method::Get, 0));
        assert!(get.url.ends_with("/v2/email/identities/acme.test"), "{}", get.url);
        assert!(!get.headers.iter().any(|(name, _)| *name == "content-type"));
        assert!(config().get_identity("a/../b", NOW).url.ends_with("/identities/a%2F..%2Fb"));
        let put = config().put_signer("acme.test", KEY, NOW);
        assert_eq!(put.method, Method::Put);
        assert!(put.url.ends_with("/v2/email/identities/acme.test/dkim/signing"), "{}", put.url);
        let attributes =
            json!({"DomainSigningSelector": "mw1", "DomainSigningPrivateKey": "YSBwcml2YXRlIGtleQ=="});
        let wanted = json!({"SigningAttributesOrigin": "EXTERNAL", "SigningAttributes": attributes});
        assert_eq!(body(&put), wanted);
        let easy = config().put_signer("acme.test", Signer::EasyDkim, NOW);
        assert_eq!(body(&easy), json!({"SigningAttributesOrigin": "AWS_SES"}));
        let delete = config().delete_identity("acme.test", NOW);
        assert_eq!((delete.method, delete.body.len()), (Method::Delete, 0));
        assert!(delete.url.ends_with("/v2/email/identities/acme.test"), "{}", delete.url);
    }

    #[test]
    fn what_ses_says_of_a_domain_is_read() {
        let answer = |text: &str| match answered(200, None, text.as_bytes()) {
            IdentityAnswer::Known(found) => found,
            other => panic!("{other:?}"),
        };
        let own = answer(
            r#"{"IdentityType": "DOMAIN", "VerifiedForSendingStatus": true, "DkimAttributes": {"SigningEnabled": true,
               "Status": "SUCCESS", "Tokens": ["mw1"], "SigningAttributesOrigin": "EXTERNAL",
               "LastKeyGenerationTimestamp": 1741608000.5}}"#,
        );
        assert_eq!(
            (own.is_verified, own.dkim, own.way),
            (true, DkimStatus::Success, Some(IdentityWay::OwnKey))
        );
        assert_eq!((own.tokens, own.hosted_zone), (vec!["mw1".to_owned()], None));
        let easy = answer(
            r#"{"VerifiedForSendingStatus": false, "DkimAttributes": {"Status": "PENDING",
               "Tokens": ["abc", "not a label", "def"], "SigningHostedZone": "b1.dkim.eu-central-2.amazonses.com",
               "SigningAttributesOrigin": "AWS_SES_EU_CENTRAL_1"}}"#,
        );
        assert_eq!(
            (easy.is_verified, easy.dkim, easy.way),
            (false, DkimStatus::Pending, Some(IdentityWay::EasyDkim))
        );
        assert_eq!(easy.tokens, ["abc", "def"]);
        assert_eq!(easy.hosted_zone.as_deref(), Some("b1.dkim.eu-central-2.amazonses.com"));
        let put = answer(r#"{"DkimStatus": "SUCCESS", "DkimTokens": ["mw2"]}"#);
        assert_eq!((put.is_verified, put.way, put.tokens), (true, None, vec!["mw2".to_owned()]));
        let failed = answer(r#"{"DkimStatus": "FAILED", "SigningHostedZone": "no zone"}"#);
        assert_eq!((failed.is_verified, failed.dkim, failed.hosted_zone), (false, DkimStatus::Failed, None));
    }

    #[test]
    fn errors_are_told_apart() {
        assert_eq!(said(400, "AlreadyExistsException", "x"), IdentityAnswer::Exists);
        assert_eq!(said(404, "NotFoundException", "x"), IdentityAnswer::Missing);
        assert_eq!(removed(200, None, b""), IdentityAnswer::Missing);
        let kept = removed(403, Some("AccessDeniedException"), b"{}");
        assert!(matches!(kept, IdentityAnswer::Hindered(Hindrance::Denied, _)), "{kept:?}");
        for (answer, wanted) in [
            (said(429, "TooManyRequestsException", "Rate exceeded"), Hindrance::Throttled),
            (said(429, "", ""), Hindrance::Throttled),
            (said(400, "LimitExceededException", "x"), Hindrance::Full),
            (said(403, "AccessDeniedException", "x"), Hindrance::Denied),
            (said(403, "SignatureDoesNotMatch", "x"), Hindrance::Denied),
            (said(400, "ExpiredTokenException", "x"), Hindrance::Denied),
            (said(400, "BadRequestException", "x"), Hindrance::Invalid),
            (said(404, "", "no such page"), Hindrance::Failed),
            (said(500, "ConcurrentModificationException", "x"), Hindrance::Failed),
            (said(503, "", ""), Hindrance::Failed),
            (answered(200, None, b"<html>"), Hindrance::Failed),
            (answered(200, None, b"{}"), Hindrance::Failed),
        ] {
            let IdentityAnswer::Hindered(why, _) = &answer else { panic!("{answer:?}") };
            assert_eq!(*why, wanted, "{answer:?}");
        }
        let IdentityAnswer::Hindered(_, told) = said(403, "AccessDeniedException", "not authorized") else {
            panic!()
        };
        assert_eq!((told.status, &*told.text), (403, "AccessDeniedException: not authorized"));
    }
}
