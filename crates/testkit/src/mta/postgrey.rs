//! Postgrey, which tells a Postfix to put off what it sees for the first time.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::{folder, folder_of, listens};
use crate::net::free_port;

const PROGRAM: &str = "/usr/sbin/postgrey";

/// A running Postgrey.
#[derive(Debug)]
pub(super) struct Postgrey {
    child: Child,
    pub(super) port: u16,
    _folder: TempDir,
}

impl Postgrey {
    /// Starts one that puts each client, sender and recipient off until so long after it saw the three first.
    pub(super) async fn start(delay: Duration) -> Self {
        assert!(
            Path::new(PROGRAM).exists(),
            "Postgrey is not installed: run `make setup`, or on Debian: apt-get install postgrey"
        );
        let (folder, port) = (folder(), free_port());
        let (data, nobody) = (folder.path().join("data"), folder.path().join("nobody"));
        folder_of("postgrey", &data);
        fs::write(&nobody, "").unwrap();
        let child = Command::new(PROGRAM)
            .arg(format!("--inet=127.0.0.1:{port}"))
            .arg(format!("--delay={}", delay.as_secs()))
            .arg(format!("--dbdir={}", data.display()))
            .arg(format!("--pidfile={}", data.join("pid").display()))
            // each mail is put off: neither a list nor good conduct spares a client that
            .arg(format!("--whitelist-clients={}", nobody.display()))
            .arg(format!("--whitelist-recipients={}", nobody.display()))
            .args(["--auto-whitelist-clients=0", "--user=postgrey", "--group=postgrey"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let postgrey = Self { child, port, _folder: folder };
        assert!(listens(Ipv4Addr::LOCALHOST, port).await, "Postgrey does not listen");
        postgrey
    }
}

impl Drop for Postgrey {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
