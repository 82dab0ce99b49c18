//! Where uploaded pictures are kept.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use mailwright_app::settings::{BaseUrl, ClientSecret, S3Settings, StoreSettings, UploadSettings};
use serde::Deserialize;

use super::checks::base_url;
use super::sections::Hidden;

/// The folder in the data directory.
const FOLDER: &str = "uploads";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Uploads {
    store: String,
    endpoint: String,
    region: String,
    key_id: String,
    secret: Hidden,
    public_url: String,
    mb_per_project: i64,
}

impl Uploads {
    pub(super) fn settings(&self, data_dir: &Path) -> Result<UploadSettings> {
        Ok(UploadSettings {
            store: self.store(data_dir)?,
            public_url: url("PUBLIC_URL", "https://pictures.example.com", &self.public_url)?,
            bytes_per_project: self.mb_per_project * 1024 * 1024,
        })
    }

    fn store(&self, data_dir: &Path) -> Result<StoreSettings> {
        let Some(place) = self.store.strip_prefix("s3://") else {
            return self.folder(data_dir).map(StoreSettings::Folder);
        };
        let (bucket, prefix) = place.trim_end_matches('/').split_once('/').unwrap_or((place.trim_end_matches('/'), ""));
        let is_plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._/".contains(&b));
        let is_path = prefix.split('/').all(|part| !matches!(part, "." | "..") && (prefix.is_empty() || !part.is_empty()));
        if bucket.is_empty() || !is_plain(bucket) || !is_plain(prefix) || !is_path {
            bail!("MAILWRIGHT_UPLOADS_STORE must be a folder, s3://bucket or s3://bucket/folder, not {:?}", self.store);
        }
        if self.key_id.is_empty() || self.secret.0.is_empty() {
            bail!("MAILWRIGHT_UPLOADS_STORE needs MAILWRIGHT_UPLOADS_KEY_ID and MAILWRIGHT_UPLOADS_SECRET");
        }
        Ok(StoreSettings::S3(Box::new(S3Settings {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            endpoint: url("ENDPOINT", "https://s3.example.com", &self.endpoint)?,
            region: self.region.clone(),
            key_id: self.key_id.clone(),
            secret: ClientSecret::new(&self.secret.0),
        })))
    }

    fn folder(&self, data_dir: &Path) -> Result<PathBuf> {
        if self.store.contains("://") {
            bail!("MAILWRIGHT_UPLOADS_STORE must be a folder, s3://bucket or s3://bucket/folder");
        }
        for (setting, value) in [("ENDPOINT", &self.endpoint), ("KEY_ID", &self.key_id), ("SECRET", &self.secret.0)] {
            if !value.is_empty() {
                bail!("MAILWRIGHT_UPLOADS_{setting} belongs to a store such as s3://bucket: set MAILWRIGHT_UPLOADS_STORE");
            }
        }
        Ok(if self.store.is_empty() { data_dir.join(FOLDER) } else { PathBuf::from(&self.store) })
    }
}

fn url(setting: &str, example: &str, text: &str) -> Result<Option<BaseUrl>> {
    match text {
        "" => Ok(None),
        text => base_url(&format!("MAILWRIGHT_UPLOADS_{setting}"), example, text).map(Some),
    }
}
