//! A Postfix of a test's own: a mail server that others wrote, which relays to where a test says.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::net::free_port;

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(20);
/// What its parts are: name, type, and the program.
pub(crate) const SERVICES: &str = "\
cleanup   unix  n - n - 0 cleanup
qmgr      unix  n - n 300 1 qmgr
rewrite   unix  - - n - - trivial-rewrite
bounce    unix  - - n - 0 bounce
defer     unix  - - n - 0 bounce
trace     unix  - - n - 0 bounce
verify    unix  - - n - 1 verify
flush     unix  n - n 1000? 0 flush
proxymap  unix  - - n - - proxymap
smtp      unix  - - n - - smtp
error     unix  - - n - - error
retry     unix  - - n - - error
discard   unix  - - n - - discard
anvil     unix  - - n - 1 anvil
tlsmgr    unix  - - n 1000? 1 tlsmgr
scache    unix  - - n - 1 scache
postlog   unix-dgram n - n - 1 postlogd
";

/// A running Postfix.
#[derive(Debug)]
pub struct Postfix {
    folder: TempDir,
    port: u16,
}

impl Postfix {
    /// Starts one that takes mail from this machine, and brings the mail of each of some domains to a port of it. Panics
    /// where Postfix is not installed, or this is not root, which it needs.
    pub async fn start(routes: &[(&str, u16)]) -> Self {
        assert!(
            Path::new("/usr/sbin/postfix").exists(),
            "Postfix is not installed: run `make setup`, or on Debian: apt-get install postfix"
        );
        assert!(
            rustix::process::geteuid().is_root(),
            "Postfix has to be started by root: run the tests as root"
        );
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        write_configuration(folder.path(), port, routes);
        let postfix = Self { folder, port };
        let output = postfix.control("start");
        assert!(output.0, "Postfix does not start: {}\n{}", output.1, postfix.log());
        let began = std::time::Instant::now();
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            assert!(began.elapsed() < PATIENCE, "Postfix does not listen:\n{}", postfix.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        postfix
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What it logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Runs `postfix start` or the like; whether that went well, and what it said.
    fn control(&self, command: &str) -> (bool, String) {
        let output = Command::new("/usr/sbin/postfix")
            .arg("-c")
            .arg(self.folder.path().join("etc"))
            .arg(command)
            .output()
            .expect("postfix can be run");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

impl Drop for Postfix {
    fn drop(&mut self) {
        self.control("abort");
    }
}

fn write_configuration(folder: &Path, port: u16, routes: &[(&str, u16)]) {
    let shown = folder.display();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["etc", "queue", "data"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    let user =
        String::from_utf8(Command::new("id").args(["-u", "postfix"]).output().unwrap().stdout).unwrap();
    let owner = user.trim().parse().expect("the package makes the user postfix");
    chown(folder.join("data"), Some(owner), None).unwrap();
    let mut transports = String::new();
    for (domain, port) in routes {
        let _ = write!(transports, "{{{domain} = smtp:[127.0.0.1]:{port}}}, ");
    }
    let main = format!(
        "compatibility_level = 3.6\nqueue_directory = {shown}/queue\ndata_directory = {shown}/data\n\
         command_directory = /usr/sbin\ndaemon_directory = /usr/lib/postfix/sbin\nmail_owner = postfix\n\
         setgid_group = postdrop\nmaillog_file = {shown}/log\nmaillog_file_prefixes = {shown}\n\
         myhostname = relay.test\nmydestination =\nalias_maps =\nlocal_recipient_maps =\n\
         inet_interfaces = 127.0.0.1\ninet_protocols = ipv4\nmynetworks = 127.0.0.0/8\n\
         smtpd_relay_restrictions = permit_mynetworks, reject\nsmtp_tls_security_level = may\n\
         default_transport = error:5.1.2 no route\ntransport_maps = inline:{{ {} }}\n",
        transports.trim_end_matches(", ")
    );
    fs::write(folder.join("etc/main.cf"), main).unwrap();
    fs::write(folder.join("etc/master.cf"), format!("127.0.0.1:{port} inet n - n - - smtpd\n{SERVICES}"))
        .unwrap();
}
