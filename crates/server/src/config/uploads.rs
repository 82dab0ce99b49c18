//! Where uploaded pictures are kept.

use std::path::Path;

use anyhow::Result;
use mailwright_app::settings::{StoreSettings, UploadSettings};
use serde::Deserialize;

use super::sections::Hidden;
use super::stores::Store;

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
            public_url: self.place().url("PUBLIC_URL", "https://pictures.example.com", &self.public_url)?,
            bytes_per_project: self.mb_per_project * 1024 * 1024,
        })
    }

    fn store(&self, data_dir: &Path) -> Result<StoreSettings> {
        match self.place().settings()? {
            StoreSettings::Folder(folder) if folder.as_os_str().is_empty() => {
                Ok(StoreSettings::Folder(data_dir.join(FOLDER)))
            }
            store => Ok(store),
        }
    }

    fn place(&self) -> Store<'_> {
        Store {
            variables: "MAILWRIGHT_UPLOADS",
            name: "STORE",
            place: &self.store,
            endpoint: &self.endpoint,
            region: &self.region,
            key_id: &self.key_id,
            secret: &self.secret,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uploads(store: &str, endpoint: &str, key: (&str, &str)) -> Uploads {
        Uploads {
            store: store.into(),
            endpoint: endpoint.into(),
            region: "us-east-1".into(),
            key_id: key.0.into(),
            secret: Hidden(key.1.into()),
            public_url: String::new(),
            mb_per_project: 1,
        }
    }

    #[test]
    fn a_store_is_a_folder_or_a_bucket() {
        let store = |store: &str| {
            let key = if store.starts_with("s3://") { ("id", "secret") } else { ("", "") };
            uploads(store, "", key).settings(Path::new("/data")).map(|settings| settings.store)
        };
        for (text, folder) in [("", "/data/uploads"), ("/pictures", "/pictures"), ("pictures", "pictures")] {
            assert!(
                matches!(store(text), Ok(StoreSettings::Folder(found)) if found == Path::new(folder)),
                "{text}"
            );
        }
        for (text, bucket, prefix) in [
            ("s3://pictures", "pictures", ""),
            ("s3://pictures/", "pictures", ""),
            ("s3://pictures/of/mailwright/", "pictures", "of/mailwright"),
        ] {
            let Ok(StoreSettings::S3(s3)) = store(text) else { panic!("{text}") };
            assert_eq!((s3.bucket.as_str(), s3.prefix.as_str()), (bucket, prefix));
        }
        for text in [
            "s3://",
            "s3:///x",
            "s3://a b",
            "s3://a/../b",
            "s3://a//b",
            "s3://a/b?c",
            "gs://a",
            "https://a/b",
        ] {
            assert!(store(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_a_bucket_needs_belongs_to_a_bucket_and_is_not_shown() {
        let fails = |uploads: Uploads| uploads.settings(Path::new("/data")).unwrap_err().to_string();
        let told = fails(uploads("s3://a", "", ("id", "")));
        assert!(told.contains("MAILWRIGHT_UPLOADS_SECRET"), "{told}");
        let told = fails(uploads("/pictures", "", ("", "the key")));
        assert!(told.contains("MAILWRIGHT_UPLOADS_SECRET") && !told.contains("the key"), "{told}");
        let told = fails(uploads("", "https://s3.example.com", ("", "")));
        assert!(told.contains("MAILWRIGHT_UPLOADS_ENDPOINT"), "{told}");
        let settings = uploads("s3://a", "http://s3:9000", ("id", "the key"));
        let shown = format!("{settings:?} {:?}", settings.settings(Path::new("/data")).unwrap());
        assert!(!shown.contains("the key"), "{shown}");
    }
}
