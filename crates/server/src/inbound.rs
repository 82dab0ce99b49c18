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
use crate::http::network;

/// Pause after a connection could not be accepted, as when no file can be opened.
const PAUSE: Duration = Duration::from_millis(100);

/// The server.
struct Server {
    app: App,
    tasks: Tasks,
    config: Arc<Config>,
    tls: TlsAcceptor,
    places: Arc<Places>,
}

/// Starts listening. Fails when the address cannot be listened on, or the certificate cannot be read.
pub(crate) async fn start(app: &App, tasks: &Tasks, settings: &Listener) -> Result<()> {
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
    let places = Places {
        most: settings.connections,
        most_of_client: settings.connections_per_client,
        taken: Mutex::default(),
    };
    let server = Server {
        app: app.clone(),
        tasks: tasks.clone(),
        config: Arc::new(config),
        tls: TlsAcceptor::from(tls),
        places: Arc::new(places),
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
        let Some(place) = Places::take(&self.places, network(client)) else {
            self.app.metrics().inbound_refused();
            return smtp_server::refuse(stream, &Refusal::too_many_connections());
        };
        let _ = stream.set_nodelay(true);
        let (config, tls, tasks) = (Arc::clone(&self.config), self.tls.clone(), self.tasks.clone());
        let receiver = self.app.inbound();
        self.tasks.spawn("an inbound connection", async move {
            let stopping = tasks.clone();
            let served = smtp_server::serve(stream, client, config, Some(tls), &receiver, async move {
                stopping.stopping().await;
            });
            let summary = served.await;
            if summary.end != End::Quit {
                tracing::debug!(
                    end = summary.end.as_str(),
                    messages = summary.messages,
                    "an inbound connection ended"
                );
            }
            drop(place);
        });
    }
}

/// How many connections there are, in all and by client.
struct Places {
    most: usize,
    most_of_client: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    of_clients: HashMap<IpAddr, usize>,
}

impl Places {
    /// A place for a connection of a client; `None` when there is none left.
    fn take(of: &Arc<Self>, client: IpAddr) -> Option<Place> {
        let mut taken = of.lock();
        let of_client = taken.of_clients.get(&client).copied().unwrap_or_default();
        if taken.all >= of.most || of_client >= of.most_of_client {
            return None;
        }
        taken.all += 1;
        taken.of_clients.insert(client, of_client + 1);
        Some(Place { of: Arc::clone(of), client })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a connection, which is free again when this is dropped.
struct Place {
    of: Arc<Places>,
    client: IpAddr,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.of.lock();
        taken.all -= 1;
        let left = taken.of_clients.get(&self.client).copied().unwrap_or(1) - 1;
        if left == 0 {
            taken.of_clients.remove(&self.client);
        } else {
            taken.of_clients.insert(self.client, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_all_and_by_client() {
        let places = Arc::new(Places { most: 3, most_of_client: 2, taken: Mutex::default() });
        let [one, other]: [IpAddr; 2] = ["192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap()];
        let first = Places::take(&places, one).unwrap();
        let _second = Places::take(&places, one).unwrap();
        assert!(Places::take(&places, one).is_none());
        let _third = Places::take(&places, other).unwrap();
        assert!(Places::take(&places, other).is_none());
        drop(first);
        assert!(Places::take(&places, other).is_some());
        assert_eq!(places.lock().all, 2);
    }
}
