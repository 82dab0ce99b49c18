//! A store that speaks S3: `moto`, an independent imitation of Amazon, with a bucket and a key.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::app::AppBuilder;
use crate::moto::Moto;

/// An object of the bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// `Content-Type`.
    pub kind: String,
}

/// A running store.
#[derive(Debug)]
pub struct S3Store {
    moto: Moto,
}

impl S3Store {
    /// Starts one whose bucket is empty. It refuses requests that are not signed with its key.
    pub fn start() -> Self {
        Self { moto: Moto::start("s3-by-moto.py") }
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.moto.port
    }

    /// The key, which must not be found elsewhere.
    pub fn secret(&self) -> &str {
        &self.moto.secret
    }

    /// Has a server keep its pictures there, by a port that leads there.
    pub fn configure(&self, builder: AppBuilder, port: u16) -> AppBuilder {
        builder
            .env("MAILWRIGHT_UPLOADS_STORE", "s3://pictures/of/mailwright")
            .env("MAILWRIGHT_UPLOADS_ENDPOINT", format!("http://127.0.0.1:{port}"))
            .env("MAILWRIGHT_UPLOADS_KEY_ID", &self.moto.key_id)
            .env("MAILWRIGHT_UPLOADS_SECRET", &self.moto.secret)
    }

    /// Has a server keep continuous copies there, by a port that leads there.
    pub fn configure_copies(&self, builder: AppBuilder, port: u16) -> AppBuilder {
        builder
            .env("MAILWRIGHT_BACKUP_COPY_TO", "s3://pictures/copies/of/mailwright")
            .env("MAILWRIGHT_BACKUP_ENDPOINT", format!("http://127.0.0.1:{port}"))
            .env("MAILWRIGHT_BACKUP_KEY_ID", &self.moto.key_id)
            .env("MAILWRIGHT_BACKUP_SECRET", &self.moto.secret)
    }

    /// What is in the bucket, in the order of the names.
    pub fn objects(&self) -> Vec<Object> {
        let found = self.moto.say("");
        let object = |one: &Value| Object {
            name: one["name"].as_str().unwrap().to_owned(),
            size: one["size"].as_u64().unwrap(),
            kind: one["type"].as_str().unwrap().to_owned(),
        };
        found.as_array().unwrap().iter().map(object).collect()
    }

    /// Stops it where it is: it takes connections and answers nothing.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on after [`S3Store::freeze`].
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.moto.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }
}
