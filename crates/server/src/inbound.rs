//! The SMTP server for mail that comes in: accepts connections, counts them, and hands each to `mailwright-mail`.

mod by_network;
mod places;
mod table;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use mailwright_app::App;
use mailwright_app::background::tasks::Tasks;
use mailwright_mail::smtp_server::{
    self, Config, End, Envelope, Limits, Path, Receiver, Refusal, Stage, Verdict,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use self::places::{Place, Places};
use crate::config::Listener;

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
    let server = Server {
        app: app.clone(),
        tasks: tasks.clone(),
        config: Arc::new(config),
        tls: TlsAcceptor::from(tls),
        places: Arc::new(Places::new(connections, settings.connections_per_client)),
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
        let Some(place) = self.places.take(client) else {
            self.app.metrics().inbound_refused();
            return smtp_server::refuse(stream, &Refusal::too_many_connections());
        };
        let _ = stream.set_nodelay(true);
        let (config, tls, tasks) = (Arc::clone(&self.config), self.tls.clone(), self.tasks.clone());
        let (app, place) = (self.app.clone(), Arc::new(place));
        let receiver = Watched { receiver: app.inbound(), place: Arc::clone(&place) };
        self.tasks.spawn("an inbound connection", async move {
            let ends = async {
                tokio::select! {
                    () = tasks.stopping() => End::ShutDown,
                    () = place.is_needed() => End::NoRoom,
                }
            };
            let served = smtp_server::serve(stream, client, config, Some(tls), &receiver, ends);
            let summary = tokio::select! {
                biased;
                summary = served => Some(summary),
                // the client takes no reply
                () = place.is_overdue() => None,
            };
            let end = summary.map_or(End::NoRoom, |summary| summary.end);
            if end == End::NoRoom {
                app.metrics().inbound_refused();
            }
            if end != End::Quit {
                let messages = summary.map(|summary| summary.messages);
                tracing::debug!(end = end.as_str(), messages, "an inbound connection ended");
            }
        });
    }
}

/// Takes the mail of a connection, whose place hears how far the session is.
struct Watched<R> {
    receiver: R,
    place: Arc<Place>,
}

impl<R: Receiver> Receiver for Watched<R> {
    fn recipient(&self, envelope: &Envelope, recipient: &Path) -> impl Future<Output = Verdict> + Send {
        self.receiver.recipient(envelope, recipient)
    }

    fn message(&self, envelope: Envelope, content: Vec<u8>) -> impl Future<Output = Verdict> + Send {
        self.receiver.message(envelope, content)
    }

    fn reached(&self, stage: Stage) {
        self.place.reached(stage);
    }
}
