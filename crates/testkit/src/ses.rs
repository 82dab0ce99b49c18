//! A service that takes mail as Amazon SES does: `moto`, an independent imitation, with a key.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::net::free_port;
use crate::python::interpreter;

/// A mail that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenMail {
    /// The sender.
    pub from: String,
    /// The recipient that the request named.
    pub to: String,
    /// The message.
    pub raw: String,
}

/// A running service.
#[derive(Debug)]
pub struct SesService {
    child: Child,
    talk: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    port: u16,
    key_id: String,
    secret: String,
}

impl SesService {
    /// Starts one that has verified no domain. It refuses requests that are not signed with its key.
    pub fn start() -> Self {
        let port = free_port();
        let mut child = Command::new(interpreter())
            .args(["-W", "ignore"])
            .arg(crate::workspace_root().join("scripts/ses-by-moto.py"))
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
            "moto does not serve SES: are the packages of tests/requirements.txt installed?"
        );
        let key: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| key[name].as_str().unwrap().to_owned();
        let (key_id, secret) = (text("keyId"), text("secret"));
        let talk = Mutex::new((child.stdin.take().unwrap(), answers));
        Self { child, talk, port, key_id, secret }
    }

    /// The URL of the transport, by a port that leads to the service.
    pub fn url(&self, port: u16) -> String {
        let secret = self.secret.replace('/', "%2F").replace('+', "%2B");
        format!("ses://{}:{secret}@eu-central-1?endpoint=http://127.0.0.1:{port}", self.key_id)
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The key, which must not be found elsewhere.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Takes mail from a domain from now on.
    pub fn verify(&self, domain: &str) {
        self.say("verify", &json!(domain));
    }

    /// Refuses the next mails.
    pub fn refuse(&self, error: &str, status: u16, text: &str, mails: usize) {
        self.say("refuse", &json!([error, status, text, mails]));
    }

    /// What may be sent in 24 hours, and in a second.
    pub fn set_quota(&self, per_day: u32, per_second: u32) {
        self.say("quota", &json!([per_day, per_second]));
    }

    /// The mails that were taken, in order.
    pub fn messages(&self) -> Vec<TakenMail> {
        let mail = |one: &Value| TakenMail {
            from: one["from"].as_str().unwrap().to_owned(),
            to: one["to"][0].as_str().unwrap().to_owned(),
            raw: one["raw"].as_str().unwrap().to_owned(),
        };
        self.say("messages", &Value::Null).as_array().unwrap().iter().map(mail).collect()
    }

    fn say(&self, name: &str, value: &Value) -> Value {
        let mut talk = self.talk.lock().unwrap();
        writeln!(talk.0, "{}", json!({"name": name, "value": value})).unwrap();
        talk.0.flush().unwrap();
        let mut line = String::new();
        talk.1.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for SesService {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
