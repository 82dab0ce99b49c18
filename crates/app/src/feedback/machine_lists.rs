//! What is known of machines: tables that ship with the program, and networks that their owners publish, which a command
//! of the operator fetches. Every process takes over what was fetched, within some minutes.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use mailwright_core::hit::{Network, Source, Tables, rows, sources};
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::feedback::published_networks::{self, Fetched};

use crate::App;
use crate::background::runner::{Job, Runner};
use crate::background::tasks::Tasks;
use crate::error::Result;
use crate::http_client::HttpClient;

/// How often a process looks whether lists were fetched.
const RELOADED: Duration = Duration::from_mins(1);

/// The tables that this process has loaded.
#[derive(Default)]
pub(super) struct MachineLists(RwLock<Loaded>);

/// The tables as they were loaded.
struct Loaded {
    tables: Arc<Tables>,
    /// When the newest list in them was fetched.
    fetched_at: Option<Timestamp>,
}

impl Default for Loaded {
    fn default() -> Self {
        Self { tables: Tables::embedded(), fetched_at: None }
    }
}

/// What became of a list.
#[derive(Debug, Clone)]
pub struct ListRefreshed {
    /// Where it is published, and which part of it is meant.
    pub list: String,
    /// How many networks it has, or why it could not be fetched. Then the one before stays.
    pub networks: std::result::Result<usize, String>,
}

impl MachineLists {
    /// What is known of machines.
    pub(super) fn tables(&self) -> Arc<Tables> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).tables)
    }
}

pub(super) fn start(app: &App, tasks: &Tasks) {
    let load: fn(App) -> _ = |app| async move { app.load_machine_lists().await };
    Runner::new(app, "machine lists", RELOADED).start(tasks, Job::new(app, load));
}

impl App {
    /// Takes the lists over that were fetched since the last time.
    async fn load_machine_lists(&self) -> Result<()> {
        let newest = self.read(body!(async |rx| published_networks::newest(rx).await)).await?;
        let MachineLists(loaded) = &self.0.feedback.machine_lists;
        if newest == loaded.read().unwrap_or_else(PoisonError::into_inner).fetched_at {
            return Ok(());
        }
        let fetched = self.read(body!(async |rx| published_networks::all(rx).await)).await?;
        let parsed = tokio::task::spawn_blocking(move || with(&fetched)).await;
        match parsed.map_err(|error| error.to_string()).and_then(|parsed| parsed) {
            Ok(tables) => {
                let mut loaded = loaded.write().unwrap_or_else(PoisonError::into_inner);
                *loaded = Loaded { tables: Arc::new(tables), fetched_at: newest };
            }
            Err(error) => tracing::error!(error, "the lists of machines' networks cannot be read"),
        }
        Ok(())
    }

    /// Fetches all lists that are published, and keeps those that can be read. With `mirror`, each is fetched from there,
    /// at its host and path.
    pub async fn refresh_machine_lists(&self, mirror: Option<&str>) -> Result<Vec<ListRefreshed>> {
        let http = HttpClient::for_lists(self.0.dns.clone());
        let mut refreshed = Vec::new();
        for source in sources() {
            let fetched = fetch(&http, source, mirror).await;
            if let Ok(networks) = &fetched {
                let (list, now) = (name_of(source), self.clock().now());
                let networks: Vec<String> = networks.iter().map(ToString::to_string).collect();
                let networks = networks.join(" ");
                self.write(body!(async |tx| {
                    published_networks::put(tx, &list, &networks, now).await?;
                    Ok(())
                }))
                .await?;
            }
            refreshed.push(ListRefreshed {
                list: name_of(source),
                networks: fetched.map(|networks| networks.len()),
            });
        }
        Ok(refreshed)
    }
}

fn name_of(source: &Source) -> String {
    if source.part.is_empty() { source.url.to_owned() } else { format!("{}#{}", source.url, source.part) }
}

async fn fetch(
    http: &HttpClient,
    source: &Source,
    mirror: Option<&str>,
) -> std::result::Result<Vec<Network>, String> {
    let text = http.fetch_list(source.url, mirror).await?;
    source.read(&text).map_err(|error| error.to_string())
}

/// The tables that ship with the program, and the lists that were fetched.
fn with(fetched: &[Fetched]) -> std::result::Result<Tables, String> {
    let mut text = Tables::embedded_networks().to_owned();
    for source in sources() {
        let name = name_of(source);
        let Some(list) = fetched.iter().find(|list| list.list == name) else { continue };
        let networks: std::result::Result<Vec<Network>, String> =
            list.networks.split_ascii_whitespace().map(str::parse).collect();
        let networks = networks.map_err(|error| format!("{name}: {error}"))?;
        text.push_str(&rows(&networks, source.owner, source.effect, source.url, &list.at.to_string()));
    }
    Tables::parse(&text, Tables::embedded_agents()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fetched_lists_add_to_the_tables() {
        let source = sources().first().unwrap();
        let address = "192.0.2.7".parse().unwrap();
        assert!(Tables::embedded().network(address).is_none());
        let list = Fetched {
            list: name_of(source),
            networks: "192.0.2.0/24 2001:db8::/32".to_owned(),
            at: Timestamp(0),
        };
        let tables = with(&[list]).unwrap();
        assert_eq!(&**tables.network(address).unwrap().owner, source.owner);
        let broken = Fetched { list: name_of(source), networks: "192.0.2.0/99".to_owned(), at: Timestamp(0) };
        assert!(with(&[broken]).is_err());
    }
}
