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

/// A domain as it is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its name.
    pub name: String,
    /// Whether mail is taken from it.
    pub verified: bool,
    /// `EXTERNAL` with a key that was given, `AWS_SES` with keys of SES.
    pub origin: String,
    /// The selector of the key that was given.
    pub selector: Option<String>,
    /// The public part of that key, as the `p=` tag of its record has it.
    pub public_key: Option<String>,
    /// The labels of the CNAME records that lead to keys of SES.
    pub tokens: Vec<String>,
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

    /// The URL of the transport that registers sender domains in a way.
    pub fn registering_url(&self, way: &str) -> String {
        format!("{}&identities={way}", self.url(self.port()))
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

    /// Has given up looking for the records of a domain that is registered.
    pub fn fail(&self, domain: &str) {
        self.say("fail", &json!(domain));
    }

    /// Lets the key use these actions alone from now on.
    pub fn set_rights(&self, actions: &[&str]) {
        self.say("rights", &json!(actions));
    }

    /// Refuses the next requests about domains.
    pub fn refuse_identities(&self, error: &str, status: u16, text: &str, requests: usize) {
        self.say("refuse_identities", &json!([error, status, text, requests]));
    }

    /// Lets requests about domains wait, for 15 seconds at most, or go on.
    pub fn hold_identities(&self, hold: bool) {
        self.say("hold_identities", &json!(hold));
    }

    /// The domains that are registered, in order.
    pub fn identities(&self) -> Vec<Identity> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let identity = |one: &Value| Identity {
            name: text(&one["name"]).unwrap(),
            verified: one["verified"].as_bool().unwrap(),
            origin: text(&one["origin"]).unwrap(),
            selector: text(&one["selector"]),
            public_key: text(&one["publicKey"]),
            tokens: one["tokens"].as_array().unwrap().iter().filter_map(text).collect(),
        };
        self.say("identities", &Value::Null).as_array().unwrap().iter().map(identity).collect()
    }

    /// The requests about a domain that came, in order: `CreateEmailIdentity` and so on.
    pub fn asked(&self, domain: &str) -> Vec<String> {
        let asked = self.say("asked", &Value::Null);
        let about = asked.as_array().unwrap().iter().filter(|one| one[1] == domain);
        about.map(|one| one[0].as_str().unwrap().to_owned()).collect()
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
