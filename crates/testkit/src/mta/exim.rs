//! A site that Exim runs.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::{Place, folder, folder_of};
use crate::workspace_root;

/// The user that Debian's Exim runs as.
const USER: &str = "Debian-exim";

/// An Exim that takes mail for any domain.
#[derive(Debug)]
pub struct EximSite {
    folder: TempDir,
    place: Place,
    child: Option<Child>,
}

impl EximSite {
    /// One that is dead until [`EximSite::start`].
    pub fn dead(place: &Place) -> Self {
        Self::new(place, "accept")
    }

    /// Starts one that takes so many mails of a client in such a time, in its own reckoning: each try counts, also one
    /// that is refused, and an old one ever less. More it answers with 421.
    pub async fn limited(place: &Place, most: usize, window: Duration) -> Self {
        let acl = format!(
            "defer ratelimit = {most} / {}s / strict / $sender_host_address\n    \
             message = 421 4.7.28 more than {most} mails came in too short a time\n    \
             log_message = over the limit: $sender_rate\n  accept",
            window.as_secs()
        );
        let mut site = Self::new(place, &acl);
        site.start().await;
        site
    }

    fn new(place: &Place, acl: &str) -> Self {
        let folder = folder();
        folder_of(USER, &folder.path().join("spool"));
        // where it was installed, its own user may not be able to look
        fs::copy(program(), folder.path().join("exim4")).unwrap();
        fs::write(folder.path().join("configuration"), configuration(folder.path(), place, acl)).unwrap();
        Self { folder, place: place.clone(), child: None }
    }

    /// Starts it.
    pub async fn start(&mut self) {
        assert!(self.child.is_none(), "Exim runs");
        let path = |name: &str| self.folder.path().join(name);
        let said = fs::File::create(path("said")).unwrap();
        let child = Command::new(path("exim4"))
            .arg("-C")
            .arg(path("configuration"))
            .arg("-bdf")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            // what it starts is killed with it
            .process_group(0)
            .spawn()
            .unwrap();
        self.child = Some(child);
        let is_open = self.place.is_open().await;
        let said = fs::read_to_string(path("said")).unwrap_or_default();
        assert!(is_open, "Exim does not listen: {said}\n{}", self.log());
    }

    /// Kills it, in the middle of whatever it does.
    pub fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        let _ = child.wait();
    }

    /// What it logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("spool/mainlog")).unwrap_or_default()
    }

    /// How often it refused a mail because too many came.
    pub fn refused_mails(&self) -> usize {
        self.log().lines().filter(|line| line.contains("over the limit")).count()
    }
}

impl Drop for EximSite {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The program: a package of its own where there is one, or what was taken out of the package, because Debian installs
/// one mail server only.
fn program() -> PathBuf {
    let taken_out = workspace_root().join(".venv/exim/usr/sbin/exim4");
    let found = [taken_out, "/usr/sbin/exim4".into()].into_iter().find(|path| path.exists());
    found.expect("Exim is not there: run `make setup`")
}

fn configuration(folder: &Path, place: &Place, acl: &str) -> String {
    let Place { host, address, port, sink } = place;
    let shown = folder.display();
    format!(
        "exim_path = {shown}/exim4
spool_directory = {shown}/spool
log_file_path = {shown}/spool/%slog
log_selector = +smtp_connection +incoming_port
pid_file_path = {shown}/spool/exim.pid
primary_hostname = {host}
local_interfaces = {address}
daemon_smtp_ports = {port}
disable_ipv6
keep_environment =
deliver_drop_privilege
no_message_logs
host_lookup =
rfc1413_hosts =
dkim_verify_signers =
tls_advertise_hosts =
smtp_accept_max = 100
smtp_accept_queue_per_connection = 0
acl_smtp_mail = mail
acl_smtp_rcpt = accept
begin acl
mail:
  {acl}
begin routers
all:
  driver = manualroute
  route_list = * 127.0.0.1
  transport = sink
  self = send
begin transports
sink:
  driver = smtp
  port = {sink}
  allow_localhost
  hosts_avoid_tls = *
begin retry
* * F,1h,5s
"
    )
}
