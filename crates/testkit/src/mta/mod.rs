//! Mail servers that others wrote, as the sites that mail is brought to: Postfix and Exim, each at an address of its
//! own and all on one port. They take mail for any domain and hand it on to a sink of the test, which counts it.

mod exim;
mod key_files;
mod postfix_site;
mod postgrey;

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::net::TcpStream;

pub use exim::EximSite;
pub use key_files::KeyFiles;
pub use postfix_site::PostfixSite;

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where a site is, and where it brings what it took.
#[derive(Clone, Debug)]
pub struct Place {
    /// The name of the mail server, as an MX record has it.
    pub host: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its port.
    pub port: u16,
    /// The port of 127.0.0.1 that each mail is handed on to, as it came but for the header lines a server adds.
    pub sink: u16,
}

impl Place {
    /// Waits until something listens there; whether that was in time.
    async fn is_open(&self) -> bool {
        listens(self.address, self.port).await
    }
}

/// Waits until something listens; whether that was in time.
async fn listens(address: Ipv4Addr, port: u16) -> bool {
    let began = Instant::now();
    while TcpStream::connect((address, port)).await.is_err() {
        if began.elapsed() > PATIENCE {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    true
}

/// A folder that the users of the servers may look into. Panics where this is not root, whom the servers need.
fn folder() -> TempDir {
    assert!(
        rustix::process::geteuid().is_root(),
        "mail servers have to be started by root: run the tests as root"
    );
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Makes a folder that belongs to a user. Panics where there is no such user.
fn folder_of(user: &str, path: &Path) {
    fs::create_dir(path).unwrap();
    let output = Command::new("id").args(["-u", user]).output().unwrap();
    let id = String::from_utf8_lossy(&output.stdout).trim().parse();
    let id = id.unwrap_or_else(|_| panic!("there is no user {user}: run `make setup`"));
    chown(path, Some(id), None).unwrap();
}
