//! `moto`, an independent imitation of Amazon, as a process that is told what to do by lines.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use serde_json::Value;

use crate::net::free_port;
use crate::python::interpreter;

/// A running service.
#[derive(Debug)]
pub(crate) struct Moto {
    pub(crate) child: Child,
    talk: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    pub(crate) port: u16,
    pub(crate) key_id: String,
    pub(crate) secret: String,
}

impl Moto {
    /// Runs a script of `scripts/` on a free port. It prints the key with which requests have to be signed.
    pub(crate) fn start(script: &str) -> Self {
        let port = free_port();
        let mut child = Command::new(interpreter())
            .args(["-W", "ignore"])
            .arg(crate::workspace_root().join("scripts").join(script))
            .arg(port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        assert!(
            !line.is_empty(),
            "moto does not serve by {script}: are the packages of tests/requirements.txt installed?"
        );
        let key: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| key[name].as_str().unwrap().to_owned();
        let (key_id, secret) = (text("keyId"), text("secret"));
        let talk = Mutex::new((child.stdin.take().unwrap(), answers));
        Self { child, talk, port, key_id, secret }
    }

    /// Says a line and returns what is answered.
    pub(crate) fn say(&self, line: &str) -> Value {
        let mut talk = self.talk.lock().unwrap();
        writeln!(talk.0, "{line}").unwrap();
        talk.0.flush().unwrap();
        let mut answer = String::new();
        talk.1.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
