//! A minimal HTTP/1.1 client, so that the load generator takes little of the processor it shares with the server: one
//! request in flight on each connection, and of an answer only the status and the body are looked at.

use anyhow::{Context, Result, bail, ensure};
use memchr::memmem;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A kept connection to 127.0.0.1.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply<'c> {
    pub(crate) status: u16,
    head: &'c [u8],
    pub(crate) body: &'c [u8],
}

impl Reply<'_> {
    /// The body, when the status is 200.
    pub(crate) fn ok(&self) -> Result<&[u8]> {
        ensure!(self.status == 200, "the server answered {}: {}", self.status, self.text());
        Ok(self.body)
    }

    /// The body, when the status says that all went well.
    fn success(&self) -> Result<&[u8]> {
        ensure!((200..300).contains(&self.status), "the server answered {}: {}", self.status, self.text());
        Ok(self.body)
    }

    /// The body for people, shortened.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body[..self.body.len().min(400)]).into_owned()
    }
}

impl Connection {
    pub(crate) async fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, input: Vec::with_capacity(16 * 1024) })
    }

    /// Sends a request and reads its answer.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<Reply<'_>> {
        self.input.clear();
        self.stream.write_all(request).await?;
        let (head, length) = loop {
            self.read().await?;
            if let Some(end) = memmem::find(&self.input, b"\r\n\r\n") {
                let head = &self.input[..end];
                // no content: such an answer has no length either
                break (end + 4, if status(head)? == 204 { 0 } else { content_length(head)? });
            }
        };
        while self.input.len() < head + length {
            self.read().await?;
        }
        ensure!(self.input.len() == head + length, "the server sent more than its answer");
        let (head, body) = self.input.split_at(head);
        Ok(Reply { status: status(head)?, head, body })
    }

    async fn read(&mut self) -> Result<()> {
        let length = self.stream.read_buf(&mut self.input).await?;
        ensure!(length > 0, "the server closed the connection");
        Ok(())
    }
}

/// `HTTP/1.1 200 ...`
fn status(head: &[u8]) -> Result<u16> {
    let digits = head.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| digits.parse().ok()).context("the answer is not HTTP")
}

fn content_length(head: &[u8]) -> Result<usize> {
    let Some(value) = header(head, "content-length") else {
        bail!("an answer has no Content-Length, which this client needs")
    };
    value.parse().ok().context("the Content-Length of an answer is not a number")
}

/// The value of a header.
fn header<'h>(head: &'h [u8], wanted: &str) -> Option<&'h str> {
    head.split(|byte| *byte == b'\n').skip(1).find_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        let is_wanted = line[..colon].eq_ignore_ascii_case(wanted.as_bytes());
        if is_wanted { std::str::from_utf8(line[colon + 1..].trim_ascii()).ok() } else { None }
    })
}

/// The part of a request that is the same each time.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    head: Vec<u8>,
}

impl Endpoint {
    /// A POST of JSON with a key.
    pub(crate) fn post(path: &str, key: &str) -> Self {
        Self::new("POST", path, key, "application/json")
    }

    /// Any request with a body of the given type, and a key.
    fn new(method: &str, path: &str, key: &str, content_type: &str) -> Self {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\n\
             content-type: {content_type}\r\ncontent-length: "
        );
        Self { head: head.into_bytes() }
    }

    /// Appends a request with this body.
    pub(crate) fn write(&self, body: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        out.extend_from_slice(body.len().to_string().as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(body);
    }
}

/// A GET, with a key if one is given.
pub(crate) fn get(path: &str, key: Option<&str>) -> Vec<u8> {
    let authorization = key.map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
    format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{authorization}\r\n").into_bytes()
}

/// A kept connection with a key, for calls whose answers are looked at.
#[derive(Debug)]
pub(crate) struct Caller {
    connection: Connection,
    key: String,
}

impl Caller {
    pub(crate) async fn open(port: u16, key: &str) -> Result<Self> {
        Ok(Self { connection: Connection::open(port).await?, key: key.to_owned() })
    }

    /// Calls an endpoint; what it answers, null for nothing. Fails with the answer when that is no success.
    pub(crate) async fn call(&mut self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let body = body.map(Value::to_string).unwrap_or_default();
        self.exchange(method, path, "application/json", body.as_bytes()).await
    }

    /// Posts a file in the part of a form that is named `file`.
    pub(crate) async fn upload(&mut self, path: &str, name: &str, content: &[u8]) -> Result<Value> {
        const BOUNDARY: &str = "end-of-the-part-5f2d1c";
        let mut body = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
        )
        .into_bytes();
        body.extend_from_slice(content);
        body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        self.exchange("POST", path, &format!("multipart/form-data; boundary={BOUNDARY}"), &body).await
    }

    async fn exchange(&mut self, method: &str, path: &str, content_type: &str, body: &[u8]) -> Result<Value> {
        let mut wire = Vec::with_capacity(body.len() + 512);
        Endpoint::new(method, path, &self.key, content_type).write(body, &mut wire);
        let reply = self.connection.exchange(&wire).await?;
        let body = reply.success().with_context(|| format!("{method} {path}"))?;
        if body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(body).with_context(|| format!("{method} {path} was not answered with JSON"))
    }
}

/// A kept connection of somebody who has signed in, for what no key opens.
#[derive(Debug)]
pub(crate) struct Member {
    connection: Connection,
    /// The headers that say who it is, and which project it is about.
    headers: String,
}

impl Member {
    /// Signs somebody in, by address and password.
    pub(crate) async fn sign_in(
        port: u16,
        (email, password): (&str, &str),
        project: impl std::fmt::Display,
    ) -> Result<Self> {
        let mut member = Self { connection: Connection::open(port).await?, headers: String::new() };
        let body = serde_json::json!({ "email": email, "password": password });
        let wire = member.request("POST", "/auth/login", &body);
        let reply = member.connection.exchange(&wire).await?;
        reply.success().context("signing in")?;
        let cookie = header(reply.head, "set-cookie").context("signing in sets no cookie")?;
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        member.headers = format!("cookie: {cookie}\r\nx-project-id: {project}\r\n");
        Ok(member)
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> Vec<u8> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = &self.headers;
        format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{headers}content-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }

    /// Calls an endpoint, with a body unless it is null; what it answers. Fails with the answer when that is no success.
    pub(crate) async fn call(&mut self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let wire = self.request(method, path, body);
        let reply = self.connection.exchange(&wire).await?;
        let body = reply.success().with_context(|| format!("{method} {path}"))?;
        serde_json::from_slice(body).with_context(|| format!("{method} {path} was not answered with JSON"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read() {
        let head = b"HTTP/1.1 201 Created\r\nX: y\r\nContent-length:  17";
        assert_eq!(status(head).unwrap(), 201);
        assert_eq!(content_length(head).unwrap(), 17);
        assert!(content_length(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked").is_err());
    }
}
