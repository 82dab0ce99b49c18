//! A small disk that a test can fill.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A small file system in memory, unmounted when this value is dropped. Mounting needs the right to (root).
#[derive(Debug)]
pub struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    /// Mounts a file system of this size; an error says why that is not possible here.
    pub fn mount(megabytes: u32) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        run(Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "tmpfs"])
            .arg(folder.path()))?;
        Ok(Self { folder })
    }

    /// A folder on it.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Gives it another size.
    pub fn resize(&self, megabytes: u32) {
        let options = format!("remount,size={megabytes}m");
        run(Command::new("mount").args(["-o", &options]).arg(self.mounted())).unwrap();
    }

    /// Lets nobody write to it any more.
    pub fn protect(&self) {
        run(Command::new("mount").args(["-o", "remount,ro"]).arg(self.mounted())).unwrap();
    }

    fn mounted(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a process that is still ending may hold a file.
        let _ = run(Command::new("umount").arg("-l").arg(self.mounted()));
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

#[cfg(test)]
mod tests {
    use super::SmallDisk;

    #[test]
    fn a_small_disk_is_full_and_grows() {
        let disk = match SmallDisk::mount(1) {
            Ok(disk) => disk,
            Err(reason) => {
                let refusals = ["superuser", "permission denied", "not permitted"];
                assert!(refusals.iter().any(|words| reason.contains(words)), "{reason}");
                return;
            }
        };
        std::fs::create_dir(disk.path()).unwrap();
        let file = disk.path().join("file");
        assert!(std::fs::write(&file, vec![0; 2 << 20]).is_err());
        disk.resize(4);
        std::fs::write(&file, vec![0; 2 << 20]).unwrap();
    }
}
