//! A site that Postfix runs.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::postgrey::Postgrey;
use super::{KeyFiles, Place, folder, folder_of};
use crate::postfix::SERVICES;

const PROGRAM: &str = "/usr/sbin/postfix";

/// A running Postfix that takes mail for any domain.
#[derive(Debug)]
pub struct PostfixSite {
    folder: TempDir,
    _postgrey: Option<Postgrey>,
}

impl PostfixSite {
    /// Starts one that puts off each mail (450) until so long after it saw client, sender and recipient first.
    pub async fn greylisting(place: &Place, delay: Duration) -> Self {
        let postgrey = Postgrey::start(delay).await;
        let more =
            format!("smtpd_recipient_restrictions = check_policy_service inet:127.0.0.1:{}\n", postgrey.port);
        Self::start(place, &more, Some(postgrey)).await
    }

    /// Starts one that takes no mail without TLS.
    pub async fn tls_only(place: &Place, key: &KeyFiles) -> Self {
        let more = format!(
            "smtpd_tls_security_level = encrypt\nsmtpd_tls_cert_file = {}\nsmtpd_tls_key_file = {}\n\
             smtpd_tls_loglevel = 1\nsmtpd_tls_received_header = yes\n",
            key.certificate().display(),
            key.key().display()
        );
        Self::start(place, &more, None).await
    }

    async fn start(place: &Place, more: &str, postgrey: Option<Postgrey>) -> Self {
        assert!(
            Path::new(PROGRAM).exists(),
            "Postfix is not installed: run `make setup`, or on Debian: apt-get install postfix"
        );
        let folder = folder();
        write_configuration(folder.path(), place, more);
        let site = Self { folder, _postgrey: postgrey };
        assert!(site.control("start"), "Postfix does not start:\n{}", site.log());
        assert!(place.is_open().await, "Postfix does not listen:\n{}", site.log());
        site
    }

    /// What it logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn control(&self, command: &str) -> bool {
        let mut postfix = Command::new(PROGRAM);
        postfix.arg("-c").arg(self.folder.path().join("etc")).arg(command);
        postfix.output().expect("postfix can be run").status.success()
    }
}

impl Drop for PostfixSite {
    fn drop(&mut self) {
        self.control("abort");
    }
}

fn write_configuration(folder: &Path, place: &Place, more: &str) {
    let Place { host, address, port, sink } = place;
    let shown = folder.display();
    for name in ["etc", "queue"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    folder_of("postfix", &folder.join("data"));
    // Postfix takes only addresses of interfaces there, which those of the sites are not; what it listens at is in
    // master.cf. All else that a client meets is as Postfix has it by itself.
    let interfaces = "inet_interfaces = 127.0.0.1\ninet_protocols = ipv4\n";
    let main = format!(
        "compatibility_level = 3.6\nqueue_directory = {shown}/queue\ndata_directory = {shown}/data\n\
         command_directory = /usr/sbin\ndaemon_directory = /usr/lib/postfix/sbin\nmail_owner = postfix\n\
         setgid_group = postdrop\nmaillog_file = {shown}/log\nmaillog_file_prefixes = {shown}\n\
         myhostname = {host}\nmydestination =\nalias_maps =\nlocal_recipient_maps =\n{interfaces}\
         mynetworks = 127.0.0.0/8\nsmtpd_relay_restrictions = permit_mynetworks, reject\n\
         smtpd_peername_lookup = no\nsmtp_tls_security_level = none\nrelayhost = [127.0.0.1]:{sink}\n\
         disable_dns_lookups = yes\nsmtp_host_lookup = native\nin_flow_delay = 0\n\
         initial_destination_concurrency = 20\ndefault_destination_recipient_limit = 1\n\
         minimal_backoff_time = 5\nqueue_run_delay = 5\n{more}"
    );
    fs::write(folder.join("etc/main.cf"), main).unwrap();
    fs::write(folder.join("etc/master.cf"), format!("{address}:{port} inet n - n - - smtpd\n{SERVICES}"))
        .unwrap();
}
