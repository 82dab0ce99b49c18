//! A mail server that brings a message to the service under test.

use std::io::{Error, ErrorKind, Result};
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpSocket, TcpStream};

/// A session with the service's own SMTP server.
#[derive(Debug)]
pub struct MailIn(BufReader<TcpStream>);

impl MailIn {
    /// Connects to a port of 127.0.0.1 and says hello.
    pub async fn connect(port: u16) -> Self {
        Self::try_connect(port).await.expect("the service takes mail")
    }

    /// The same, with an error where the service does not listen, does not take the session, or ends it.
    pub async fn try_connect(port: u16) -> Result<Self> {
        let (mut session, greeting) = Self::greeted(port).await?;
        if !greeting.starts_with("220 ") {
            return Err(Error::other(greeting));
        }
        let hello = session.try_command("EHLO mx.test").await?;
        if hello.starts_with("250") { Ok(session) } else { Err(Error::other(hello)) }
    }

    /// Connects to a port of 127.0.0.1, and says nothing: the greeting, empty when the connection has ended.
    pub async fn greeted(port: u16) -> Result<(Self, String)> {
        Ok(Self::hear(TcpStream::connect(("127.0.0.1", port)).await?).await)
    }

    /// The same from another address of this machine, such as 127.0.0.2.
    pub async fn greeted_from(client: [u8; 4], port: u16) -> Result<(Self, String)> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((client, 0)))?;
        let stream = socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
        Ok(Self::hear(stream).await)
    }

    async fn hear(stream: TcpStream) -> (Self, String) {
        let mut session = Self(BufReader::new(stream));
        let greeting = session.reply().await;
        (session, greeting)
    }

    /// Says a command; the last line of the reply.
    pub async fn command(&mut self, command: &str) -> String {
        self.raw(format!("{command}\r\n").as_bytes()).await;
        self.reply().await
    }

    /// The same, with an error when the connection has ended.
    pub async fn try_command(&mut self, command: &str) -> Result<String> {
        self.try_raw(format!("{command}\r\n").as_bytes()).await?;
        let reply = self.reply().await;
        if reply.is_empty() { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(reply) }
    }

    /// Writes bytes as they are.
    pub async fn raw(&mut self, bytes: &[u8]) {
        self.try_raw(bytes).await.expect("the service reads");
    }

    /// The same, with an error when the connection has ended.
    pub async fn try_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(bytes).await
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
        let reply = self.try_deliver(to, message).await.expect("the service answers");
        assert!(!reply.starts_with("421"), "{reply}");
        reply
    }

    /// The same, with an error when the connection has ended. A reply to another command ends the delivery as well, if
    /// it refuses it.
    pub async fn try_deliver(&mut self, to: &str, message: &str) -> Result<String> {
        let from = self.try_command("MAIL FROM:<>").await?;
        if !from.starts_with("250") {
            return Ok(from);
        }
        let recipient = self.try_command(&format!("RCPT TO:<{to}>")).await?;
        if !recipient.starts_with("250") {
            self.try_command("RSET").await?;
            return Ok(recipient);
        }
        let data = self.try_command("DATA").await?;
        if !data.starts_with("354") {
            return Ok(data);
        }
        let lines = message.replace("\r\n", "\n").replace("\n.", "\n..").replace('\n', "\r\n");
        self.try_raw(lines.as_bytes()).await?;
        self.try_command("\r\n.").await
    }
}
