//! Processes of the server: started, moved in time, frozen, stopped, killed and started again.

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Engine;
use crate::net::free_port;

use super::process::Server;
use super::{App, PATIENCE};

impl App {
    /// Starts another process on the same database with the same environment (PostgreSQL only).
    pub async fn second_node(&self) -> Self {
        self.second_node_with(&[]).await
    }

    /// Starts another process on the same database, with some variables of its own (PostgreSQL only).
    pub async fn second_node_with(&self, more: &[(&str, &str)]) -> Self {
        assert!(self.engine == Engine::Postgres, "several nodes need PostgreSQL");
        let mut env = self.server.env.clone();
        env.extend(more.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())));
        let port = free_port();
        let mut node = Self {
            engine: self.engine,
            server: Server {
                arguments: self.server.arguments.clone(),
                binary: self.server.binary.clone(),
                wrapper: self.server.wrapper.clone(),
                env,
                port,
                log: self.temp.path().join(format!("server-{port}.log")),
                child: None,
                clock: Arc::clone(&self.server.clock),
            },
            client: self.client.anew(),
            base_url: String::new(),
            project: self.project.clone(),
            proxy: self.proxy.clone(),
            database: self.database.clone(),
            temp: Arc::clone(&self.temp),
        };
        node.launch(true).await;
        node
    }

    /// The server's log so far.
    pub fn log(&self) -> String {
        self.server.read_log()
    }

    /// Lets so much time pass at once, for this server and for all others on its database. Returns when they have taken
    /// the new time over and their background work has had the rounds that became due; what those started may go on.
    /// Leases run out as if the machine had been asleep: see that nothing is under way.
    pub async fn advance(&self, by: Duration) {
        let told = self.server.clock.advance(by).await;
        assert!(
            told > 0 || self.server.child.is_none(),
            "only a program that was built with debug assertions can be moved in time"
        );
    }

    /// The time of the server, in milliseconds since 1970.
    pub fn now(&self) -> i64 {
        let machine = std::time::UNIX_EPOCH.elapsed().expect("a clock after 1970");
        (machine + self.server.clock.ahead()).as_millis() as i64
    }

    /// Kills the process at once (SIGKILL).
    pub fn kill(&mut self) {
        self.server.kill();
    }

    /// Starts the server again on the same port, after `kill` or `stop`, and waits until it is ready.
    pub async fn restart(&mut self) {
        self.restart_with(&[]).await;
    }

    /// Starts the server again with some variables changed from now on.
    pub async fn restart_with(&mut self, more: &[(&str, &str)]) {
        assert!(self.server.child.is_none(), "the server runs: kill or stop it first");
        self.server.env.extend(more.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())));
        // Connections kept from before are dead.
        self.client = self.client.anew();
        self.launch(false).await;
    }

    /// The same with these arguments of `serve` from now on.
    pub async fn restart_as(&mut self, arguments: &[&str], more: &[(&str, &str)]) {
        self.server.arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        self.restart_with(more).await;
    }

    /// The most memory that the process had at once, in bytes.
    pub fn peak_memory(&self) -> usize {
        self.memory("VmHWM:")
    }

    /// The memory that the process has now, in bytes.
    pub fn resident_memory(&self) -> usize {
        self.memory("VmRSS:")
    }

    /// A figure of the process's memory, as the kernel calls it.
    fn memory(&self, name: &str) -> usize {
        let id = self.server.child.as_ref().expect("a running server").id();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("the status of a process");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect(name);
        let kilobytes: usize = line.trim().trim_end_matches(" kB").parse().expect("a number of kilobytes");
        kilobytes * 1024
    }

    /// From now on the server starts without, or with another, wrapper command; see
    /// [`AppBuilder::wrapper`](super::AppBuilder::wrapper).
    pub fn set_wrapper(&mut self, command: &[&str]) {
        self.server.wrapper = command.iter().map(|&part| part.to_owned()).collect();
    }

    /// Asks the process to stop (SIGTERM) without waiting for it.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Stops the process where it is (SIGSTOP), as a machine that is moved or out of memory does.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets the process go on after [`App::freeze`].
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let child = self.server.child.as_ref().expect("the server does not run");
        let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).expect("signal the server");
    }

    /// Asks the process to stop (SIGTERM) and waits for it.
    pub async fn stop(&mut self) -> ExitStatus {
        self.terminate();
        self.wait_for_exit().await
    }

    /// Waits until the process has ended by itself or after [`App::terminate`].
    pub async fn wait_for_exit(&mut self) -> ExitStatus {
        let since = Instant::now();
        loop {
            let child = self.server.child.as_mut().expect("the server does not run");
            if let Some(status) = child.try_wait().unwrap() {
                self.server.child = None;
                return status;
            }
            assert!(since.elapsed() < PATIENCE, "the server did not stop within {PATIENCE:?} of SIGTERM");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Starts the process and waits for `/ready`. When the port is taken, another one is chosen or the same waited for.
    pub(super) async fn launch(&mut self, any_port: bool) {
        let mut clashes = 0;
        loop {
            self.base_url = format!("http://127.0.0.1:{}", self.server.port);
            let logged = self.server.read_log().len();
            self.server.spawn();
            let since = Instant::now();
            loop {
                let ready = self.request("GET", "/ready").timeout(Duration::from_secs(5)).try_send().await;
                if ready.as_ref().is_ok_and(|response| response.status == 200) {
                    return;
                }
                if let Some(status) = self.server.child.as_mut().unwrap().try_wait().unwrap() {
                    self.server.child = None;
                    let log = self.server.read_log().split_off(logged);
                    if clashes < 5 && log.to_lowercase().contains("in use") {
                        clashes += 1;
                        if any_port {
                            self.server.port = free_port();
                        }
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        break;
                    }
                    panic!("the server ended while starting ({status}); its log:\n{log}");
                }
                if since.elapsed() > PATIENCE {
                    let log = self.server.read_log().split_off(logged);
                    let last = ready
                        .map_or_else(|error| error.to_string(), |r| format!("{} {}", r.status, r.text()));
                    panic!("the server was not ready within {PATIENCE:?} (/ready: {last}); its log:\n{log}");
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}
