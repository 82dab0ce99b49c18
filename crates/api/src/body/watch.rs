//! Watching over the body of a request until the request is answered, and reading the rest.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, EXPECT};
use futures_util::stream::poll_fn;
use mailwright_app::account::client_key::ClientKey;
use tokio::time::timeout;

use super::bodies::Bodies;
use super::room::Standing;
use super::room::{Hold, Owner};
use super::source::{Source, State, Vouched, lock};

/// Most bytes of a body that are read although the request is answered already, and for how long.
pub(super) const MOST_DRAINED: usize = 256 * 1024;
const DRAINED_FOR: Duration = Duration::from_secs(1);

/// The part of a body that nobody has read when its request is answered.
pub(crate) struct Rest {
    pub(super) source: Arc<Mutex<Source>>,
    length: Option<usize>,
    /// The client sends the body only when it is told to go on.
    waits: bool,
}

/// Watches over the body of a request. `None` when there is none.
pub(crate) fn watch(request: &mut Request, bodies: &Arc<Bodies>, client: ClientKey) -> Option<Rest> {
    if request.body().is_end_stream() {
        return None;
    }
    let body = std::mem::take(request.body_mut());
    let vouched = Vouched::default();
    request.extensions_mut().insert(vouched.clone());
    let headers = request.headers();
    let (length, waits) = (length(headers), headers.contains_key(EXPECT));
    let owner = Owner { standing: Standing::Stranger, client, project: None };
    let source = Source {
        stream: body.into_data_stream(),
        bodies: Arc::clone(bodies),
        vouched,
        hold: Hold { owner, taken: 0, announced: length.unwrap_or_default() },
        read: 0,
        waiting: None,
        silence: None,
        until: None,
        state: State::Unread,
        dropping: false,
    };
    let source = Arc::new(Mutex::new(source));
    let reader = Arc::clone(&source);
    *request.body_mut() = Body::from_stream(poll_fn(move |cx| lock(&reader).poll(cx)));
    Some(Rest { source, length, waits })
}

/// How long the body is, as far as the client says so.
pub(crate) fn length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

impl Rest {
    /// Reads a little of what is left. Whether the connection can take another request afterwards: it cannot while
    /// there is more, and must say so, or the client's next request would meet its end.
    pub(crate) async fn read(self) -> bool {
        {
            let mut source = lock(&self.source);
            match source.state {
                State::Ended => return true,
                State::Failed => return false,
                State::Unread if self.waits => return false,
                State::Unread | State::Reading => {}
            }
            if self.length.is_some_and(|length| length.saturating_sub(source.read) > MOST_DRAINED) {
                return false;
            }
            source.dropping = true;
            if let Some((piece, _)) = source.waiting.take() {
                source.read += piece.len();
            }
        }
        let most = lock(&self.source).read + MOST_DRAINED;
        let mut pieces = poll_fn(|cx| lock(&self.source).poll(cx));
        let reading = async {
            while let Some(Ok(_)) = futures_util::StreamExt::next(&mut pieces).await {
                if lock(&self.source).read > most {
                    break;
                }
            }
        };
        let _ = timeout(DRAINED_FOR, reading).await;
        lock(&self.source).state == State::Ended
    }
}
