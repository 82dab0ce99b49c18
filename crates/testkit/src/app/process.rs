//! The program as a process.

use std::fmt;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;

use crate::clock::MovedClock;

/// One `mailwright serve` process.
pub(super) struct Server {
    pub(super) binary: PathBuf,
    pub(super) wrapper: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    /// What is said to `serve`.
    pub(super) arguments: Vec<String>,
    pub(super) port: u16,
    pub(super) log: PathBuf,
    pub(super) child: Option<Child>,
    pub(super) clock: Arc<MovedClock>,
}

impl Server {
    /// The arguments that name the file of settings, if there is one.
    pub(super) fn file(&self) -> &[String] {
        let at = self.arguments.iter().position(|argument| argument == "--config");
        at.map_or(&[], |at| &self.arguments[at..at + 2])
    }

    pub(super) fn environment(&self, command: &mut Command) {
        clear_environment(command);
        command.env("MAILWRIGHT_LISTEN", format!("127.0.0.1:{}", self.port));
        command.env("MAILWRIGHT_BASE_URL", format!("http://127.0.0.1:{}", self.port));
        command.envs(self.clock.environment(self.port));
        command.envs(self.env.iter().map(|(key, value)| (key, value)));
    }

    pub(super) fn spawn(&mut self) {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(&self.log).unwrap();
        let mut command = match self.wrapper.split_first() {
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(&self.binary);
                command
            }
            None => Command::new(&self.binary),
        };
        self.environment(&mut command);
        command
            .arg("serve")
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?} did not start: {error}"));
        self.child = Some(child);
    }

    pub(super) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("kill the server");
            child.wait().expect("wait for the killed server");
        }
    }

    pub(super) fn read_log(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("port", &self.port).field("child", &self.child).finish_non_exhaustive()
    }
}

impl Drop for Server {
    #[expect(clippy::print_stderr, reason = "the log of the server explains the failed test")]
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!(
                "---- log of the server on port {} ----\n{}---- end of log ----",
                self.port,
                self.read_log()
            );
        }
    }
}

/// Takes away what the environment of the tests would change about the program.
pub(crate) fn clear_environment(command: &mut Command) {
    for (key, _) in std::env::vars_os() {
        if key.to_string_lossy().starts_with("MAILWRIGHT_") {
            command.env_remove(key);
        }
    }
}

/// What a command of the program printed, which has to succeed.
pub(crate) fn printed(command: &str, output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "`mailwright {command}` failed ({}):\n{stdout}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    stdout
}

/// What says of the program that it is another build.
pub(crate) fn build(binary: &Path) -> impl Hash {
    let metadata = std::fs::metadata(binary).unwrap();
    (binary.to_owned(), metadata.len(), metadata.modified().unwrap())
}

/// The program under test.
pub(super) fn binary() -> PathBuf {
    let built = || {
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        crate::workspace_root().join(target).join("debug/mailwright")
    };
    let named = std::env::var_os("MAILWRIGHT_BIN").filter(|path| !path.is_empty());
    let path = named.map_or_else(built, PathBuf::from);
    assert!(
        path.is_file(),
        "the program under test is not at {}: run `cargo build --bin mailwright` first or set MAILWRIGHT_BIN",
        path.display()
    );
    path
}
