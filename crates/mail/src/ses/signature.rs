//! Signatures of requests to Amazon's services, version 4 (`SigV4`).
//!
//! A request is put into a canonical form; its hash, the time and the scope (day, region, service) are signed with a key
//! that is derived from the secret and the scope.

use std::fmt::{self, Write as _};

use mailwright_core::hex;
use mailwright_core::time::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::digest::{SHA256, digest};
use ring::hmac::{HMAC_SHA256, Key, sign};

/// What is not written as `%XX`: letters, digits and these (RFC 3986 section 2.3).
pub(super) const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// A key of an account. `Debug` shows its id alone.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessKey {
    /// Its id.
    pub id: String,
    /// The secret.
    pub secret: String,
    /// For a key that is valid for a while: what has to be sent with it.
    pub session_token: Option<String>,
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Where a signature is valid.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// The region, such as `eu-central-1`.
    pub region: &'a str,
    /// The service, such as `ses`.
    pub service: &'a str,
}

/// A request to be signed.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// `GET`, `POST` and so on.
    pub method: &'a str,
    /// The path, as it stands in the request.
    pub path: &'a str,
    /// Names and values of the query, not encoded.
    pub query: &'a [(&'a str, &'a str)],
    /// The host, with the port unless it is that of the scheme.
    pub host: &'a str,
    /// Further headers that are signed; names in lower case.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body.
    pub body: &'a [u8],
}

