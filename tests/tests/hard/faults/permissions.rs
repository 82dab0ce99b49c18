//! The file of SQLite may not be written.

use mailwright_testkit::disk::SmallDisk;
use mailwright_testkit::{App, Engine};
use std::fs::{OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder that nobody can write to any more, once it is protected.
enum Protected {
    /// On a file system of its own.
    Disk(SmallDisk),
    /// By its mode and those of its files: what is left to do without the right to mount.
    Modes(TempDir),
}

impl Protected {
    fn new() -> Self {
        SmallDisk::mount(64)
            .map_or_else(|_| Self::Modes(tempfile::tempdir().expect("a temporary folder")), Self::Disk)
    }

    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Disk(disk) => disk.path(),
            Self::Modes(folder) => folder.path().join("data"),
        }
    }

    fn protect(&self) {
        if let Self::Disk(disk) = self {
            return disk.protect();
        }
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("our own file");
        };
        for file in std::fs::read_dir(self.path()).expect("a folder") {
            mode(&file.expect("a file").path(), 0o400);
        }
        mode(&self.path(), 0o500);
        let file = self.path().join("mailwright.sqlite");
        let opened = OpenOptions::new().append(true).open(file);
        assert!(
            opened.is_err(),
            "this test needs the right to mount, or a user whom the modes of files bind"
        );
    }
}

impl Drop for Protected {
    fn drop(&mut self) {
        if let Self::Modes(_) = self {
            let _ = std::fs::set_permissions(self.path(), Permissions::from_mode(0o700));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_file_that_cannot_be_written_is_told_at_once() {
    let folder = Protected::new();
    let mut app = App::builder(Engine::Sqlite).data_dir(&folder.path()).start().await;
    app.stop().await;
    folder.protect();
    let serve = ["mailwright.sqlite cannot be written", "it belongs to ", "this program runs as "];
    // the doctor looks at the folder first
    let doctor = ["WRONG  data directory", "or write to it", "run this as the service's user"];
    for (command, expected) in [("serve", serve), ("doctor", doctor)] {
        let output = app.try_run(&[command]).await;
        assert!(!output.status.success(), "{command}: {output:?}");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(expected.iter().all(|part| said.contains(part)), "{command}: {said}");
    }
}
