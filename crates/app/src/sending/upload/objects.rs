//! Where the bytes of pictures are: a folder, or a store that speaks S3.
//!
//! An object is written once under a name that nothing else ever has. In a folder it is written beside, brought to the
//! disk and renamed, so that it is there whole or not at all.

use std::ops::Range;
use std::path::Path as FilePath;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use mailwright_core::upload::PictureType;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{Attribute, Attributes, Error, ObjectStore, ObjectStoreExt, PutOptions};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::s3;
use crate::http_client::HttpClient;
use crate::settings::StoreSettings;

/// How long writing an object may take, repeats included.
const WRITING: Duration = Duration::from_mins(1);
/// How long reading a part of an object may take, and removing an object.
const READING: Duration = Duration::from_secs(20);
/// Parts of objects that are read at once in a process.
const READS: usize = 32;
/// Most characters of an error that are logged.
const TOLD: usize = 300;

/// What went wrong with the store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum StoreError {
    /// It has no such object.
    #[error("there is no such object")]
    Missing,
    /// It cannot be reached, or refuses.
    #[error("{0}")]
    Away(String),
}

/// The store.
pub(super) struct Objects {
    settings: StoreSettings,
    http: HttpClient,
    /// Opened when it is first needed: the folder may be made by then.
    opened: OnceLock<Arc<dyn ObjectStore>>,
    reads: Semaphore,
}

impl Objects {
    pub(super) fn new(settings: StoreSettings, http: HttpClient) -> Self {
        Self { settings, http, opened: OnceLock::new(), reads: Semaphore::new(READS) }
    }

    /// Writes a new object.
    pub(super) async fn put(&self, object: &str, bytes: Bytes, kind: PictureType) -> Result<(), StoreError> {
        let store = self.open()?;
        let mut options = PutOptions::default();
        if let StoreSettings::S3(_) = self.settings {
            let attribute = (Attribute::ContentType, kind.as_str());
            options.attributes = Attributes::from_iter([attribute]);
        }
        let at = self.path(object);
        within(WRITING, store.put_opts(&at, bytes.into(), options)).await.map(drop)
    }

    /// Reads a part of an object.
    pub(super) async fn read(&self, object: &str, part: Range<u64>) -> Result<Bytes, StoreError> {
        let (store, at) = (self.open()?, self.path(object));
        let turn = timeout(READING, self.reads.acquire()).await;
        let _turn = turn.map_err(|_| StoreError::Away("too many pictures are read at once".into()))?;
        let expected = part.end.saturating_sub(part.start);
        let bytes = within(READING, store.get_range(&at, part)).await?;
        if bytes.len() as u64 == expected {
            Ok(bytes)
        } else {
            Err(StoreError::Away(format!("{} bytes came where {expected} were asked for", bytes.len())))
        }
    }

    /// Removes an object; one that is not there is removed.
    pub(super) async fn remove(&self, object: &str) -> Result<(), StoreError> {
        let (store, at) = (self.open()?, self.path(object));
        if let StoreSettings::Folder(folder) = &self.settings {
            // what a process that died left beside the object, which it had not renamed yet
            let _ = tokio::fs::remove_file(folder.join(format!("{object}#1"))).await;
        }
        match within(READING, store.delete(&at)).await {
            Err(StoreError::Missing) => Ok(()),
            other => other,
        }
    }

    fn path(&self, object: &str) -> Path {
        match &self.settings {
            StoreSettings::S3(s3) if !s3.prefix.is_empty() => Path::from(format!("{}/{object}", s3.prefix)),
            StoreSettings::Folder(_) | StoreSettings::S3(_) => Path::from(object),
        }
    }

    fn open(&self) -> Result<&dyn ObjectStore, StoreError> {
        if let Some(opened) = self.opened.get() {
            return Ok(&**opened);
        }
        let opened: Arc<dyn ObjectStore> = match &self.settings {
            StoreSettings::Folder(folder) => Arc::new(open_folder(folder)?),
            StoreSettings::S3(settings) => Arc::new(s3::open(settings, &self.http).map_err(told)?),
        };
        Ok(&**self.opened.get_or_init(|| opened))
    }
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Objects").field(&self.settings).finish()
    }
}

fn open_folder(folder: &FilePath) -> Result<LocalFileSystem, StoreError> {
    let cannot = |error: std::io::Error| {
        StoreError::Away(format!("the folder {} cannot be made: {error}", folder.display()))
    };
    std::fs::create_dir_all(folder).map_err(cannot)?;
    let opened = LocalFileSystem::new_with_prefix(folder).map_err(told)?;
    Ok(opened.with_fsync(true).with_automatic_cleanup(true))
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = object_store::Result<T>>,
) -> Result<T, StoreError> {
    match timeout(limit, work).await {
        Ok(done) => done.map_err(told),
        Err(_) => Err(StoreError::Away(format!("nothing within {} seconds", limit.as_secs()))),
    }
}

fn told(error: Error) -> StoreError {
    match error {
        Error::NotFound { .. } => StoreError::Missing,
        other => StoreError::Away(other.to_string().chars().take(TOLD).collect()),
    }
}

#[cfg(test)]
mod tests {
    use mailwright_mail::dns::Dns;

    use super::*;

    fn folder(at: &FilePath) -> Objects {
        let dns = Dns::with_server("127.0.0.1:9".parse().unwrap());
        Objects::new(StoreSettings::Folder(at.to_owned()), HttpClient::for_objects(dns))
    }

    #[tokio::test]
    async fn what_is_in_a_folder_is_written_read_in_parts_and_removed() {
        let temp = tempfile::tempdir().unwrap();
        let objects = folder(&temp.path().join("made/when/needed"));
        let bytes = Bytes::from_static(b"0123456789");
        assert_eq!(objects.read("p/a.png", 0..1).await, Err(StoreError::Missing));
        objects.put("p/a.png", bytes.clone(), PictureType::Png).await.unwrap();
        assert_eq!(objects.read("p/a.png", 0..10).await.unwrap(), bytes);
        assert_eq!(objects.read("p/a.png", 3..5).await.unwrap(), "34");
        assert!(matches!(objects.read("p/a.png", 8..12).await, Err(StoreError::Away(_))), "it is shorter");
        objects.remove("p/a.png").await.unwrap();
        objects.remove("p/a.png").await.unwrap();
        assert_eq!(objects.read("p/a.png", 0..10).await, Err(StoreError::Missing));
        assert!(!temp.path().join("made/when/needed/p").exists(), "no empty folder is left");
    }

    #[tokio::test]
    async fn what_a_process_that_died_left_is_removed_with_its_object() {
        let temp = tempfile::tempdir().unwrap();
        let objects = folder(temp.path());
        std::fs::create_dir(temp.path().join("p")).unwrap();
        let staged = temp.path().join("p/a.png#1");
        std::fs::write(&staged, "half").unwrap();
        objects.remove("p/a.png").await.unwrap();
        assert!(!staged.exists());
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_made_is_a_store_that_is_away() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        std::fs::write(&file, "").unwrap();
        let objects = folder(&file.join("below"));
        let failed = objects.put("p/a.png", Bytes::new(), PictureType::Png).await;
        assert!(matches!(failed, Err(StoreError::Away(_))), "{failed:?}");
    }
}
