//! Keeps the data directory and its files private to the owner of the service.

use std::fs::{DirEntry, Permissions};
use std::io::{Error, Result};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// What others than the owner may do with a file.
const OTHERS: u32 = 0o077;
/// The embedded database.
pub(crate) const DATABASE: &str = "mailwright.sqlite";
/// How the names of the files end that SQLite makes beside it.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];
/// The names of our other files.
const OWN: [&str; 3] = ["secret", "demo-keys.json", LOCK];
/// Locked by the process that serves the embedded database.
pub(crate) const LOCK: &str = "mailwright.lock";

/// From now on files of this process are made for their owner alone.
pub(crate) fn keep_files_private() {
    rustix::process::umask(rustix::fs::Mode::from_bits_truncate(OTHERS));
}

/// Makes a folder that only its owner can look into, unless it is there.
pub(crate) fn make_folder(path: &Path) -> anyhow::Result<()> {
    if let Some(file) = path.ancestors().find(|part| part.exists() && !part.is_dir()) {
        let (path, file) = (path.display(), file.display());
        anyhow::bail!(
            "the data directory {path} cannot be made: {file} is a file; set MAILWRIGHT_DATA_DIR to a folder"
        );
    }
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("cannot create the data directory {}", path.display()))
}

/// Creates a file that only its owner can read.
pub(crate) fn create(path: &Path) -> Result<std::fs::File> {
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Fails where something other than a file has the name of one of ours: opening a pipe may wait for ever.
pub(super) fn assert_is_file(path: &Path) -> anyhow::Result<()> {
    match path.metadata() {
        Ok(found) if !found.is_file() => {
            anyhow::bail!("{} is no regular file; move it away, or set MAILWRIGHT_DATA_DIR", path.display())
        }
        _ => Ok(()),
    }
}

/// What others than the owner can read of a data directory: the folder, and our files in it, wherever they lie.
pub(crate) fn open_to_others(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let own = files.filter(is_own).flat_map(|file| behind(file.path()));
    std::iter::once(folder.to_owned()).chain(own).filter(|path| is_open(path)).collect()
}

/// A file of ours, or what it is a link to; the files beside the database are where the link leads.
fn behind(path: PathBuf) -> Vec<PathBuf> {
    let target = if path.is_symlink() { path.canonicalize().ok() } else { None };
    match target {
        Some(target) if path.ends_with(DATABASE) => {
            let beside = BESIDE.map(|end| beside(&target, end));
            std::iter::once(target).chain(beside.into_iter().filter(|path| path.exists())).collect()
        }
        other => vec![other.unwrap_or(path)],
    }
}

/// The file beside another whose name ends in something more.
fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Takes away from others what they can read of a data directory that is there, and says what cannot be taken away.
/// A folder that holds other things than ours is left as it is, since others may have business there.
pub(super) fn tighten(folder: &Path) {
    for path in open_to_others(folder) {
        let tightened = if path == folder && !holds_only_ours(folder) {
            Err(Error::other("it holds files of other programs"))
        } else {
            let mode = if path == folder { 0o700 } else { 0o600 };
            std::fs::set_permissions(&path, Permissions::from_mode(mode))
        };
        match tightened {
            Ok(()) => tracing::warn!(
                path = %path.display(), "other users of this machine could read this; their permissions were \
                                         removed"
            ),
            Err(error) => tracing::warn!(
                path = %path.display(), %error, "other users of this machine can read this; remove their \
                                                 permissions with chmod"
            ),
        }
    }
}

/// Fails where this process may not write a database file, or make and write the files beside it, and says whose they
/// are.
pub(super) fn assert_writable(file: &Path) -> anyhow::Result<()> {
    let file = &file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let beside = ["-wal", "-shm"].map(|end| beside(file, end));
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let paths = [file.as_path(), folder]
        .into_iter()
        .chain(beside.iter().map(PathBuf::as_path).filter(|path| path.exists()));
    for path in paths {
        let (access, flags) = (rustix::fs::Access::WRITE_OK, rustix::fs::AtFlags::EACCESS);
        if let Err(error) = rustix::fs::accessat(rustix::fs::CWD, path, access, flags) {
            let owner =
                path.metadata().map_or_else(|_| "an unknown user".to_owned(), |found| user(found.uid()));
            let we = user(rustix::process::geteuid().as_raw());
            anyhow::bail!(
                "{} cannot be written ({error}): it belongs to {owner}, and this program runs as {we}; run it as the owner, or \
                 give the files to the user that it runs as",
                path.display()
            );
        }
    }
    Ok(())
}

/// A user by name and number.
fn user(id: u32) -> String {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then(|| name.to_owned())
    });
    name.map_or_else(|| format!("user {id}"), |name| format!("{name} (user {id})"))
}

