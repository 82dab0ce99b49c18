//! Logging in.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Session, Stream};

impl<S: Stream> Session<'_, S> {
    pub(super) async fn authenticate(&mut self, line: &str) -> io::Result<()> {
        if !self.tls && self.shared.options.starttls.is_some() {
            self.shared.violation("AUTH in the clear although STARTTLS was offered");
        }
        let mut words = line.split_whitespace().skip(1);
        let mechanism = words.next().unwrap_or_default().to_ascii_uppercase();
        let initial = words.next().map(str::to_owned);
        let (user, password) = match mechanism.as_str() {
            "PLAIN" => {
                let text = match initial {
                    Some(text) => decode(&text),
                    None => self.challenge("").await?,
                };
                let mut parts = text.split('\0').skip(1).map(str::to_owned);
                (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
            }
            "LOGIN" => {
                let user = match initial {
                    Some(text) => decode(&text),
                    None => self.challenge("Username:").await?,
                };
                (user, self.challenge("Password:").await?)
            }
            _ => return self.reply(504, "5.5.4 unknown mechanism").await,
        };
        let expected = self.shared.auth.lock().unwrap().clone();
        if expected == Some((user.clone(), password)) {
            self.user = Some(user);
            self.reply(235, "2.7.0 welcome").await
        } else {
            self.shared.log.lock().unwrap().refused_logins += 1;
            self.reply(535, "5.7.8 wrong user or password").await
        }
    }

    async fn challenge(&mut self, prompt: &str) -> io::Result<String> {
        self.reply(334, &STANDARD.encode(prompt)).await?;
        Ok(decode(&self.line().await?.unwrap_or_default()))
    }
}

fn decode(base64: &str) -> String {
    String::from_utf8_lossy(&STANDARD.decode(base64).unwrap_or_default()).into_owned()
}
