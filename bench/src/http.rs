//! A minimal HTTP/1.1 client, so that the load generator takes little of the processor it shares with the server: one
//! request in flight on each connection, and of an answer only the status and the body are looked at.

use anyhow::{Context, Result, bail, ensure};
use memchr::memmem;
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
    pub(crate) body: &'c [u8],
}

impl Reply<'_> {
    /// The body, when the status is 200.
    pub(crate) fn ok(&self) -> Result<&[u8]> {
        ensure!(self.status == 200, "the server answered {}: {}", self.status, self.text());
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
                break (end + 4, content_length(&self.input[..end])?);
            }
        };
        while self.input.len() < head + length {
            self.read().await?;
        }
        ensure!(self.input.len() == head + length, "the server sent more than its answer");
        Ok(Reply { status: status(&self.input)?, body: &self.input[head..] })
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
    for line in head.split(|byte| *byte == b'\n').skip(1) {
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            let value = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
            return value.context("the Content-Length of an answer is not a number");
        }
    }
    bail!("an answer has no Content-Length, which this client needs")
}

/// The part of a request that is the same each time.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    head: Vec<u8>,
}

impl Endpoint {
    /// A POST of JSON with a key.
    pub(crate) fn post(path: &str, key: &str) -> Self {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\ncontent-length: "
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
