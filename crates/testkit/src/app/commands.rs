//! Other commands of the program beside the server.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use super::App;
use super::process::printed;

impl App {
    /// Runs another command of the program with the server's environment and file, and returns what it prints.
    pub async fn run(&self, arguments: &[&str]) -> String {
        self.run_with_input(arguments, "").await
    }

    /// The same for a command that reads its standard input.
    pub async fn run_with_input(&self, arguments: &[&str], input: &str) -> String {
        let mut command = Command::new(&self.server.binary);
        self.server.environment(&mut command);
        command
            .args(self.server.file())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let input = input.to_owned();
        let run = move || {
            let mut child = command.spawn()?;
            // a command that does not read may have ended already
            let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
            child.wait_with_output()
        };
        let output = tokio::task::spawn_blocking(run).await.unwrap().unwrap();
        printed(&arguments.join(" "), &output)
    }

    /// Runs another command of the program with the server's environment, whether it succeeds or not.
    pub async fn try_run(&self, arguments: &[&str]) -> Output {
        self.try_run_with(arguments, &[]).await
    }

    /// The same with some variables changed.
    pub async fn try_run_with(&self, arguments: &[&str], more: &[(&str, &str)]) -> Output {
        let mut command = Command::new(&self.server.binary);
        self.server.environment(&mut command);
        command.envs(more.iter().copied()).args(arguments).stdin(Stdio::null());
        tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap()
    }
}