fn is_open(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.permissions().mode() & OTHERS != 0)
}

fn is_own(file: &DirEntry) -> bool {
    let name = file.file_name();
    file.path().metadata().is_ok_and(|found| found.is_file())
        && name
            .to_str()
            .is_some_and(|name| OWN.contains(&name) || is_of_database(name) || is_draft_of_secret(name))
}

fn is_of_database(name: &str) -> bool {
    name.strip_prefix(DATABASE).is_some_and(|end| end.is_empty() || BESIDE.contains(&end))
}

/// Whether a file is what the secret is written to before it gets its name.
fn is_draft_of_secret(name: &str) -> bool {
    name.strip_prefix("secret.")
        .is_some_and(|rest| rest.len() == 16 && rest.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn holds_only_ours(folder: &Path) -> bool {
    let Ok(files) = std::fs::read_dir(folder) else { return false };
    // a folder that is a file system of its own has one of that name
    files.flatten().all(|file| file.file_name() == "lost+found" || is_own(&file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    fn open_folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            std::fs::write(folder.path().join(file), "x").unwrap();
            std::fs::set_permissions(folder.path().join(file), Permissions::from_mode(0o644)).unwrap();
        }
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        folder
    }

    #[test]
    fn a_folder_of_ours_is_closed() {
        let folder = open_folder(&["mailwright.sqlite", "mailwright.sqlite-wal", "secret"]);
        assert_eq!(open_to_others(folder.path()).len(), 4);
        tighten(folder.path());
        assert_eq!(mode(folder.path()), 0o700);
        assert_eq!(mode(&folder.path().join("mailwright.sqlite-wal")), 0o600);
        assert!(open_to_others(folder.path()).is_empty());
    }

    #[test]
    fn files_behind_links_are_closed_where_they_lie() {
        let folder = open_folder(&[]);
        let elsewhere = open_folder(&["db", "db-wal", "db-shm", "key", "notes.txt"]);
        for (name, target) in [("mailwright.sqlite", "db"), ("secret", "key")] {
            std::os::unix::fs::symlink(elsewhere.path().join(target), folder.path().join(name)).unwrap();
        }
        assert_eq!(open_to_others(folder.path()).len(), 5);
        tighten(folder.path());
        for (file, expected) in
            [("db", 0o600), ("db-wal", 0o600), ("db-shm", 0o600), ("key", 0o600), ("notes.txt", 0o644)]
        {
            assert_eq!(mode(&elsewhere.path().join(file)), expected, "{file}");
        }
        assert_eq!((mode(folder.path()), mode(elsewhere.path())), (0o700, 0o755));
        assert!(open_to_others(folder.path()).is_empty());
    }

    #[test]
    fn a_folder_of_others_stays_open_and_our_files_in_it_do_not() {
        let folder = open_folder(&["mailwright.sqlite", "notes.txt", "secret-keys.yaml"]);
        let secrets = folder.path().join("secret");
        std::fs::create_dir(&secrets).unwrap();
        std::fs::set_permissions(&secrets, Permissions::from_mode(0o755)).unwrap();
        tighten(folder.path());
        assert_eq!(mode(&secrets), 0o755);
        assert_eq!(mode(&folder.path().join("secret-keys.yaml")), 0o644);
        assert_eq!(mode(folder.path()), 0o755);
        assert_eq!(mode(&folder.path().join("mailwright.sqlite")), 0o600);
        assert_eq!(mode(&folder.path().join("notes.txt")), 0o644);
    }
}
