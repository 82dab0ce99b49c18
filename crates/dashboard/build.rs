//! Writes a table of the files in `dashboard/packed`, which `npm run build` makes, so that they are part of the program.
//! Without that folder the table is empty: building the program never needs Node.js. With `DASHBOARD=required`
//! that is an error, for those who release the program. (The program itself takes every `MAILWRIGHT_` variable for a
//! setting and refuses those it does not know, so that this one has another beginning.)

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let dashboard = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../dashboard");
    let packed = dashboard.join("packed");
    // what does not exist would count as changed each time
    let watched = if packed.is_dir() { &packed } else { &dashboard };
    println!("cargo::rerun-if-changed={}", watched.display());
    println!("cargo::rerun-if-env-changed=DASHBOARD");
    let mut names = Vec::new();
    if packed.join("index.html").is_file() {
        list(&packed, &packed, &mut names)?;
    } else if env::var("DASHBOARD").is_ok_and(|value| value == "required") {
        println!("cargo::error=the dashboard is not built: run `make dashboard` first");
    } else {
        println!("cargo::warning=the dashboard is not built, and is left out: `make dashboard` builds it");
    }
    names.sort();
    let mut table = String::from("pub(crate) static FILES: &[(&str, &[u8])] = &[\n");
    for name in names {
        let path = packed.join(&name);
        let _ = writeln!(table, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    table.push_str("];\n");
    fs::write(PathBuf::from(env::var("OUT_DIR").unwrap_or_default()).join("files.rs"), table)
}

/// The files below a folder, by their paths from `root` with `/` between.
fn list(root: &Path, folder: &Path, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(root, &path, names)?;
        } else if let Ok(name) = path.strip_prefix(root) {
            let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
            names.push(parts.join("/"));
        }
    }
    Ok(())
}
