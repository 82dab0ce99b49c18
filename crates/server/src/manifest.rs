//! The manifest of a backup: what made it, from what, and each file with its size and SHA-256.

use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use mailwright_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::setup;

/// The name of the manifest in the folder of a backup.
pub(crate) const MANIFEST: &str = "manifest.json";
/// The form of backups that this program makes and reads.
const FORMAT: u32 = 1;
/// Bytes that are copied at a time.
const CHUNK: usize = 1024 * 1024;
/// The longest manifest that is read: that of some million files.
const LONGEST: u64 = 512 * 1024 * 1024;

/// A manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    format: u32,
    /// The version of the program that made it.
    pub(crate) program: String,
    /// `sqlite` or `postgresql`.
    pub(crate) engine: String,
    /// The newest step of the schema.
    pub(crate) last_migration: i64,
    /// The epoch of the instance.
    pub(crate) epoch: i64,
    /// The moment that it is of, as ISO 8601.
    pub(crate) made_at: String,
    /// Where the instance's secret is: `file` if it is in the backup, `environment` if it has to be kept apart.
    pub(crate) secret: String,
    /// Its files.
    pub(crate) files: Vec<Listed>,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listed {
    /// Its path in the folder, with `/` between names.
    pub(crate) path: String,
    bytes: u64,
    sha256: String,
}

impl Manifest {
    /// The manifest of a backup that is made now, without files.
    pub(crate) fn new(engine: &str, made_at: Timestamp, secret: &str) -> Self {
        Self {
            format: FORMAT,
            program: env!("CARGO_PKG_VERSION").into(),
            engine: engine.into(),
            last_migration: 0,
            epoch: 0,
            made_at: made_at.to_string(),
            secret: secret.into(),
            files: Vec::new(),
        }
    }

    /// Reads the manifest of a backup.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        let file = File::open(&path).with_context(|| {
            format!("{} cannot be read, so {} is no backup of Mailwright", path.display(), folder.display())
        })?;
        let mut text = String::new();
        file.take(LONGEST).read_to_string(&mut text).with_context(|| path.display().to_string())?;
        let found: serde_json::Value = serde_json::from_str(&text)
            .with_context(|| format!("{} is damaged: it is no JSON", path.display()))?;
        let format = found["format"].as_u64();
        if format != Some(u64::from(FORMAT)) {
            bail!(
                "{} is of a form that this program does not read; use the version that made it",
                path.display()
            );
        }
        serde_json::from_value(found).with_context(|| format!("{} is damaged", path.display()))
    }

    /// Writes the manifest, once all files are there.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(MANIFEST);
        let text = serde_json::to_string_pretty(self).context("the manifest cannot be written")?;
        let mut file = setup::create_private(&path).with_context(|| path.display().to_string())?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .with_context(|| format!("{} cannot be written", path.display()))
    }

    /// Notes a file that is in the folder.
    pub(crate) fn add(&mut self, folder: &Path, path: &str) -> Result<()> {
        let full = folder.join(path);
        let file = File::open(&full).with_context(|| full.display().to_string())?;
        let (bytes, sha256) = digest(file, |_| Ok(())).with_context(|| full.display().to_string())?;
        self.files.push(Listed { path: path.into(), bytes, sha256 });
        Ok(())
    }

    /// Copies a file into the folder, and notes it. One that is gone meanwhile is left out.
    pub(crate) fn copy(&mut self, from: &Path, folder: &Path, path: &str) -> Result<()> {
        let file = match File::open(from) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            file => file.with_context(|| format!("{} cannot be read", from.display()))?,
        };
        let (bytes, sha256) = copy(file, &folder.join(path))?;
        self.files.push(Listed { path: path.into(), bytes, sha256 });
        Ok(())
    }

    /// Whether the files of a backup are those that were written. What differs is named.
    pub(crate) fn verify(&self, folder: &Path) -> Result<()> {
        for listed in &self.files {
            let path = listed.inside(folder)?;
            let file = File::open(&path)
                .with_context(|| format!("{} of the backup is not there", path.display()))?;
            let found = digest(file, |_| Ok(())).with_context(|| path.display().to_string())?;
            listed.compare(&path, &found)?;
        }
        Ok(())
    }
}