/// The headers that make a request valid for some minutes around `now`: names and values. They come beside those in the
/// request, of which `host` is one.
pub fn signed_headers(
    request: &Request<'_>,
    key: &AccessKey,
    scope: Scope<'_>,
    now: Timestamp,
) -> Vec<(&'static str, String)> {
    let time = compact(now);
    let day = &time[..8];
    let mut added = vec![("x-amz-date", time.clone())];
    added.extend(key.session_token.clone().map(|token| ("x-amz-security-token", token)));
    let mut headers: Vec<(&str, &str)> = vec![("host", request.host)];
    headers.extend(request.headers);
    headers.extend(added.iter().map(|(name, value)| (*name, value.as_str())));
    headers.sort_unstable();
    let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let credential = format!("{day}/{}/{}/aws4_request", scope.region, scope.service);
    let canonical = canonical(request, &headers, &names);
    let to_sign = format!(
        "{ALGORITHM}\n{time}\n{credential}\n{}",
        hex::encode(digest(&SHA256, canonical.as_bytes()).as_ref())
    );
    let parts = [day, scope.region, scope.service, "aws4_request", &to_sign];
    let start = format!("AWS4{}", key.secret).into_bytes();
    let signature = parts
        .iter()
        .fold(start, |key, part| sign(&Key::new(HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec());
    let authorization = format!(
        "{ALGORITHM} Credential={}/{credential}, SignedHeaders={names}, Signature={}",
        key.id,
        hex::encode(&signature)
    );
    added.push(("authorization", authorization));
    added
}

fn canonical(request: &Request<'_>, headers: &[(&str, &str)], names: &str) -> String {
    let encoded = |text: &str| utf8_percent_encode(text, ENCODED).to_string();
    let mut query: Vec<_> =
        request.query.iter().map(|(name, value)| (encoded(name), encoded(value))).collect();
    query.sort_unstable();
    let query = query.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&");
    // a path is encoded once more, its slashes are not
    let path = request.path.split('/').map(encoded).collect::<Vec<_>>().join("/");
    let mut lines = String::new();
    for (name, value) in headers {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(lines, "{name}:{value}");
    }
    let body = hex::encode(digest(&SHA256, request.body).as_ref());
    format!("{}\n{path}\n{query}\n{lines}\n{names}\n{body}", request.method)
}

/// The time as ISO 8601 has it in its short form, to the second.
fn compact(now: Timestamp) -> String {
    let text = now.to_string();
    let digits: String = text.chars().take_while(|c| *c != '.').filter(|c| *c != '-' && *c != ':').collect();
    format!("{digits}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key, time and scope of the test vectors that Amazon publishes.
    fn key() -> AccessKey {
        AccessKey {
            id: "AKIDEXAMPLE".into(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
            session_token: None,
        }
    }

    fn now() -> Timestamp {
        Timestamp::parse("2015-08-30T12:36:00Z").expect("a time")
    }

    const SCOPE: Scope<'static> = Scope { region: "us-east-1", service: "service" };

    const VANILLA: Request<'static> = Request {
        method: "GET",
        path: "/",
        query: &[],
        host: "example.amazonaws.com",
        headers: &[],
        body: b"",
    };

    fn signature(request: &Request<'_>) -> String {
        let headers = signed_headers(request, &key(), SCOPE, now());
        let (_, value) = headers.last().expect("a header");
        value.rsplit('=').next().expect("a signature").to_owned()
    }

    #[test]
    fn published_requests_have_the_published_signatures() {
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let order = [("Param2", "value2"), ("Param1", "value1")];
        let cases = [
            (VANILLA, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            (
                Request { method: "POST", ..VANILLA },
                "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            ),
            (
                Request { method: "POST", headers: &form, body: b"Param1=value1", ..VANILLA },
                "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
            ),
            (
                Request { query: &order, ..VANILLA },
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            ),
        ];
        for (request, wanted) in cases {
            assert_eq!(signature(&request), wanted, "{request:?}");
        }
    }

    #[test]
    fn paths_are_encoded_once_more() {
        let unreserved = "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        for (path, wanted) in [
            // of the published test vectors
            (unreserved, "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
            ("/\u{1234}", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
            ("/example space/", "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
        ] {
            assert_eq!(signature(&Request { path, ..VANILLA }), wanted, "{path}");
        }
    }

    /// There are no published vectors of such requests. Amazon's library for Python, botocore 1.44, signs them so.
    #[test]
    fn requests_about_identities_are_signed_as_the_library_of_amazon_does() {
        let json = [("content-type", "application/json")];
        let get = Request { host: "email.us-east-1.amazonaws.com", ..VANILLA };
        let put = Request {
            method: "PUT",
            headers: &json,
            body: br#"{"SigningAttributesOrigin":"AWS_SES"}"#,
            ..get
        };
        let scope = Scope { region: "us-east-1", service: "ses" };
        for (request, path, wanted) in [
            (
                get,
                "/v2/email/identities/xn--bcher-kva.example",
                "9a2667b284b2344ead44946719a40213ed0b70d2b906964d39a647aa69809eeb",
            ),
            (
                get,
                "/v2/email/identities/a%40b.example",
                "a3c47d81bedf08837e6638a3eb8ccce2a20821d2f5b655395ba63a110410815e",
            ),
            (
                put,
                "/v2/email/identities/acme.test/dkim/signing",
                "cd4d7745d3889d75d1513b00c9d146d688cebd0e1b97eb70d4b75382fd54f666",
            ),
        ] {
            let signed = signed_headers(&Request { path, ..request }, &key(), scope, now());
            let (_, value) = signed.last().expect("a header");
            assert!(value.ends_with(&format!("Signature={wanted}")), "{path}: {value}");
        }
    }

    #[test]
    fn the_example_of_the_documentation() {
        let query = [("Action", "ListUsers"), ("Version", "2010-05-08")];
        let headers = [("content-type", "application/x-www-form-urlencoded; charset=utf-8")];
        let request = Request { query: &query, host: "iam.amazonaws.com", headers: &headers, ..VANILLA };
        let scope = Scope { region: "us-east-1", service: "iam" };
        let signed = signed_headers(&request, &key(), scope, now());
        let wanted = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, \
                      SignedHeaders=content-type;host;x-amz-date, \
                      Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7";
        assert_eq!(signed[0], ("x-amz-date", "20150830T123600Z".to_owned()));
        assert_eq!(signed[1], ("authorization", wanted.to_owned()));
    }

    #[test]
    fn a_session_is_signed_and_no_secret_is_shown() {
        let key = AccessKey { session_token: Some("a token".into()), ..key() };
        let signed = signed_headers(&VANILLA, &key, SCOPE, now());
        assert_eq!(signed[1].0, "x-amz-security-token");
        assert!(signed[2].1.contains("SignedHeaders=host;x-amz-date;x-amz-security-token"));
        assert_eq!(format!("{key:?}"), r#"AccessKey { id: "AKIDEXAMPLE", .. }"#);
    }
}
