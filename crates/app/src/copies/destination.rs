//! Where copies are: a folder, or a bucket of a store that speaks S3.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use mailwright_core::time::Timestamp;
use mailwright_mail::dns::Dns;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt};
use tokio::time::timeout;

use super::envelope;
use crate::http_client::HttpClient;
use crate::sending::upload::s3;
use crate::settings::StoreSettings;

/// How long writing an object may take, repeats included.
const WRITING: Duration = Duration::from_mins(1);
/// How long reading or removing an object may take.
const READING: Duration = Duration::from_mins(1);
/// How long a list may take: of some hundred thousand objects.
const LISTING: Duration = Duration::from_mins(5);
/// Most characters of an error that are told.
const TOLD: usize = 300;

/// What went wrong with an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is not there.
    #[error("{0} is missing")]
    Missing(String),
    /// It is not what was written.
    #[error("{0} is damaged")]
    Damaged(String),
    /// The destination cannot be reached, or refuses.
    #[error("{0}")]
    Away(String),
}

/// An open destination. Clones are the same.
#[derive(Debug, Clone)]
pub struct Destination {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    /// The folder, where it is one.
    folder: Option<PathBuf>,
    name: String,
}

impl Destination {
    /// Opens a destination. A folder must be there, or is made.
    pub fn open(settings: &StoreSettings, dns: &Dns, makes_folder: bool) -> Result<Self, Fault> {
        match settings {
            StoreSettings::Folder(folder) => {
                let store = Arc::new(open_folder(folder, makes_folder)?);
                let name = folder.display().to_string();
                Ok(Self { store, prefix: String::new(), folder: Some(folder.clone()), name })
            }
            StoreSettings::S3(s3) => {
                let store = s3::open(s3, &HttpClient::for_copies(dns.clone())).map_err(|e| away(&e))?;
                let name = format!("s3://{}/{}", s3.bucket, s3.prefix).trim_end_matches('/').to_owned();
                Ok(Self { store: Arc::new(store), prefix: s3.prefix.clone(), folder: None, name })
            }
        }
    }

    /// How the operator calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn path(&self, name: &str) -> Path {
        if self.prefix.is_empty() { Path::from(name) } else { Path::from(format!("{}/{name}", self.prefix)) }
    }

    /// The name of an object below the prefix.
    fn own_name(&self, path: &Path) -> Option<String> {
        let path = path.as_ref();
        if self.prefix.is_empty() {
            return Some(path.to_owned());
        }
        Some(path.strip_prefix(&self.prefix)?.trim_start_matches('/').to_owned())
    }

    /// Writes an object; how many bytes it has there.
    pub(super) async fn put(&self, name: &str, bytes: &[u8]) -> Result<u64, Fault> {
        let sealed = envelope::seal(name, bytes);
        let size = sealed.len() as u64;
        if let Some(folder) = &self.folder {
            // what a process that died left beside the object, which it had not renamed yet
            let _ = tokio::fs::remove_file(folder.join(format!("{name}#1"))).await;
        }
        within(WRITING, name, self.store.put(&self.path(name), sealed.into())).await?;
        Ok(size)
    }

    /// Reads an object.
    pub(super) async fn get(&self, name: &str) -> Result<Vec<u8>, Fault> {
        let path = self.path(name);
        let read = async { self.store.get(&path).await?.bytes().await };
        let sealed = within(READING, name, read).await?;
        envelope::open(name, sealed.into()).ok_or_else(|| Fault::Damaged(name.to_owned()))
    }

    /// Removes an object; one that is not there is removed.
    pub(super) async fn remove(&self, name: &str) -> Result<(), Fault> {
        match within(READING, name, self.store.delete(&self.path(name))).await {
            Err(Fault::Missing(_)) => Ok(()),
            other => other,
        }
    }

    /// The names of the objects below a name, in their order: all, or those after one.
    pub(super) async fn list(&self, below: &str, after: Option<&str>) -> Result<Vec<String>, Fault> {
        let prefix = self.path(below);
        let found = match after {
            Some(after) => self.store.list_with_offset(Some(&prefix), &self.path(after)),
            None => self.store.list(Some(&prefix)),
        };
        let names = found.try_filter_map(|object| async move { Ok(self.own_name(&object.location)) });
        let mut names: Vec<String> = within(LISTING, below, names.try_collect()).await?;
        names.sort_unstable();
        Ok(names)
    }

    /// The names of the objects below a name, with when they were written.
    pub(super) async fn aged(&self, below: &str) -> Result<Vec<(String, Timestamp)>, Fault> {
        let found = self.store.list(Some(&self.path(below)));
        let aged = found.try_filter_map(|object| async move {
            let written = Timestamp(object.last_modified.timestamp_millis());
            Ok(self.own_name(&object.location).map(|name| (name, written)))
        });
        within(LISTING, below, aged.try_collect()).await
    }

    /// The folders directly below a name, in their order.
    pub(super) async fn folders(&self, below: &str) -> Result<Vec<String>, Fault> {
        let prefix = self.path(below);
        let listed = match within(LISTING, below, self.store.list_with_delimiter(Some(&prefix))).await {
            Err(Fault::Missing(_)) => return Ok(Vec::new()),
            listed => listed?,
        };
        let last = |path: &Path| path.parts().next_back().map(|part| part.as_ref().to_owned());
        let mut names: Vec<String> = listed.common_prefixes.iter().filter_map(last).collect();
        names.sort_unstable();
        Ok(names)
    }
}

fn open_folder(folder: &FilePath, makes_folder: bool) -> Result<LocalFileSystem, Fault> {
    let cannot = |error: std::io::Error| Fault::Away(format!("{}: {error}", folder.display()));
    if makes_folder {
        std::fs::create_dir_all(folder).map_err(cannot)?;
    }
    let opened = LocalFileSystem::new_with_prefix(folder).map_err(|error| away(&error))?;
    Ok(opened.with_fsync(true))
}

async fn within<T>(
    limit: Duration,
    name: &str,
    work: impl Future<Output = object_store::Result<T>>,
) -> Result<T, Fault> {
    match timeout(limit, work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(Error::NotFound { .. })) => Err(Fault::Missing(name.to_owned())),
        Ok(Err(error)) => Err(away(&error)),
        Err(_) => Err(Fault::Away(format!("nothing within {} seconds", limit.as_secs()))),
    }
}

fn away(error: &Error) -> Fault {
    Fault::Away(error.to_string().chars().take(TOLD).collect())
}
