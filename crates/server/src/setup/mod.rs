//! Puts the parts together.

mod private;

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use mailwright_app::metrics::Metrics;
use mailwright_app::secret::{self, InstanceSecret};
use mailwright_app::{App, Parts};
use mailwright_core::time::Clock;
use mailwright_store::database::migrate::{self, Standing};
use mailwright_store::database::sealed::Sealed;
use mailwright_store::sending::held::epoch::{self, Unserved};
use mailwright_store::{Db, Error, Location, body};
use rustix::fs::Access;

use crate::config::Config;

pub(crate) use self::private::{
    DATABASE, LOCK, create as create_private, keep_files_private, make_folder, open_to_others,
};

/// The files of the data directory that belong into a backup beside the database.
pub(crate) const OWN_FILES: [&str; 2] = ["secret", "demo-keys.json"];
/// The folder in it for pictures that people uploaded.
pub(crate) const UPLOADS: &str = "uploads";
/// A file that is in the data directory while a backup is put there.
pub(crate) const UNFINISHED: &str = "restore-unfinished";

/// How long an unreachable database is waited for.
const PATIENCE: u32 = 30;

/// An open database with what goes with it.
pub(crate) struct Setup {
    pub(crate) db: Db,
    metrics: Metrics,
    pub(crate) clock: Clock,
}

/// Opens the database.
pub(crate) fn open(config: &Config) -> Result<Setup> {
    let location = config.location()?;
    if let Location::Sqlite(file) = &location {
        private::make_folder(&config.data_dir)?;
        private::assert_is_file(file)?;
        if config.data_dir.join(UNFINISHED).exists() {
            bail!(
                "a backup was being restored into {}, and that did not end; run `mailwright restore --from` again, with \
                 --move-aside",
                config.data_dir.display()
            );
        }
    }
    let metrics = Metrics::default();
    let db = Db::open_with(&location, config.slow_reads(), metrics.store.clone())
        .context("the database cannot be opened")?;
    Ok(Setup { db, metrics, clock: clock() })
}

#[cfg(not(debug_assertions))]
pub(crate) fn clock() -> Clock {
    Clock::system()
}

#[cfg(debug_assertions)]
pub(crate) fn clock() -> Clock {
    crate::moved_clock::clock()
}

/// Opens a database that must be there already, and brings it up to date.
pub(crate) async fn open_existing(config: &Config) -> Result<Setup> {
    if let Location::Sqlite(file) = config.location()?
        && !file.exists()
    {
        let file = std::path::absolute(&file).unwrap_or(file);
        bail!(
            "there is no database at {}; run this with the settings of the service and in its folder, or set \
             MAILWRIGHT_DATA_DIR (bootstrap makes a new database)",
            file.display()
        );
    }
    let setup = open(config)?;
    setup.reach().await?;
    if migrate::standing(&setup.db).await? == Standing::Empty {
        bail!(
            "the database that {} names holds nothing of Mailwright; look at the settings of the service (bootstrap \
             makes what is missing)",
            if setup.db.is_shared() { "MAILWRIGHT_DATABASE_URL" } else { "MAILWRIGHT_DATA_DIR" }
        );
    }
    setup.migrate().await?;
    Ok(setup)
}

/// Fails when the embedded database is there and this process has no right to write it.
pub(crate) fn assert_writable(config: &Config) -> Result<()> {
    let Location::Sqlite(file) = config.location()? else { return Ok(()) };
    if file.exists() { private::assert_writable(&file) } else { Ok(()) }
}

