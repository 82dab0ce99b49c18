//! What is known of a request before anybody looks at it, and what all requests share.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::extract::{ConnectInfo, Request};
use axum::http::header::HeaderName;
use axum::http::{HeaderMap, HeaderValue};
use mailwright_app::App;
use mailwright_app::account::client_key::ClientKey;
use mailwright_app::project::rate_limit::Allowance;
use mailwright_app::project::request_log::Asker;
use mailwright_core::ids::ProjectNumber;
use tokio::sync::Semaphore;

use crate::body::Bodies;
use crate::host::KnownHosts;

/// Where a proxy says from whom it has a request.
pub(crate) const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// How long the answer to a request beyond a limit on requests is held back.
const PAUSE: Duration = Duration::from_millis(100);
/// How many answers are held back at once. Others beyond a limit leave right away.
const PAUSES: usize = 256;

/// The limits and settings that all requests share.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) app: App,
    pub(crate) bodies: Arc<Bodies>,
    pauses: Semaphore,
    pub(crate) hosts: KnownHosts,
    told_of_proxy: AtomicBool,
}

impl Edge {
    pub(crate) fn new(app: App) -> Arc<Self> {
        let settings = app.settings();
        let bodies = Bodies::new(settings.bodies);
        let hosts = KnownHosts::new(&settings.base_url, &settings.allowed_hosts);
        let pauses = Semaphore::new(PAUSES);
        Arc::new(Self { app, bodies, pauses, hosts, told_of_proxy: AtomicBool::new(false) })
    }

    /// Holds back the answer to a request beyond a limit, so that a client that goes on asking without a pause costs
    /// others little.
    pub(crate) async fn pause(&self) {
        if let Ok(_one_of_few) = self.pauses.try_acquire() {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Logs once that requests come through a proxy although `trusted_proxies` is 0.
    fn look_for_proxy(&self, headers: &HeaderMap) {
        if headers.contains_key(FORWARDED_FOR) && !self.told_of_proxy.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "requests have X-Forwarded-For, but MAILWRIGHT_TRUSTED_PROXIES is 0: if there is a proxy, all its \
                 clients count as one"
            );
        }
    }
}

/// What is known of a request before its credential is checked. Every request has it as an extension.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    pub(crate) edge: Arc<Edge>,
    /// Who sends it.
    pub(crate) client: ClientKey,
    /// The address of the client.
    pub(crate) address: IpAddr,
}

impl Visit {
    pub(crate) fn new(edge: &Arc<Edge>, request: &Request) -> Self {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        let proxies = edge.app.settings().accounts.trusted_proxies;
        if proxies == 0 {
            edge.look_for_proxy(request.headers());
        }
        let address = client_address(request.headers(), peer, proxies);
        Self { edge: Arc::clone(edge), client: ClientKey::of(address), address }
    }

    pub(crate) fn bodies(&self) -> &Bodies {
        &self.edge.bodies
    }
}

/// What the extractors learnt of a request, carried to its answer. Every request has it as an extension.
#[derive(Debug, Clone, Default)]
pub(crate) struct Learnt(Arc<Facts>);

#[derive(Debug, Default)]
struct Facts {
    /// What the limiter said.
    allowance: OnceLock<Allowance>,
    /// The project, and who asks it for something.
    asker: OnceLock<(ProjectNumber, Asker)>,
}

impl Learnt {
    pub(crate) fn note(&self, allowance: Allowance) {
        let _ = self.0.allowance.set(allowance);
    }

    pub(crate) fn allowance(&self) -> Option<&Allowance> {
        self.0.allowance.get()
    }

    pub(crate) fn note_asker(&self, project: ProjectNumber, asker: Asker) {
        let _ = self.0.asker.set((project, asker));
    }

    pub(crate) fn asker(&self) -> Option<(ProjectNumber, Asker)> {
        self.0.asker.get().copied()
    }
}

/// The client's address: the connection's, or what the outermost of our own proxies says of it. Each proxy appends the
/// address that it sees, so that what stands further left was written by anybody.
pub(crate) fn client_address(headers: &HeaderMap, peer: Option<IpAddr>, proxies: usize) -> IpAddr {
    let peer = peer.unwrap_or(IpAddr::from([0, 0, 0, 0]));
    if proxies == 0 {
        return peer;
    }
    // anybody may have written bytes that are no text, so each address is looked at by itself
    let lines = headers.get_all(FORWARDED_FOR).iter().map(HeaderValue::as_bytes);
    let named: Vec<&[u8]> = lines.flat_map(|line| line.split(|byte| *byte == b',')).collect();
    named.len().checked_sub(proxies).and_then(|at| forwarded_address(named[at])).unwrap_or(peer)
}

/// An address as proxies write it, some of them with the port of the connection: `192.0.2.1`, `192.0.2.1:4711`,
/// `2001:db8::1`, `[2001:db8::1]:4711`.
fn forwarded_address(named: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(named).ok()?.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn a_forwarded_address_counts_from_the_own_proxies() {
        let peer: IpAddr = "10.0.0.1".parse().unwrap();
        let of = |given: &[(&'static str, &'static str)], proxies| {
            client_address(&headers(given), Some(peer), proxies).to_string()
        };
        let forged = [("x-forwarded-for", "1.1.1.1, 2.2.2.2"), ("x-forwarded-for", "3.3.3.3")];
        assert_eq!(of(&forged, 0), "10.0.0.1");
        assert_eq!(of(&forged, 1), "3.3.3.3");
        assert_eq!(of(&forged, 2), "2.2.2.2");
        assert_eq!(of(&forged, 9), "10.0.0.1");
        assert_eq!(of(&[("x-forwarded-for", "nonsense")], 1), "10.0.0.1");
        for (written, meant) in [
            ("192.0.2.1:4711", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
        ] {
            assert_eq!(client_address(&one_line(written.as_bytes()), Some(peer), 1).to_string(), meant);
        }
    }

    #[test]
    fn what_a_client_writes_before_it_does_not_hide_what_the_proxy_wrote() {
        let peer: IpAddr = "10.0.0.1".parse().unwrap();
        let headers = one_line(b"\xff\xfe, 3.3.3.3");
        assert_eq!(client_address(&headers, Some(peer), 1).to_string(), "3.3.3.3");
    }

    fn one_line(value: &[u8]) -> HeaderMap {
        HeaderMap::from_iter([(FORWARDED_FOR, HeaderValue::from_bytes(value).unwrap())])
    }
}
