//! An empty PostgreSQL database, for tests that migrate it themselves.

use std::future::Future;
use std::process;

use crate::postgres_server::Server;

/// A database that is dropped with this value.
#[derive(Debug)]
pub struct EmptyDatabase {
    server: Server,
    name: String,
}

impl EmptyDatabase {
    /// Makes one. `test` is a name that no other test has.
    pub fn create(test: &str) -> Self {
        let mut name = format!("mailwright_{test}");
        // PostgreSQL cuts longer ones off
        name.truncate(48);
        let database = Self { server: Server::from_environment(), name: format!("{name}_{}", process::id()) };
        database.administer(&format!("create database {}", database.name));
        database
    }

    /// Where it is.
    pub fn url(&self) -> String {
        self.server.url(&self.name, None)
    }

    /// Drops one of the same name first, which a process with this id left, or this one at its end.
    fn administer(&self, then: &str) {
        let (server, then) = (self.server.clone(), then.to_owned());
        let drop = format!("drop database if exists {} with (force)", self.name);
        apart(async move {
            let client = server.connect().await;
            server.everywhere(&client, &drop).await;
            server.everywhere(&client, &then).await;
        });
    }
}

impl Drop for EmptyDatabase {
    fn drop(&mut self) {
        self.administer("");
    }
}

/// Runs a future on a thread and a runtime of its own: a value is made and dropped outside of any.
pub(crate) fn apart(future: impl Future<Output = ()> + Send + 'static) {
    let run = std::thread::spawn(|| {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future);
    });
    let is_done = run.join().is_ok();
    assert!(is_done || std::thread::panicking(), "PostgreSQL could not be told");
}