impl Setup {
    /// Waits a while for a database that cannot be reached. Returns at once where waiting does not help.
    pub(crate) async fn reach(&self) -> Result<()> {
        let mut tries = 0;
        loop {
            match self.db.examine().await {
                Err(Error::Unavailable(error)) if tries < PATIENCE => {
                    tracing::warn!(%error, "the database cannot be reached, trying again");
                    tries += 1;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                Err(Error::Unavailable(error)) => {
                    bail!("{error}; check MAILWRIGHT_DATABASE_URL and that the server runs")
                }
                other => return Ok(other?),
            }
        }
    }

    /// Brings the schema up to date. A database that is not there yet is waited for.
    pub(crate) async fn migrate(&self) -> Result<usize> {
        for _ in 0..PATIENCE {
            self.reach().await?;
            match migrate::migrate(&self.db, self.clock.now()).await {
                Err(Error::Unavailable(error)) => {
                    tracing::warn!(%error, "the database was lost, trying again");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                other => return Ok(other?),
            }
        }
        Err(anyhow!("the database is lost again and again; see the log above"))
    }

    /// Fails where the database is the copy in a backup, or was restored in part: mail that left already could leave
    /// again.
    pub(crate) async fn assert_served(&self) -> Result<()> {
        match self.db.read(body!(async |rx| epoch::unserved(rx).await)).await? {
            None => Ok(()),
            Some(Unserved::Copy) => bail!(
                "this database is the copy of a backup, and its mail may have been sent; put it back with `mailwright \
                 restore --from FOLDER`"
            ),
            Some(Unserved::Unfinished) => bail!(
                "this database was restored, and what may have been sent is not held yet; run `mailwright restore --epoch` \
                 once more"
            ),
        }
    }

    /// The application on this database.
    pub(crate) async fn app(&self, config: &Config) -> Result<App> {
        self.try_secret(config).await?;
        self.app_with_any_secret(config)
    }

    async fn try_secret(&self, config: &Config) -> Result<()> {
        let sealed = secret::sample(&self.db).await?;
        match secret_trouble(config, sealed.as_ref())? {
            Some(trouble) => bail!(trouble),
            None => Ok(()),
        }
    }

    /// Has the database know the secret that it is used with from now on. Of two processes that do so at once with
    /// different ones, the second is refused.
    pub(crate) async fn keep_check(&self, config: &Config) -> Result<()> {
        let Some(secret) = known_secret(config)? else { return Ok(()) };
        if let Err(error) = secret::keep_check(&self.db, &secret).await {
            tracing::warn!(%error, "the check of the secret could not be stored, the next start tries again");
        }
        self.try_secret(config).await
    }

    /// The same, whether the secret opens what is stored or not.
    pub(crate) fn app_with_any_secret(&self, config: &Config) -> Result<App> {
        private::tighten(&config.data_dir);
        Ok(App::new(Parts {
            db: self.db.clone(),
            clock: self.clock.clone(),
            settings: config.settings()?,
            secret: secret(config)?,
            transports: config.transports()?,
            dns: config.dns()?,
            metrics: self.metrics.clone(),
        }))
    }
}

/// Makes sure that this is the only process that serves the embedded database, as long as the file is kept. `None` with
/// PostgreSQL, which any number of processes share. The system gives the lock back however the process ends.
pub(crate) fn serve_alone(config: &Config) -> Result<Option<File>> {
    if !matches!(config.location()?, Location::Sqlite(_)) {
        return Ok(None);
    }
    let path = config.data_dir.join(private::LOCK);
    private::assert_is_file(&path)?;
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.with_context(|| format!("cannot open {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => bail!(
            "another `mailwright serve` runs on the data directory {}; the embedded database is for one, so stop that one \
             first, or use PostgreSQL for several",
            config.data_dir.display()
        ),
        Err(TryLockError::Error(error)) => {
            tracing::warn!(
                %error, path = %path.display(), "this file system has no locks: make sure that no other \
                                                 process serves the data directory"
            );
            Ok(None)
        }
    }
}

/// What is wrong with the secret of a database that holds something encrypted.
pub(crate) fn secret_trouble(config: &Config, sealed: Option<&Sealed>) -> Result<Option<String>> {
    let Some(sealed) = sealed else { return Ok(None) };
    let file = secret_file(config);
    let file = file.display();
    let is_set = config.secret()?.is_some();
    let what = match known_secret(config)? {
        Some(secret) if secret.opens(sealed) => return Ok(None),
        Some(_) if is_set => {
            let what = "MAILWRIGHT_SECRET is not the secret that the keys in the database are encrypted with";
            let of_file = if secret_file(config).exists() {
                format!(", or unset it, so that {file} is read")
            } else {
                String::new()
            };
            return Ok(Some(format!(
                "{what}; correct it{of_file}. If it is lost for good, see \"A lost secret\" in docs/operations.md"
            )));
        }
        Some(_) => {
            format!("{file} does not hold the secret that the keys in the database are encrypted with")
        }
        None => format!(
            "the instance's secret is missing, and the keys in the database are encrypted with it: there is no {file}, \
             and MAILWRIGHT_SECRET is not set"
        ),
    };
    Ok(Some(format!(
        "{what}; put the right one into {file}, from your backup, or into MAILWRIGHT_SECRET. If it is lost for good, see \
         \"A lost secret\" in docs/operations.md"
    )))
}

/// What a secret does not open, although it is the one that the database is used with: keys of domains, and seeds of
/// second factors.
pub(crate) async fn unopened(db: &Db, secret: &InstanceSecret) -> Result<Option<String>> {
    let domains = secret::unopened(db, secret).await.context("the keys of the domains cannot be tried")?;
    let seeds = secret::unopened_seeds(db, secret).await.context("the second factors cannot be tried")?;
    let what = match (domains, seeds) {
        (None, 0) => return Ok(None),
        (Some(domains), 0) => format!("the keys of these domains, whose mail waits: {domains}"),
        (None, seeds) => format!("the second factors of {seeds} accounts, whose codes are refused"),
        (Some(domains), seeds) => format!(
            "the second factors of {seeds} accounts, whose codes are refused, and the keys of these domains, whose mail \
             waits: {domains}"
        ),
    };
    Ok(Some(format!(
        "it does not open {what}; put the right secret back, or see \"A lost secret\" in docs/operations.md"
    )))
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
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => known_secret(config)?
            .with_context(|| format!("{} appeared and disappeared again during the start", path.display())),
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
    private::assert_is_file(&path)?;
    match std::fs::read_to_string(&path) {
        Ok(text) if text.trim().len() < 16 => {
            Err(anyhow!("{} is damaged: it should hold the instance's secret", path.display()))
        }
        Ok(text) => Ok(Some(InstanceSecret::new(text.trim()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && path.is_symlink() => bail!(
            "{} is a link to a file that is not there: put the secret there, or remove the link",
            path.display()
        ),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn secret_file(config: &Config) -> PathBuf {
    config.data_dir.join("secret")
}

/// What of a data directory that is there this user cannot use, with what it is needed for.
pub(crate) fn unusable(config: &Config) -> Option<String> {
    let folder = &config.data_dir;
    let (user, shown) = (rustix::process::geteuid().as_raw(), folder.display());
    if !folder.is_dir() {
        return Some(format!("{shown} is a file; set MAILWRIGHT_DATA_DIR to a folder"));
    }
    let may = |path: &Path, access| rustix::fs::access(path, access).is_ok();
    if !may(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
        return Some(format!(
            "the user {user} cannot enter {shown} or write to it; run this as the service's user, or give the folder to it \
             with chown"
        ));
    }
    let files =
        ["mailwright.sqlite", "mailwright.sqlite-wal", "mailwright.sqlite-shm", "secret", private::LOCK];
    let closed = files.iter().map(|name| folder.join(name)).find(|path| {
        path.exists()
            && !may(
                path,
                if path.ends_with("secret") { Access::READ_OK } else { Access::READ_OK | Access::WRITE_OK },
            )
    })?;
    Some(format!(
        "the user {user} cannot use {}; run this as the service's user, or give the file to it with chown",
        closed.display()
    ))
}

/// Writes a file that only its owner can read.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<()> {
    private::make_folder(path.parent().unwrap_or(path))?;
    let _ = std::fs::remove_file(path);
    let written = private::create(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", path.display()))
}
