//! HTTP requests that the service itself makes, to addresses that the operator configured: one connection each, with a
//! limit on time and size. Redirects are not followed.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How long a request may take from the name lookup to the last byte.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes of an answer.
const MOST: usize = 256 * 1024;

/// Makes requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct HttpClient(Arc<OnceLock<Arc<ClientConfig>>>);

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

impl HttpClient {
    /// Sends a request whose URI is absolute. The error says why there is no answer, and names no secret.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Answer, String> {
        match tokio::time::timeout(PATIENCE, self.exchange(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer within {} seconds", PATIENCE.as_secs())),
        }
    }

    async fn exchange(&self, mut request: Request<Full<Bytes>>) -> Result<Answer, String> {
        let uri = request.uri().clone();
        let (Some(host), Some(authority)) = (uri.host(), uri.authority()) else {
            return Err("the address has no host".into());
        };
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err("the address is neither http nor https".into()),
        };
        let name = HeaderValue::from_str(authority.as_str()).map_err(|e| e.to_string())?;
        request.headers_mut().insert(HOST, name);
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static("mailwright"));
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        *request.uri_mut() = path.parse::<Uri>().map_err(|e| e.to_string())?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = uri.port_u16().unwrap_or(if https { 443 } else { 80 });
        let stream = TcpStream::connect((host.as_str(), port)).await.map_err(|e| e.to_string())?;
        if !https {
            return converse(stream, request).await;
        }
        let name = ServerName::try_from(host).map_err(|e| e.to_string())?;
        let stream =
            TlsConnector::from(self.tls()?).connect(name, stream).await.map_err(|e| e.to_string())?;
        converse(stream, request).await
    }

    /// Made at the first use, because reading the roots of the system takes milliseconds.
    fn tls(&self) -> Result<Arc<ClientConfig>, String> {
        if let Some(known) = self.0.get() {
            return Ok(Arc::clone(known));
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Arc::clone(self.0.get_or_init(|| Arc::new(config))))
    }
}

async fn converse<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Answer, String>
where
    S: AsyncRead + AsyncWrite + Send + Unpin,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|e| e.to_string())?;
    let exchange = async move {
        let response = sender.send_request(request).await.map_err(|e| e.to_string())?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MOST).collect().await;
        let body = body.map_err(|e| format!("the answer could not be read: {e}"))?.to_bytes();
        Ok(Answer { status, body })
    };
    tokio::pin!(exchange);
    tokio::pin!(connection);
    // the connection is driven here rather than by a task of its own, and ends with the exchange
    tokio::select! {
        biased;
        answer = &mut exchange => answer,
        ended = &mut connection => match ended {
            Ok(()) => exchange.await,
            Err(error) => Err(error.to_string()),
        },
    }
}
