//! A receiver of webhooks on 127.0.0.1, which answers as a test says.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::task::{JoinHandle, JoinSet};

use crate::net::{free_port, listen};

/// A request that came.
#[derive(Debug, Clone)]
pub struct Call {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Call {
    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What a receiver does with a request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Answers with a status and a body.
    Status(u16, String),
    /// Answers with a status, a header and a body.
    With(u16, &'static str, String, String),
    /// Answers nothing for so long, then with 200.
    Late(Duration),
    /// Closes the connection without an answer.
    Drop,
}

/// Says what a receiver does with a request, which is the n-th, from 0.
type Script = dyn Fn(&Call, usize) -> Reply + Send + Sync;

/// A running receiver.
#[derive(Debug)]
pub struct Receiver {
    port: u16,
    calls: Arc<Mutex<Vec<Call>>>,
    accepting: JoinHandle<()>,
}

impl Receiver {
    /// Starts a receiver.
    pub async fn start(script: impl Fn(&Call, usize) -> Reply + Send + Sync + 'static) -> Self {
        let port = free_port();
        let listener = listen(port).await;
        let calls = Arc::<Mutex<Vec<Call>>>::default();
        let (shared, script): (_, Arc<Script>) = (Arc::clone(&calls), Arc::new(script));
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let (calls, script) = (Arc::clone(&shared), Arc::clone(&script));
                connections.spawn(async move {
                    let answer =
                        service_fn(move |request| answer(Arc::clone(&calls), Arc::clone(&script), request));
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
                });
                while connections.try_join_next().is_some() {}
            }
        });
        Self { port, calls, accepting }
    }

    /// Starts a receiver that answers everything with 200 and `{"ok":true}`.
    pub async fn obliging() -> Self {
        Self::start(|_, _| Reply::Status(200, r#"{"ok":true}"#.to_owned())).await
    }

    /// An address of it.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The requests that came so far.
    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The connection is closed without an answer.
#[derive(Debug)]
struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("dropped")
    }
}

impl std::error::Error for Dropped {}

async fn answer(
    calls: Arc<Mutex<Vec<Call>>>,
    script: Arc<Script>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Dropped> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Dropped)?.to_bytes();
    let text = |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let call = Call {
        method: head.method.to_string(),
        target: head.uri.to_string(),
        headers: head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let number = {
        let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push(call.clone());
        calls.len() - 1
    };
    let (status, header, body) = match script(&call, number) {
        Reply::Status(status, body) => (status, None, body),
        Reply::With(status, name, value, body) => (status, Some((name, value)), body),
        Reply::Late(pause) => {
            tokio::time::sleep(pause).await;
            (200, None, String::new())
        }
        Reply::Drop => return Err(Dropped),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some((name, value)) = header
        && let Ok(value) = value.parse()
    {
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}
