//! Requests to the program, and its answers.

use serde_json::{Value, json};

use crate::http::{Request, Response};

use super::App;

impl App {
    /// A request without credentials.
    pub fn request(&self, method: &str, path: &str) -> Request {
        self.client.request(method, format!("{}{path}", self.base_url))
    }

    /// `GET path` with the secret key.
    pub fn get(&self, path: &str) -> Request {
        self.request("GET", path).bearer(self.secret_key())
    }

    /// `POST path` with the secret key.
    pub fn post(&self, path: &str) -> Request {
        self.request("POST", path).bearer(self.secret_key())
    }

    /// `PATCH path` with the secret key.
    pub fn patch(&self, path: &str) -> Request {
        self.request("PATCH", path).bearer(self.secret_key())
    }

    /// `PUT path` with the secret key.
    pub fn put(&self, path: &str) -> Request {
        self.request("PUT", path).bearer(self.secret_key())
    }

    /// `DELETE path` with the secret key.
    pub fn delete(&self, path: &str) -> Request {
        self.request("DELETE", path).bearer(self.secret_key())
    }

    /// `POST /v1/track` with the public key.
    pub async fn track(&self, body: Value) -> Response {
        self.request("POST", "/v1/track").bearer(self.public_key()).json(&body).send().await
    }

    /// `POST /v1/send` with the secret key.
    pub async fn send(&self, body: Value) -> Response {
        self.post("/v1/send").json(&body).send().await
    }

    /// Sends a small mail to one address and returns the email's id.
    pub async fn send_to(&self, to: &str) -> String {
        let body = json!({"to": to, "subject": "Hello", "body": "<p>Hello there</p>", "from": self.from()});
        let answer = self.send(body).await.assert_status(200).json();
        let id = answer["data"]["emails"][0]["email"].as_str();
        id.unwrap_or_else(|| panic!("no email id in {answer}")).to_owned()
    }

    /// Every answer since the start, with the request it answers: method and URL.
    pub fn heard(&self) -> Vec<(String, Response)> {
        self.client.heard()
    }
}
