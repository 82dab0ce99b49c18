//! A name server in which every domain below `direct.example` has a mail server of its own, all of them at 127.0.0.1.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use tokio::net::UdpSocket;
use tokio::sync::oneshot;

const A: u16 = 1;
const MX: u16 = 15;
/// Seconds that an answer may be kept.
const TTL: u32 = 3_600;

/// The server, on a thread and an event loop of its own.
#[derive(Debug)]
pub(crate) struct Names {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Names {
    pub(crate) fn start() -> Result<Self> {
        let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("names".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve(socket) => {}
                    _ = stopped => {}
                }
            });
        });
        let thread = thread.context("the name server cannot be started")?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(socket: std::net::UdpSocket) {
    let Ok(socket) = UdpSocket::from_std(socket) else { return };
    let mut buffer = [0; 512];
    loop {
        if let Ok((length, from)) = socket.recv_from(&mut buffer).await
            && let Some(answer) = answer(&buffer[..length])
        {
            let _ = socket.send_to(&answer, from).await;
        }
    }
}

/// The answer to a question (RFC 1035 section 4.1).
fn answer(question: &[u8]) -> Option<Vec<u8>> {
    let mut end = 12;
    let mut labels = Vec::new();
    loop {
        let length = usize::from(*question.get(end)?);
        if length == 0 {
            break;
        }
        labels.push(question.get(end + 1..end + 1 + length)?);
        end += 1 + length;
    }
    let kind = u16::from_be_bytes([*question.get(end + 1)?, *question.get(end + 2)?]);
    let asked = question.get(12..end + 5)?;
    let data = match kind {
        // mx.<domain>, the domain by a pointer to the question
        MX if labels.first() != Some(&&b"_mta-sts"[..]) => {
            Some([&[0, 10, 2], &b"mx"[..], &[0xc0, 12]].concat())
        }
        A => Some(vec![127, 0, 0, 1]),
        _ => None,
    };
    let mut answer = Vec::with_capacity(64);
    answer.extend_from_slice(question.get(..2)?);
    // an answer with recursion, no error; one question, as many answers as there is data
    answer.extend_from_slice(&[0x81, 0x80, 0, 1, 0, u8::from(data.is_some()), 0, 0, 0, 0]);
    answer.extend_from_slice(asked);
    if let Some(data) = data {
        answer.extend_from_slice(&[0xc0, 12]);
        answer.extend_from_slice(&kind.to_be_bytes());
        answer.extend_from_slice(&[0, 1]);
        answer.extend_from_slice(&TTL.to_be_bytes());
        answer.extend_from_slice(&u16::try_from(data.len()).ok()?.to_be_bytes());
        answer.extend_from_slice(&data);
    }
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_domain_has_a_mail_server_of_its_own() {
        let mut question = vec![7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        question.extend_from_slice(b"\x02d1\x06direct\x07example\x00");
        question.extend_from_slice(&[0, 15, 0, 1]);
        let answer = answer(&question).unwrap();
        assert_eq!(&answer[..8], &[7, 7, 0x81, 0x80, 0, 1, 0, 1]);
        assert!(answer.ends_with(&[0, 7, 0, 10, 2, b'm', b'x', 0xc0, 12]));
    }
}
