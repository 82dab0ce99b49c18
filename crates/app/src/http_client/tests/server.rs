//! A server on 127.0.0.1 that answers by a script, and the names and addresses that lead to it.

use std::collections::{HashMap, VecDeque};
use std::future::pending;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::http_client::error::Failure;
use crate::http_client::network::{Dial, Resolve};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// The number of the connection, from 1 on.
    pub(super) connection: usize,
    /// Request line and headers, in small letters.
    pub(super) head: String,
    pub(super) body: String,
}

impl Seen {
    pub(super) fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }
}

/// What the server does with a request.
pub(super) enum Reply {
    /// Answers, and waits for the next one.
    Text(String),
    /// Answers that much, and then says nothing more.
    Stalling(String),
    /// Closes the connection.
    Closing,
}

/// An answer with a body.
pub(super) fn ok(body: &str) -> Reply {
    Reply::Text(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

/// A redirect.
pub(super) fn redirect(status: u16, to: &str) -> Reply {
    Reply::Text(format!("HTTP/1.1 {status} Elsewhere\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"))
}

type Script = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

/// What a server was given.
#[derive(Default)]
struct Book {
    seen: Vec<Seen>,
    opened: usize,
    closed: usize,
}

/// A running server. It ends when it is dropped.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    book: Arc<watch::Sender<Book>>,
    _tasks: JoinSet<()>,
}

impl Server {
    pub(super) async fn start(script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_with(script, None).await
    }

    /// The same with TLS.
    pub(super) async fn start_with(
        script: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
        tls: Option<tokio_rustls::TlsAcceptor>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (book, script) = (Arc::<watch::Sender<Book>>::default(), Arc::new(script) as Script);
        let mut tasks = JoinSet::new();
        let shared = Arc::clone(&book);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (book, script, tls) = (Arc::clone(&shared), Arc::clone(&script), tls.clone());
                connections.spawn(async move {
                    let mut number = 0;
                    book.send_modify(|book| {
                        book.opened += 1;
                        number = book.opened;
                    });
                    match tls {
                        None => converse(stream, number, &book, &script).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => converse(stream, number, &book, &script).await,
                            Err(_) => Ok(()),
                        },
                    }
                    .ok();
                    book.send_modify(|book| book.closed += 1);
                });
            }
        });
        Self { address, book, _tasks: tasks }
    }

    /// Every request so far.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.book.borrow().seen.clone()
    }

    /// How many connections there were.
    pub(super) fn opened(&self) -> usize {
        self.book.borrow().opened
    }

    /// Waits until so many requests have arrived.
    pub(super) async fn has_seen(&self, count: usize) {
        self.book.subscribe().wait_for(|book| book.seen.len() >= count).await.unwrap();
    }

    /// Waits until so many connections are closed.
    pub(super) async fn has_closed(&self, count: usize) {
        self.book.subscribe().wait_for(|book| book.closed >= count).await.unwrap();
    }
}

async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    connection: usize,
    book: &watch::Sender<Book>,
    script: &Script,
) -> io::Result<()> {
    while let Some((head, body)) = read_request(&mut stream).await? {
        let seen = Seen { connection, head, body };
        let reply = script(&seen);
        book.send_modify(|book| book.seen.push(seen));
        match reply {
            Reply::Text(text) => stream.write_all(text.as_bytes()).await?,
            Reply::Stalling(text) => {
                stream.write_all(text.as_bytes()).await?;
                // until the other end closes it
                while stream.read(&mut [0; 1024]).await? > 0 {}
                return Ok(());
            }
            Reply::Closing => return Ok(()),
        }
    }
    Ok(())
}

async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<(String, String)>> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                return Ok(Some((head, body.to_owned())));
            }
        }
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer).await? {
            0 => return Ok(None),
            read => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}

/// What a name stands for. The last entry stays.
pub(super) enum Names {
    Are(Vec<IpAddr>),
    Unknown,
    Silent,
}

/// Names and addresses of the tests: `93.184.216.34`, say, is a server on this machine.
#[derive(Default)]
pub(super) struct Net {
    names: Mutex<HashMap<String, VecDeque<Names>>>,
    routes: Mutex<HashMap<IpAddr, SocketAddr>>,
    dialled: Mutex<Vec<SocketAddr>>,
}

impl Net {
    /// A name that stands for these addresses.
    pub(super) fn name(&self, name: &str, addresses: &[&str]) {
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        self.then(name, Names::Are(addresses));
    }

    /// What a name stands for when it is asked for the next time.
    pub(super) fn then(&self, name: &str, names: Names) {
        self.names.lock().unwrap().entry(name.to_owned()).or_default().push_back(names);
    }

    /// An address at which there is a server.
    pub(super) fn route(&self, address: &str, to: SocketAddr) {
        self.routes.lock().unwrap().insert(address.parse().unwrap(), to);
    }

    /// What was connected to.
    pub(super) fn dialled(&self) -> Vec<String> {
        self.dialled.lock().unwrap().iter().map(ToString::to_string).collect()
    }
}

impl Resolve for Net {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Failure>> {
        let mut names = self.names.lock().unwrap();
        let Some(entries) = names.get_mut(host.trim_end_matches('.')) else {
            return Box::pin(async { Err(Failure::NoSuchHost) });
        };
        let found = match entries.front() {
            Some(Names::Are(addresses)) => Some(Ok(addresses.clone())),
            Some(Names::Unknown) | None => Some(Err(Failure::NoSuchHost)),
            Some(Names::Silent) => None,
        };
        if entries.len() > 1 {
            entries.pop_front();
        }
        Box::pin(async move {
            match found {
                Some(found) => found,
                None => pending().await,
            }
        })
    }
}

impl Dial for Net {
    fn dial(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        self.dialled.lock().unwrap().push(address);
        let to = self.routes.lock().unwrap().get(&address.ip()).copied();
        Box::pin(async move {
            match to {
                Some(to) => TcpStream::connect(to).await,
                // an address that does not answer
                None => pending().await,
            }
        })
    }
}
