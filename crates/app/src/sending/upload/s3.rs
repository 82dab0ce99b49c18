//! A store that speaks S3, reached by our own client: `object_store` signs the requests, and `http_client` makes them.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Response;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::{
    HttpClient as Client, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use object_store::{BackoffConfig, ClientOptions, RetryConfig};

use crate::http_client::{ConfiguredUrl, Error, Failure, HttpClient, Request};
use crate::settings::S3Settings;

/// How often a request that failed is repeated. All of them are such that may be done twice.
const REPEATS: usize = 2;
/// After how long nothing is repeated any more.
const REPEATED_FOR: Duration = Duration::from_secs(20);
/// The first and the longest pause before a repeat.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// The store of these settings.
pub(crate) fn open(settings: &S3Settings, http: &HttpClient) -> object_store::Result<AmazonS3> {
    let retry = RetryConfig {
        backoff: BackoffConfig { init_backoff: PAUSES.0, max_backoff: PAUSES.1, base: 2.0 },
        max_retries: REPEATS,
        retry_timeout: REPEATED_FOR,
    };
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&settings.bucket)
        .with_region(&settings.region)
        .with_access_key_id(&settings.key_id)
        .with_secret_access_key(settings.secret.reveal())
        .with_retry(retry)
        // a plain DELETE, which every store understands
        .with_disable_bulk_delete(true)
        .with_http_connector(Connector(http.clone()));
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.with_endpoint(endpoint.as_str()).with_allow_http(!endpoint.is_https());
    }
    builder.build()
}

/// Gives out our own client.
#[derive(Debug)]
struct Connector(HttpClient);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<Client> {
        Ok(Client::new(Service(self.0.clone())))
    }
}

/// Makes the requests.
#[derive(Debug)]
struct Service(HttpClient);

impl HttpService for Service {
    fn call<'s, 'f>(
        &'s self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(exchange(&self.0, request))
    }
}

async fn exchange(http: &HttpClient, request: HttpRequest) -> Result<HttpResponse, HttpError> {
    let (head, body) = request.into_parts();
    let to =
        ConfiguredUrl::parse(&head.uri.to_string()).map_err(|refusal| failed(Error::Refused(refusal)))?;
    let body = body.collect().await?.to_bytes();
    let mut request = Request::new(head.method, to).with_body(body).may_repeat();
    for (name, value) in &head.headers {
        request = request.header(name.clone(), value.clone());
    }
    let answer = http.send(request).await.map_err(failed)?;
    let mut response = Response::new(HttpResponseBody::from(answer.body));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    Ok(response)
}

/// What `object_store` makes of an error: which ones are worth a repeat.
fn failed(error: Error) -> HttpError {
    let kind = match &error {
        Error::NotSent(Failure::Timeout { .. }) | Error::InDoubt(Failure::Timeout { .. }) => {
            HttpErrorKind::Timeout
        }
        Error::NotSent(_) => HttpErrorKind::Connect,
        Error::InDoubt(Failure::Exchange(_) | Failure::Connection(_)) => HttpErrorKind::Interrupted,
        _ => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}
