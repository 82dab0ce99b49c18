//! The SMTP server for mail that comes in: accepts connections, counts them, and hands each to `mailwright-mail`.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use mailwright_app::App;
use mailwright_app::background::tasks::Tasks;
use mailwright_mail::smtp_server::{self, Config, End, Limits, Refusal};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::config::Listener;
use crate::http::{Places, network};

/// Pause after a connection could not be accepted, as when no file can be opened.
const PAUSE: Duration = Duration::from_millis(100);

/// The server.
struct Server {
    app: App,
    tasks: Tasks,
    config: Arc<Config>,
    tls: TlsAcceptor,
    places: Arc<Places>,
    clients: Arc<Clients>,
}

/// Starts listening, for so many connections at once. Fails when the address cannot be listened on, or the certificate cannot be read.
pub(crate) async fn start(app: &App, tasks: &Tasks, settings: &Listener, connections: usize) -> Result<()> {
    let listener = TcpListener::bind(&settings.listen).await.map_err(|error| {
        anyhow!("MAILWRIGHT_INBOUND_LISTEN: cannot listen on {}: {error}", settings.listen)
    })?;
    let tls = match &settings.tls {
        Some((certificate, key)) => mailwright_tls::server_config_of(certificate, key)
            .context("MAILWRIGHT_INBOUND_TLS_CERTIFICATE and MAILWRIGHT_INBOUND_TLS_KEY")?,
        None => mailwright_tls::self_signed_server_config(&settings.host)
            .context("no certificate could be made")?,
    };
    let mut config = Config::new(settings.host.clone());
    let size = settings.message_bytes;
    config.limits = Limits { message_size: size, discarded: size, ..Limits::default() };
    let clients = Clients { most: settings.connections_per_client, open: Mutex::default() };
    let server = Server {
        app: app.clone(),
        tasks: tasks.clone(),
        config: Arc::new(config),
        tls: TlsAcceptor::from(tls),
        places: Arc::new(Places::new(connections, None)),
        clients: Arc::new(clients),
    };
    tracing::info!(listen = %settings.listen, host = %settings.host, "mail is taken");
    tasks.spawn("inbound mail", server.accept(listener));
    Ok(())
}

impl Server {
    async fn accept(self, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                () = self.tasks.stopping() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, client)) => self.begin(stream, client.ip()),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    self.tasks.pause(PAUSE).await;
                }
            }
        }
    }

    fn begin(&self, stream: TcpStream, client: IpAddr) {
        let counted = Clients::take(&self.clients, network(client));
        let Some((counted, place)) = counted.and_then(|counted| Some((counted, self.places.take(client)?)))
        else {
            self.app.metrics().inbound_refused();
            return smtp_server::refuse(stream, &Refusal::too_many_connections());
        };
        let _ = stream.set_nodelay(true);
        let (config, tls, tasks) = (Arc::clone(&self.config), self.tls.clone(), self.tasks.clone());
        let receiver = self.app.inbound();
        self.tasks.spawn("an inbound connection", async move {
            let stopping = tasks.clone();
            let served = smtp_server::serve(stream, client, config, Some(tls), &receiver, async {
                tokio::select! {
                    () = stopping.stopping() => {}
                    // another client needs the place, and this one has had it longest
                    () = place.is_needed() => {}
                }
            });
            let summary = served.await;
            if summary.end != End::Quit {
                tracing::debug!(
                    end = summary.end.as_str(),
                    messages = summary.messages,
                    "an inbound connection ended"
                );
            }
            drop((place, counted));
        });
    }
}

/// How many connections each client has. One that has all it may is refused, and tries again; where all places of the
/// server are taken, the connection that was there first makes room.
struct Clients {
    most: usize,
    open: Mutex<HashMap<IpAddr, usize>>,
}

impl Clients {
    /// Counts a connection of a client; `None` when it has all it may.
    fn take(of: &Arc<Self>, client: IpAddr) -> Option<OfClient> {
        let mut open = of.lock();
        let count = open.entry(client).or_default();
        if *count >= of.most {
            return None;
        }
        *count += 1;
        Some(OfClient { of: Arc::clone(of), client })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection of a client, which counts until this is dropped.
struct OfClient {
    of: Arc<Clients>,
    client: IpAddr,
}

impl Drop for OfClient {
    fn drop(&mut self) {
        let mut open = self.of.lock();
        if let Some(count) = open.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_by_client() {
        let clients = Arc::new(Clients { most: 2, open: Mutex::default() });
        let [one, other]: [IpAddr; 2] = ["192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap()];
        let first = Clients::take(&clients, one).unwrap();
        let _second = Clients::take(&clients, one).unwrap();
        assert!(Clients::take(&clients, one).is_none());
        let third = Clients::take(&clients, other).unwrap();
        drop((first, third));
        assert!(Clients::take(&clients, one).is_some());
        assert_eq!(clients.lock().len(), 1);
    }
}
