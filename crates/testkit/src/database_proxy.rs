//! What stands between the program and its database, so that both can be cut off from each other.

use crate::database::Database;
use crate::net::TcpProxy;

/// A proxy before PostgreSQL, and on a cluster one before each of its servers.
#[derive(Debug)]
pub struct DatabaseProxy {
    first: TcpProxy,
    workers: Vec<TcpProxy>,
}

impl DatabaseProxy {
    pub(crate) async fn start(database: &Database) -> Self {
        let first = TcpProxy::start(database.address()).await;
        let mut workers = Vec::new();
        for (number, address) in database.workers().await {
            let proxy = TcpProxy::start(address).await;
            database.rename_worker(&number, proxy.port()).await;
            workers.push(proxy);
        }
        Self { first, workers }
    }

    /// The port of 127.0.0.1 that the program connects to.
    pub fn port(&self) -> u16 {
        self.first.port()
    }

    /// Breaks every connection and refuses new ones.
    pub async fn cut(&self) {
        for proxy in self.all() {
            proxy.cut().await;
        }
    }

    /// Lets connections through again.
    pub async fn restore(&self) {
        for proxy in self.all() {
            proxy.restore().await;
        }
    }

    fn all(&self) -> impl Iterator<Item = &TcpProxy> {
        self.workers.iter().chain([&self.first])
    }
}
