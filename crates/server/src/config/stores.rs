//! Folders and buckets, as settings name them.

use std::path::PathBuf;

use anyhow::{Result, bail};
use mailwright_app::settings::{BaseUrl, ClientSecret, S3Settings, StoreSettings};

use super::checks::base_url;
use super::sections::Hidden;

/// The settings of a store.
pub(super) struct Store<'s> {
    /// What the names of the variables begin with, such as `MAILWRIGHT_UPLOADS`.
    pub(super) variables: &'static str,
    /// What the name of the variable with the place ends with, such as `STORE`.
    pub(super) name: &'static str,
    /// The place: a folder, or `s3://bucket` with or without a folder in it.
    pub(super) place: &'s str,
    pub(super) endpoint: &'s str,
    pub(super) region: &'s str,
    pub(super) key_id: &'s str,
    pub(super) secret: &'s Hidden,
}

impl Store<'_> {
    /// The store.
    pub(super) fn settings(&self) -> Result<StoreSettings> {
        let (variables, name) = (self.variables, self.name);
        let Some(place) = self.place.strip_prefix("s3://") else {
            return self.folder().map(StoreSettings::Folder);
        };
        let (bucket, prefix) =
            place.trim_end_matches('/').split_once('/').unwrap_or((place.trim_end_matches('/'), ""));
        let is_plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._/".contains(&b));
        let is_path = prefix
            .split('/')
            .all(|part| !matches!(part, "." | "..") && (prefix.is_empty() || !part.is_empty()));
        if bucket.is_empty() || !is_plain(bucket) || !is_plain(prefix) || !is_path {
            bail!(
                "{variables}_{name} must be a folder, s3://bucket or s3://bucket/folder, not {:?}",
                self.place
            );
        }
        if self.key_id.is_empty() || self.secret.0.is_empty() {
            bail!("{variables}_{name} needs {variables}_KEY_ID and {variables}_SECRET");
        }
        Ok(StoreSettings::S3(Box::new(S3Settings {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            endpoint: self.url("ENDPOINT", "https://s3.example.com", self.endpoint)?,
            region: self.region.to_owned(),
            key_id: self.key_id.to_owned(),
            secret: ClientSecret::new(&self.secret.0),
        })))
    }

    fn folder(&self) -> Result<PathBuf> {
        let (variables, name) = (self.variables, self.name);
        if self.place.contains("://") {
            bail!("{variables}_{name} must be a folder, s3://bucket or s3://bucket/folder");
        }
        for (setting, value) in
            [("ENDPOINT", self.endpoint), ("KEY_ID", self.key_id), ("SECRET", &self.secret.0)]
        {
            if !value.is_empty() {
                bail!("{variables}_{setting} belongs to a store such as s3://bucket: set {variables}_{name}");
            }
        }
        Ok(PathBuf::from(self.place))
    }

    /// A setting that is the beginning of URLs.
    pub(super) fn url(&self, setting: &str, example: &str, text: &str) -> Result<Option<BaseUrl>> {
        match text {
            "" => Ok(None),
            text => base_url(&format!("{}_{setting}", self.variables), example, text).map(Some),
        }
    }
}
