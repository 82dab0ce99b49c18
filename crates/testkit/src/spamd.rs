//! A `spamd` on 127.0.0.1, which judges every mail as a test says.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::net::{free_port, listen};

/// A running server.
#[derive(Debug)]
pub struct FakeSpamd {
    port: u16,
    mails: Arc<Mutex<Vec<String>>>,
    held: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl FakeSpamd {
    /// Starts one that says this of every mail, such as `True ; 7.2 / 5.0`, for these rules: each a line of the table.
    pub async fn start(verdict: &str, rules: &[&str]) -> Self {
        let port = free_port();
        let listener = listen(port).await;
        let mails = Arc::<Mutex<Vec<String>>>::default();
        let (held, is_held) = watch::channel(false);
        let rows = rules.join("\n");
        let report = format!(
            "Content analysis details:\n\n pts rule name              description\n\
             ---- ---------------------- ------------------------------\n{rows}\n\n"
        );
        let length = report.len();
        let answer =
            format!("SPAMD/1.1 0 EX_OK\r\nContent-length: {length}\r\nSpam: {verdict}\r\n\r\n{report}");
        let taken = Arc::clone(&mails);
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let (answer, taken, is_held) = (answer.clone(), Arc::clone(&taken), is_held.clone());
                // how a connection ends is the client's affair
                tokio::spawn(async move { judge(stream, &answer, &taken, is_held).await });
            }
        });
        Self { port, mails, held, task }
    }

    /// Host and port.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The mails that it was asked about, the oldest first.
    pub fn mails(&self) -> Vec<String> {
        self.mails.lock().unwrap().clone()
    }

    /// Whether answers wait from now on, or go out.
    pub fn hold(&self, is_held: bool) {
        self.held.send_replace(is_held);
    }
}

async fn judge(
    mut stream: TcpStream,
    answer: &str,
    taken: &Mutex<Vec<String>>,
    mut is_held: watch::Receiver<bool>,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    stream.read_to_end(&mut request).await?;
    let request = String::from_utf8_lossy(&request).into_owned();
    if request.starts_with("PING ") {
        stream.write_all(b"SPAMD/1.5 0 PONG\r\n").await?;
        return stream.shutdown().await;
    }
    let mail = request.split_once("\r\n\r\n").map(|(_, mail)| mail.to_owned());
    taken.lock().unwrap().push(mail.unwrap_or_default());
    let _ = is_held.wait_for(|is_held| !is_held).await;
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

impl Drop for FakeSpamd {
    fn drop(&mut self) {
        self.task.abort();
    }
}
