//! Databases that already hold a user and a project: made once for each build and configuration, and copied for each
//! test. Hashing a password and making a DKIM key take longer than most tests.

use std::fs::{self, DirBuilder, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::app::{bootstrap_arguments, bootstrapped, build, clear_environment, printed};

/// What the variables begin with that say what `bootstrap` stores.
const RELEVANT: [&str; 3] = ["MAILWRIGHT_DOMAINS_", "MAILWRIGHT_PLATFORM_", "MAILWRIGHT_SECRET"];
const TRANSPORT: &str = "MAILWRIGHT_TRANSPORT";
/// How long a database that no test used is kept: another build made it.
const KEPT: Duration = Duration::from_hours(24);

fn is_relevant(key: &str) -> bool {
    key == TRANSPORT || RELEVANT.iter().any(|prefix| key.starts_with(prefix))
}

/// A name that changes with the program and with what it is configured to store.
pub(crate) fn name(binary: &Path, env: &[(String, String)]) -> String {
    let mut hasher = DefaultHasher::new();
    build(binary).hash(&mut hasher);
    for (key, value) in env.iter().filter(|(key, _)| is_relevant(key)) {
        // all servers are alike
        let value = if key == TRANSPORT && value != "capture" { "smtp" } else { value };
        (key, value).hash(&mut hasher);
    }
    format!("mailwright_prepared_{:016x}", hasher.finish())
}

/// Runs `mailwright bootstrap` for the project that tests begin with, and returns what it prints.
pub(crate) fn bootstrap(binary: &Path, env: &[(String, String)], more: &[(&str, &str)]) -> Value {
    let mut command = Command::new(binary);
    clear_environment(&mut command);
    command.envs(env.iter().filter(|(key, _)| is_relevant(key)).map(|(key, value)| (key, value)));
    command.envs(more.iter().copied());
    command.args(bootstrap_arguments("Acme", "acme.test")).args(["--language", "en"]);
    bootstrapped(&printed("bootstrap", &command.stdin(Stdio::null()).output().unwrap()))
}

/// Fills a data directory with an SQLite database that holds the project, and returns what `bootstrap` printed.
pub(crate) fn fill(binary: &Path, env: &[(String, String)], data_dir: &Path) -> Value {
    let prepared = folder(binary, env);
    DirBuilder::new().recursive(true).mode(0o700).create(data_dir).unwrap();
    for file in fs::read_dir(prepared.join("data")).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), data_dir.join(file.file_name())).unwrap();
    }
    serde_json::from_slice(&fs::read(prepared.join("project.json")).unwrap()).unwrap()
}

/// The folder of the prepared database, which the first of the test processes makes while the others wait.
fn folder(binary: &Path, env: &[(String, String)]) -> PathBuf {
    let all = std::env::temp_dir().join("mailwright-prepared");
    fs::create_dir_all(&all).unwrap();
    let name = name(binary, env);
    let lock = File::create(all.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let folder = all.join(&name);
    if !folder.exists() {
        remove_old(&all);
        let making = tempfile::tempdir_in(&all).unwrap();
        let data = making.path().join("data");
        let data_dir = data.display().to_string();
        let project = bootstrap(binary, env, &[("MAILWRIGHT_DATA_DIR", &data_dir)]);
        fs::write(making.path().join("project.json"), project.to_string()).unwrap();
        fs::rename(making.keep(), &folder).unwrap();
    }
    folder
}

fn remove_old(all: &Path) {
    for entry in fs::read_dir(all).unwrap().flatten() {
        let made_at = entry.metadata().and_then(|metadata| metadata.modified());
        if made_at.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEPT)) {
            // another process may do the same
            let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
        }
    }
}