impl Listed {
    /// The path of the file below a folder. A path that leads elsewhere is refused.
    pub(crate) fn inside(&self, folder: &Path) -> Result<PathBuf> {
        let path = Path::new(&self.path);
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || self.path.is_empty() {
            bail!("the manifest is damaged: {:?} is no path in a backup", self.path);
        }
        Ok(folder.join(path))
    }

    /// Copies the file of a backup to another folder, and looks whether it is the one that was written.
    pub(crate) fn copy_to(&self, backup: &Path, folder: &Path) -> Result<()> {
        let (from, to) = (self.inside(backup)?, self.inside(folder)?);
        make_parents(folder, &to)?;
        let file =
            File::open(&from).with_context(|| format!("{} of the backup is not there", from.display()))?;
        let found = copy(file, &to)?;
        self.compare(&from, &found)
    }

    fn compare(&self, path: &Path, (bytes, sha256): &(u64, String)) -> Result<()> {
        if (*bytes, sha256) != (self.bytes, &self.sha256) {
            bail!(
                "{} is damaged: it has {bytes} bytes and the SHA-256 {sha256}, and the backup was made with {} bytes \
                 and {}; take another backup",
                path.display(),
                self.bytes,
                self.sha256
            );
        }
        Ok(())
    }
}

/// Makes the folders of a file below another folder, for the owner alone.
pub(crate) fn make_parents(folder: &Path, file: &Path) -> Result<()> {
    let Some(parent) = file.parent().filter(|parent| *parent != folder) else { return Ok(()) };
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::set_permissions(parent, Permissions::from_mode(0o700)))
        .with_context(|| format!("{} cannot be made", parent.display()))
}

/// Copies a file to one that is not there yet, and waits until it is on disk.
fn copy(from: File, to: &Path) -> Result<(u64, String)> {
    let cannot = || format!("{} cannot be written", to.display());
    let mut file = setup::create_private(to).with_context(cannot)?;
    let copied = digest(from, |bytes| file.write_all(bytes)).with_context(cannot)?;
    file.sync_all().with_context(cannot)?;
    Ok(copied)
}

/// Size and SHA-256 of a file, whose bytes go to `each` on the way.
fn digest(
    mut file: File,
    mut each: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<(u64, String)> {
    let (mut hash, mut size, mut buffer) = (Sha256::new(), 0, vec![0; CHUNK]);
    loop {
        let read = file.read(&mut buffer)?;
        let bytes = buffer.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            return Ok((size, hex::encode(hash.finalize())));
        }
        hash.update(bytes);
        each(bytes)?;
        size += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backup() -> (tempfile::TempDir, Manifest) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret"), "something secret").unwrap();
        let mut manifest = Manifest::new("sqlite", Timestamp(5), "file");
        manifest.add(folder.path(), "secret").unwrap();
        manifest.write(folder.path()).unwrap();
        (folder, manifest)
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let (folder, manifest) = backup();
        assert_eq!(Manifest::read(folder.path()).unwrap(), manifest);
        manifest.verify(folder.path()).unwrap();
    }

    #[test]
    fn a_file_that_changed_is_named() {
        let (folder, manifest) = backup();
        std::fs::write(folder.path().join("secret"), "something secreT").unwrap();
        let error = manifest.verify(folder.path()).unwrap_err().to_string();
        assert!(error.contains("secret is damaged"), "{error}");
        std::fs::remove_file(folder.path().join("secret")).unwrap();
        let error = manifest.verify(folder.path()).unwrap_err().to_string();
        assert!(error.contains("is not there"), "{error}");
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        for path in ["../secret", "/etc/passwd", "", "uploads/../../x"] {
            let listed = Listed { path: path.into(), bytes: 0, sha256: String::new() };
            assert!(listed.inside(Path::new("/backup")).is_err(), "{path}");
        }
    }

    #[test]
    fn another_form_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(MANIFEST), r#"{"format": 2}"#).unwrap();
        let error = Manifest::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("use the version that made it"), "{error}");
    }
}
