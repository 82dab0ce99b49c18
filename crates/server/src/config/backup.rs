//! Continuous copies of the embedded database.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use mailwright_app::copies::CopySettings;
use mailwright_app::settings::StoreSettings;
use serde::Deserialize;

use super::sections::Hidden;
use super::stores::Store;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Backup {
    copy_to: String,
    endpoint: String,
    region: String,
    key_id: String,
    secret: Hidden,
    copy_seconds: u64,
    snapshot_hours: u64,
    keep_days: u64,
    spool_mb: u64,
}

impl Backup {
    /// Where copies go, and how; `None` if none are made.
    pub(super) fn settings(&self, data_dir: &Path, is_embedded: bool) -> Result<Option<CopySettings>> {
        if self.copy_to.is_empty() {
            // what belongs to a bucket is refused without one
            self.store("").settings()?;
            return Ok(None);
        }
        if !is_embedded {
            bail!(
                "MAILWRIGHT_BACKUP_COPY_TO is for the embedded database; for PostgreSQL use its continuous archiving \
                 (archive_command with pg_basebackup, or pgBackRest or WAL-G), see docs/backup.md"
            );
        }
        let to = self.store(&self.copy_to).settings()?;
        if let StoreSettings::Folder(folder) = &to
            && is_below(folder, data_dir)
        {
            bail!(
                "MAILWRIGHT_BACKUP_COPY_TO must not be in the data directory, with which it would be lost; name a folder on \
                 another disk, or a bucket"
            );
        }
        Ok(Some(CopySettings {
            to,
            every: Duration::from_secs(self.copy_seconds),
            snapshot_every: Duration::from_hours(self.snapshot_hours),
            keep: Duration::from_hours(24 * self.keep_days),
            spool_bytes: self.spool_mb * 1024 * 1024,
        }))
    }

    /// The place that a command names, with the key of the settings.
    pub(super) fn place(&self, place: &str) -> Result<StoreSettings> {
        if place.starts_with("s3://") {
            self.store(place).settings()
        } else {
            Ok(StoreSettings::Folder(place.into()))
        }
    }

    fn store<'s>(&'s self, place: &'s str) -> Store<'s> {
        Store {
            variables: "MAILWRIGHT_BACKUP",
            name: "COPY_TO",
            place,
            endpoint: &self.endpoint,
            region: &self.region,
            key_id: &self.key_id,
            secret: &self.secret,
        }
    }
}

fn is_below(folder: &Path, data_dir: &Path) -> bool {
    let whole = |path: &Path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        path.canonicalize().unwrap_or(path)
    };
    whole(folder).starts_with(whole(data_dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backup(to: &str, key: (&str, &str)) -> Backup {
        Backup {
            copy_to: to.into(),
            endpoint: String::new(),
            region: "us-east-1".into(),
            key_id: key.0.into(),
            secret: Hidden(key.1.into()),
            copy_seconds: 1,
            snapshot_hours: 24,
            keep_days: 7,
            spool_mb: 1024,
        }
    }

    #[test]
    fn copies_go_to_a_folder_or_a_bucket_and_only_those_of_sqlite() {
        let data = Path::new("/data");
        let refused = |backup: Backup, is_embedded| {
            backup.settings(data, is_embedded).map(|_| ()).unwrap_err().to_string()
        };
        assert!(backup("", ("", "")).settings(data, true).unwrap().is_none());
        assert!(backup("", ("", "")).settings(data, false).unwrap().is_none());
        let settings = backup("/copies", ("", "")).settings(data, true).unwrap().unwrap();
        assert!(matches!(&settings.to, StoreSettings::Folder(folder) if folder == Path::new("/copies")));
        assert_eq!((settings.keep.as_secs(), settings.spool_bytes), (7 * 86_400, 1 << 30));
        let settings = backup("s3://copies/of/mailwright", ("id", "the key")).settings(data, true);
        let shown = format!("{settings:?}");
        assert!(shown.contains("of/mailwright") && !shown.contains("the key"), "{shown}");

        let told = refused(backup("/copies", ("", "")), false);
        assert!(told.contains("archive_command"), "{told}");
        for below in ["/data", "/data/copies", "/data/./copies"] {
            let told = refused(backup(below, ("", "")), true);
            assert!(told.contains("must not be in the data directory"), "{told}");
        }
        let told = refused(backup("s3://copies", ("id", "")), true);
        assert!(told.contains("MAILWRIGHT_BACKUP_SECRET") && told.contains("COPY_TO"), "{told}");
        let told = refused(backup("", ("id", "")), true);
        assert!(told.contains("MAILWRIGHT_BACKUP_KEY_ID"), "{told}");
        let told = refused(backup("gs://copies", ("", "")), true);
        assert!(told.contains("s3://bucket"), "{told}");
    }
}
