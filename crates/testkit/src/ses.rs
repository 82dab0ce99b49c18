//! A service that takes mail as Amazon SES does: `moto`, an independent imitation, with a key.

use serde_json::{Value, json};

use crate::moto::Moto;

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
    moto: Moto,
}

impl SesService {
    /// Starts one that has verified no domain. It refuses requests that are not signed with its key.
    pub fn start() -> Self {
        Self { moto: Moto::start("ses-by-moto.py") }
    }

    /// The URL of the transport, by a port that leads to the service.
    pub fn url(&self, port: u16) -> String {
        let secret = self.moto.secret.replace('/', "%2F").replace('+', "%2B");
        format!("ses://{}:{secret}@eu-central-1?endpoint=http://127.0.0.1:{port}", self.moto.key_id)
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.moto.port
    }

    /// The key, which must not be found elsewhere.
    pub fn secret(&self) -> &str {
        &self.moto.secret
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
        self.moto.say(&json!({"name": name, "value": value}).to_string())
    }
}
