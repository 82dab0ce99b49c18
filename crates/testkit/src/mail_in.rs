//! A mail server that brings a message to the service under test.

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// A session with the service's own SMTP server.
#[derive(Debug)]
pub struct MailIn(BufReader<TcpStream>);

impl MailIn {
    /// Connects to a port of 127.0.0.1 and says hello.
    pub async fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("the service takes mail");
        let mut session = Self(BufReader::new(stream));
        let greeting = session.reply().await;
        assert!(greeting.starts_with("220 "), "{greeting}");
        let hello = session.command("EHLO mx.test").await;
        assert!(hello.starts_with("250"), "{hello}");
        session
    }

    /// Says a command; the last line of the reply.
    pub async fn command(&mut self, command: &str) -> String {
        self.raw(format!("{command}\r\n").as_bytes()).await;
        self.reply().await
    }

    /// Writes bytes as they are.
    pub async fn raw(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.expect("the service reads");
    }

    /// The last line of the next reply; empty when the connection has ended.
    pub async fn reply(&mut self) -> String {
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).await.unwrap_or(0) == 0 {
                return line;
            }
            if line.as_bytes().get(3) != Some(&b'-') {
                return line.trim_end().to_owned();
            }
        }
    }

    /// Delivers a message from the null sender; the reply to it, or to the recipient if that is refused.
    pub async fn deliver(&mut self, to: &str, message: &str) -> String {
        let from = self.command("MAIL FROM:<>").await;
        assert!(from.starts_with("250"), "{from}");
        let recipient = self.command(&format!("RCPT TO:<{to}>")).await;
        if !recipient.starts_with("250") {
            self.command("RSET").await;
            return recipient;
        }
        let data = self.command("DATA").await;
        assert!(data.starts_with("354"), "{data}");
        let lines = message.replace("\r\n", "\n").replace("\n.", "\n..").replace('\n', "\r\n");
        self.raw(lines.as_bytes()).await;
        self.command("\r\n.").await
    }
}
