//! The pictures of the instance, as files.

use std::fs;
use std::io;
use std::path::Path;

/// The paths of the files in a folder and in those in it. Names that a copy could not have are left out.
pub(super) fn pictures_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(below) = folders.pop() {
        let entries = match fs::read_dir(folder.join(&below)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                // `#` is in the names of files that are still being written
                Ok(kind) if kind.is_file() && !name.contains('#') => found.push(path),
                _ => {}
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}
