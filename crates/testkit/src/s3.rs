//! A store that speaks S3: `moto`, an independent imitation of Amazon, with a bucket and a key.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::app::AppBuilder;
use crate::net::free_port;
use crate::python::interpreter;

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
    child: Child,
    talk: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    port: u16,
    key_id: String,
    secret: String,
}

impl S3Store {
    /// Starts one whose bucket is empty. It refuses requests that are not signed with its key.
    pub fn start() -> Self {
        let port = free_port();
        let mut child = Command::new(interpreter())
            .args(["-W", "ignore"])
            .arg(crate::workspace_root().join("scripts/s3-by-moto.py"))
            .arg(port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        assert!(
            !line.is_empty(),
            "moto does not serve S3: are the packages of tests/requirements.txt installed?"
        );
        let key: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| key[name].as_str().unwrap().to_owned();
        let (key_id, secret) = (text("keyId"), text("secret"));
        let talk = Mutex::new((child.stdin.take().unwrap(), answers));
        Self { child, talk, port, key_id, secret }
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The key, which must not be found elsewhere.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Has a server keep its pictures there, by a port that leads there.
    pub fn configure(&self, builder: AppBuilder, port: u16) -> AppBuilder {
        builder
            .env("MAILWRIGHT_UPLOADS_STORE", "s3://pictures/of/mailwright")
            .env("MAILWRIGHT_UPLOADS_ENDPOINT", format!("http://127.0.0.1:{port}"))
            .env("MAILWRIGHT_UPLOADS_KEY_ID", &self.key_id)
            .env("MAILWRIGHT_UPLOADS_SECRET", &self.secret)
    }

    /// Has a server keep continuous copies there, by a port that leads there.
    pub fn configure_copies(&self, builder: AppBuilder, port: u16) -> AppBuilder {
        builder
            .env("MAILWRIGHT_BACKUP_COPY_TO", "s3://pictures/copies/of/mailwright")
            .env("MAILWRIGHT_BACKUP_ENDPOINT", format!("http://127.0.0.1:{port}"))
            .env("MAILWRIGHT_BACKUP_KEY_ID", &self.key_id)
            .env("MAILWRIGHT_BACKUP_SECRET", &self.secret)
    }

    /// What is in the bucket, in the order of the names.
    pub fn objects(&self) -> Vec<Object> {
        let mut talk = self.talk.lock().unwrap();
        writeln!(talk.0).unwrap();
        talk.0.flush().unwrap();
        let mut line = String::new();
        talk.1.read_line(&mut line).unwrap();
        let found: Vec<Value> = serde_json::from_str(&line).unwrap();
        let object = |one: &Value| Object {
            name: one["name"].as_str().unwrap().to_owned(),
            size: one["size"].as_u64().unwrap(),
            kind: one["type"].as_str().unwrap().to_owned(),
        };
        found.iter().map(object).collect()
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
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }
}

impl Drop for S3Store {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
