//! A client that reads server-sent events, as HTML specifies them, but for what no stream here has.

use std::io::{Error, Result};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// A stream of events that is open.
#[derive(Debug)]
pub struct Events {
    reader: BufReader<TcpStream>,
    last: String,
    is_at_start: bool,
}

impl Events {
    /// Opens the stream at a path of a service, with a key and the last id that was read. The error says with which status
    /// the service refused, if it did.
    pub async fn open(base_url: &str, path: &str, key: &str, last: &str) -> Result<Self> {
        let host = base_url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).await?;
        let id = if last.is_empty() { String::new() } else { format!("Last-Event-ID: {last}\r\n") };
        // an answer to HTTP/1.0 is not cut into chunks
        let request =
            format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n{id}\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut reader = BufReader::new(stream);
        let status = line(&mut reader).await?.ok_or_else(|| Error::other("no answer"))?;
        let mut is_stream = false;
        while let Some(header) = line(&mut reader).await?.filter(|line| !line.is_empty()) {
            is_stream |= header.eq_ignore_ascii_case("content-type: text/event-stream");
        }
        if !status.contains(" 200 ") || !is_stream {
            return Err(Error::other(status));
        }
        Ok(Self { reader, last: last.to_owned(), is_at_start: true })
    }

    /// The id to go on from.
    pub fn last_id(&self) -> &str {
        &self.last
    }

    /// Reads until the service has told where the stream begins.
    pub async fn begun(mut self) -> Result<Self> {
        while self.is_at_start {
            if self.block().await?.is_none() {
                return Err(Error::other("the stream ended at once"));
            }
        }
        Ok(self)
    }

    /// The text of the next event; `None` at the end of the stream.
    pub async fn next_text(&mut self) -> Result<Option<String>> {
        loop {
            match self.block().await? {
                None => return Ok(None),
                Some(data) if data.is_empty() => {}
                Some(data) => return Ok(Some(data)),
            }
        }
    }

    /// The next event; `None` at the end of the stream.
    pub async fn next(&mut self) -> Result<Option<Value>> {
        Ok(self.next_text().await?.map(|text| serde_json::from_str(&text).expect("an event is JSON")))
    }

    /// Reads up to an empty line. The data in it, if it has any; `None` at the end, where what is incomplete is dropped.
    async fn block(&mut self) -> Result<Option<String>> {
        let (mut data, mut id) = (String::new(), None);
        loop {
            let Some(line) = line(&mut self.reader).await? else { return Ok(None) };
            if line.is_empty() {
                break;
            }
            match line.split_once(": ") {
                Some(("id", value)) => id = Some(value.to_owned()),
                Some(("data", value)) => data.push_str(value),
                _ => {}
            }
        }
        if let Some(id) = id {
            self.last = id;
        }
        self.is_at_start = false;
        Ok(Some(data))
    }
}

/// The next line; `None` at the end.
async fn line(reader: &mut BufReader<TcpStream>) -> Result<Option<String>> {
    let mut line = String::new();
    if reader.read_line(&mut line).await? == 0 || !line.ends_with('\n') {
        return Ok(None);
    }
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}
