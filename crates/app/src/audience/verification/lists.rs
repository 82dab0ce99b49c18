//! The lists of domains: those that come with the program, and newer ones that a command of the operator fetches. Every
//! process takes over what was fetched within a minute or two.

use std::sync::Arc;
use std::time::Duration;

use mailwright_core::time::Timestamp;
use mailwright_mail::verification::{Lists, PublishedList};
use mailwright_store::audience::verification_list::{self, Fetched};
use mailwright_store::body;

use crate::App;
use crate::background::runner::every;
use crate::background::tasks::Tasks;
use crate::error::Result;
use crate::http_client::HttpClient;

/// How often a process looks whether lists were fetched.
const RELOADED: Duration = Duration::from_mins(1);

/// What became of a list.
#[derive(Debug, Clone)]
pub struct ListRefreshed {
    /// Its name.
    pub list: &'static str,
    /// Where it is published.
    pub url: &'static str,
    /// How many domains it has, or why the one before stays.
    pub domains: std::result::Result<usize, String>,
}

/// A list that is in force.
#[derive(Debug, Clone)]
pub struct ListInForce {
    /// Its name.
    pub list: &'static str,
    /// How many domains it has.
    pub domains: usize,
    /// Where it is from, in words or as a URL.
    pub origin: String,
    /// When it was fetched; `None` for one that came with the program.
    pub fetched_at: Option<Timestamp>,
}

impl App {
    /// Starts to take over lists that are fetched. Every process that verifies addresses does so.
    pub fn start_verification_lists(&self, tasks: &Tasks) {
        every(self, tasks, "verification lists", RELOADED, |app| async move {
            app.load_verification_lists().await
        });
    }

    /// Takes the lists over that were fetched since the last time.
    async fn load_verification_lists(&self) -> Result<()> {
        let newest = self.read(body!(async |rx| verification_list::newest(rx).await)).await?;
        let state = &self.0.audience.verification;
        if newest == state.fetched_at() {
            return Ok(());
        }
        let fetched = self.read(body!(async |rx| verification_list::all(rx).await)).await?;
        let lists = Arc::new(on_a_thread(move || with(&fetched)).await?);
        state.renew(lists, newest);
        Ok(())
    }

    /// Fetches the lists that are published, and keeps those that can be read and are not much shorter than the ones that
    /// come with the program. With `mirror`, each is fetched from there, at its host and path.
    pub async fn refresh_verification_lists(&self, mirror: Option<&str>) -> Result<Vec<ListRefreshed>> {
        let http = HttpClient::for_lists(self.0.dns.clone());
        let mut refreshed = Vec::new();
        for list in PublishedList::ALL {
            let domains = match http.fetch_list(list.url(), mirror).await {
                Ok(text) => on_a_thread(move || read(list, &text)).await?,
                Err(error) => Err(error),
            };
            let domains = match domains {
                Ok((count, domains)) => {
                    let (name, url) = (list.as_str().to_owned(), list.url().to_owned());
                    let fetched = Fetched { list: name, url, domains, at: self.clock().now() };
                    self.write(body!(async |tx| Ok(verification_list::put(tx, &fetched).await?))).await?;
                    Ok(count)
                }
                Err(error) => Err(error),
            };
            refreshed.push(ListRefreshed { list: list.as_str(), url: list.url(), domains });
        }
        Ok(refreshed)
    }

    /// The lists that are in force.
    pub async fn verification_lists(&self) -> Result<Vec<ListInForce>> {
        let fetched = self.read(body!(async |rx| verification_list::all(rx).await)).await?;
        on_a_thread(move || {
            let lists = with(&fetched);
            let in_force = |list: PublishedList| {
                let newer = fetched.iter().find(|newer| newer.list == list.as_str());
                ListInForce {
                    list: list.as_str(),
                    domains: lists.of(list).len(),
                    origin: newer.map_or_else(|| list.origin(), |newer| newer.url.clone()),
                    fetched_at: newer.map(|newer| newer.at),
                }
            };
            PublishedList::ALL.map(in_force).to_vec()
        })
        .await
    }
}

/// Reads a list as it was published: how many domains it has, and these.
fn read(list: PublishedList, text: &str) -> std::result::Result<(usize, String), String> {
    let lists = Lists::default().renewed(list, text).map_err(|error| error.to_string())?;
    let domains: Vec<&str> = lists.of(list).iter().collect();
    Ok((domains.len(), domains.join("\n")))
}

/// The lists that come with the program, with those that were fetched in their place.
fn with(fetched: &[Fetched]) -> Lists {
    let mut lists = Lists::default();
    for newer in fetched {
        let Some(list) = PublishedList::from_name(&newer.list) else { continue };
        match lists.clone().renewed(list, &newer.domains) {
            Ok(renewed) => lists = renewed,
            Err(error) => {
                tracing::error!(%error, list = newer.list, "a list that was fetched cannot be read");
            }
        }
    }
    lists
}

/// Reads long lists where nobody waits.
async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| crate::Error::Internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_list_that_cannot_be_read_leaves_the_shipped_one() {
        let fetched = |list: &str, domains: String| Fetched {
            list: list.to_owned(),
            url: "https://lists.example/a".to_owned(),
            domains,
            at: Timestamp(0),
        };
        let shipped = Lists::default();
        let many: Vec<String> = (0..shipped.disposable().len()).map(|n| format!("d{n}.example")).collect();
        let lists = with(&[
            fetched("disposable", many.join("\n")),
            fetched("personal", "one.example".to_owned()),
            fetched("unknown", "two.example".to_owned()),
        ]);
        assert!(lists.disposable().find("d7.example").is_some());
        assert!(lists.disposable().find("mailinator.com").is_none());
        assert_eq!(lists.personal().len(), shipped.personal().len());
        assert_eq!(read(PublishedList::Disposable, &many.join("\n")).unwrap().0, many.len());
        assert!(read(PublishedList::Personal, "one.example").is_err());
    }
}
