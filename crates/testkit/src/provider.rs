//! A provider to sign in with: the parts of GitHub's and Google's APIs that the program uses, on 127.0.0.1.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::task::{JoinHandle, JoinSet};

use crate::app::AppBuilder;
use crate::net::{free_port, listen};

/// What the server under test is known by.
const CLIENT: (&str, &str) = ("client-of-the-tests", "secret-of-the-client");

/// Somebody's account at the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The number that never changes.
    pub id: i64,
    /// The address.
    pub email: String,
    /// Whether the provider verified it.
    pub verified: bool,
}

impl Account {
    /// An account with a verified address.
    pub fn new(id: i64, email: &str) -> Self {
        Self { id, email: email.to_owned(), verified: true }
    }
}

/// What a code was given out for.
#[derive(Debug)]
struct Grant {
    account: Account,
    challenge: String,
    redirect_uri: String,
}

#[derive(Debug, Default)]
struct Books {
    grants: HashMap<String, Grant>,
    tokens: HashMap<String, Account>,
    /// Everything that was given out and must not be found elsewhere.
    secrets: Vec<String>,
    down: bool,
}

/// A running provider.
#[derive(Debug)]
pub struct Provider {
    port: u16,
    books: Arc<Mutex<Books>>,
    accepting: JoinHandle<()>,
}

impl Provider {
    /// Starts a provider.
    pub async fn start() -> Self {
        let port = free_port();
        let listener = listen(port).await;
        let books = Arc::<Mutex<Books>>::default();
        let shared = Arc::clone(&books);
        let accepting = tokio::spawn(async move {
            // Aborted with this task, because a set of tasks aborts what it holds when it is dropped.
            let mut connections = JoinSet::new();
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let books = Arc::clone(&shared);
                connections.spawn(async move {
                    let answer = service_fn(move |request| answer(Arc::clone(&books), request));
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
                });
                while connections.try_join_next().is_some() {}
            }
        });
        Self { port, books, accepting }
    }

    /// Makes a server offer this provider, as GitHub and as Google.
    pub fn offered_by(&self, builder: AppBuilder) -> AppBuilder {
        let url = format!("http://127.0.0.1:{}", self.port);
        let mut builder = builder;
        for name in ["GITHUB", "GOOGLE"] {
            builder = builder
                .env(&format!("MAILWRIGHT_OAUTH_{name}_CLIENT_ID"), CLIENT.0)
                .env(&format!("MAILWRIGHT_OAUTH_{name}_CLIENT_SECRET"), CLIENT.1)
                .env(&format!("MAILWRIGHT_OAUTH_{name}_URL"), &url)
                .env(&format!("MAILWRIGHT_OAUTH_{name}_API_URL"), &url);
        }
        builder.env("MAILWRIGHT_OAUTH_GOOGLE_TOKEN_URL", &url)
    }

    /// Somebody who was sent to `url` allows the sign-in: path and query of where the browser goes back to.
    pub fn allow(&self, url: &str, account: &Account) -> String {
        let base = format!("http://127.0.0.1:{}/", self.port);
        assert!(url.starts_with(&base), "sent to {url}");
        let query = fields(url.split_once('?').unwrap().1);
        assert_eq!((query["client_id"].as_str(), query["response_type"].as_str()), (CLIENT.0, "code"));
        assert_eq!(query["code_challenge_method"], "S256");
        let code = hex_of(&format!("code {} {}", query["state"], account.id));
        let grant = Grant {
            account: account.clone(),
            challenge: query["code_challenge"].clone(),
            redirect_uri: query["redirect_uri"].clone(),
        };
        let mut books = self.books.lock().unwrap();
        books.secrets.push(code.clone());
        books.grants.insert(code.clone(), grant);
        let path = query["redirect_uri"].splitn(4, '/').nth(3).unwrap();
        format!("/{path}?code={code}&state={}", query["state"])
    }

    /// Answers nothing but errors from now on.
    pub fn fail(&self) {
        self.books.lock().unwrap().down = true;
    }

    /// Every code and token that was given out, and the secret of the client.
    pub fn secrets(&self) -> Vec<String> {
        let mut secrets = self.books.lock().unwrap().secrets.clone();
        secrets.push(CLIENT.1.to_owned());
        secrets
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn answer(
    books: Arc<Mutex<Books>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let mut books = books.lock().unwrap();
    let found = match parts.uri.path() {
        _ if books.down => None,
        "/login/oauth/access_token" | "/token" => exchange(&mut books, &String::from_utf8_lossy(&body)),
        path => {
            let bearer = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
            let token = bearer.and_then(|bearer| bearer.strip_prefix("Bearer "));
            token.and_then(|token| books.tokens.get(token)).and_then(|account| shown(path, account))
        }
    };
    let mut response = Response::new(Full::from(found.clone().unwrap_or_default().to_string()));
    if found.is_none() {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    Ok(response)
}

/// A token for a code, which is good once, for whoever began.
fn exchange(books: &mut Books, form: &str) -> Option<Value> {
    let form = fields(form);
    let text = |name: &str| form.get(name).map(String::as_str);
    let grant = books.grants.remove(text("code")?)?;
    let challenge = BASE64.encode(Sha256::digest(text("code_verifier")?));
    let right = text("client_id") == Some(CLIENT.0)
        && text("client_secret") == Some(CLIENT.1)
        && text("grant_type") == Some("authorization_code")
        && text("redirect_uri") == Some(grant.redirect_uri.as_str())
        && challenge == grant.challenge;
    if !right {
        return None;
    }
    let token = hex_of(&format!("token {}", text("code")?));
    books.secrets.push(token.clone());
    books.tokens.insert(token.clone(), grant.account);
    Some(json!({"access_token": token, "token_type": "bearer"}))
}

fn shown(path: &str, account: &Account) -> Option<Value> {
    let Account { id, email, verified } = account;
    match path {
        "/user" => Some(json!({"id": id, "login": "somebody", "email": "shown@elsewhere.example"})),
        "/user/emails" => Some(json!([
            {"email": "old@elsewhere.example", "primary": false, "verified": true},
            {"email": email, "primary": true, "verified": verified},
        ])),
        "/v1/userinfo" => Some(json!({"sub": id.to_string(), "email": email, "email_verified": verified})),
        _ => None,
    }
}

fn hex_of(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |all, byte| all + &format!("{byte:02x}"))
}

/// The fields of a query or form.
fn fields(text: &str) -> HashMap<String, String> {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}
