//! Putting the parts together.

mod private;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use mailwright_app::metrics::Metrics;
use mailwright_app::secret::InstanceSecret;
use mailwright_app::{App, Parts};
use mailwright_core::time::Clock;
use mailwright_store::{Db, Error, Location, migrate};

use crate::config::Config;

pub(crate) use self::private::{create as create_private, keep_files_private, open_to_others};

/// How long an unreachable database is waited for.
const PATIENCE: u32 = 30;

/// An open database with what goes with it.
pub(crate) struct Setup {
    pub(crate) db: Db,
    metrics: Metrics,
    clock: Clock,
}

/// Opens the database.
pub(crate) fn open(config: &Config) -> Result<Setup> {
    let location = config.location()?;
    if matches!(location, Location::Sqlite(_)) {
        private::make_folder(&config.data_dir)?;
    }
    let metrics = Metrics::default();
    let db = Db::open_with(&location, config.slow_reads()?, metrics.store.clone())
        .context("the database cannot be opened")?;
    Ok(Setup { db, metrics, clock: Clock::system() })
}

/// Fails when the embedded database is there and this process has no right to write it.
pub(crate) fn assert_writable(config: &Config) -> Result<()> {
    let Location::Sqlite(file) = config.location()? else { return Ok(()) };
    if file.exists() { private::assert_writable(&file) } else { Ok(()) }
}

impl Setup {
    /// Brings the schema up to date. A database that is not there yet is waited for.
    pub(crate) async fn migrate(&self) -> Result<usize> {
        for _ in 0..PATIENCE {
            match migrate::migrate(&self.db, self.clock.now()).await {
                Err(Error::Unavailable(error)) => {
                    tracing::warn!(%error, "the database cannot be reached, trying again");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                other => return Ok(other?),
            }
        }
        Err(anyhow!("the database cannot be reached; check MAILWRIGHT_DATABASE_URL and that the server runs"))
    }

    /// The application on this database.
    pub(crate) fn app(&self, config: &Config) -> Result<App> {
        private::tighten(&config.data_dir);
        Ok(App::new(Parts {
            db: self.db.clone(),
            clock: self.clock.clone(),
            settings: config.settings()?,
            secret: secret(config)?,
            transport: config.transport()?,
            dns: config.dns()?,
            metrics: self.metrics.clone(),
        }))
    }
}

/// The configured secret, or the one that was made at the first start.
fn secret(config: &Config) -> Result<InstanceSecret> {
    if let Some(secret) = known_secret(config)? {
        return Ok(secret);
    }
    private::make_folder(&config.data_dir)?;
    let path = secret_file(config);
    let made = hex::encode(rand::random::<[u8; 32]>());
    // The file appears with all of its text or not at all, whatever happens meanwhile; of several processes that start
    // at once, one puts its file there and the others read it.
    let draft = config.data_dir.join(format!("secret.{}", hex::encode(rand::random::<[u8; 8]>())));
    let written = private::create(&draft)
        .and_then(|mut file| file.write_all(made.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::hard_link(&draft, &path))
        .and_then(|()| std::fs::File::open(&config.data_dir)?.sync_all());
    let _ = std::fs::remove_file(&draft);
    match written {
        Ok(()) => Ok(InstanceSecret::new(made)),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            known_secret(config)?.with_context(|| format!("{} came and went", path.display()))
        }
        Err(error) => Err(error).with_context(|| {
            format!("cannot create {}; MAILWRIGHT_SECRET can hold the secret instead", path.display())
        }),
    }
}

/// The configured secret, or the one in the data directory; `None` when none was made yet.
pub(crate) fn known_secret(config: &Config) -> Result<Option<InstanceSecret>> {
    if let Some(secret) = config.secret()? {
        return Ok(Some(InstanceSecret::new(secret)));
    }
    let path = secret_file(config);
    match std::fs::read_to_string(&path) {
        Ok(text) if text.trim().len() < 16 => {
            Err(anyhow!("{} is damaged: it should hold the instance's secret", path.display()))
        }
        Ok(text) => Ok(Some(InstanceSecret::new(text.trim()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn secret_file(config: &Config) -> PathBuf {
    config.data_dir.join("secret")
}

/// Writes a file that only its owner can read.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<()> {
    private::make_folder(path.parent().unwrap_or(path))?;
    let _ = std::fs::remove_file(path);
    let written = private::create(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", path.display()))
}
