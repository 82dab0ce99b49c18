//! The program under test: started, fed, killed and started again.

mod builder;
mod process;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Engine;
use crate::database::{Database, Held};
use crate::http::{Client, Request, Response};
use crate::net::{TcpProxy, free_port};

pub use self::builder::AppBuilder;
use self::process::Server;
pub(crate) use self::process::{build, clear_environment, printed};

/// Address and password of the user that owns every test project.
pub const OWNER: (&str, &str) = ("owner@example.com", "correct horse battery staple");
/// How long a server may take to become ready or to stop (an unoptimised build on a busy machine).
const PATIENCE: Duration = Duration::from_mins(1);
/// How long [`App::eventually`] waits.
const EVENTUALLY: Duration = Duration::from_secs(15);

/// A project on the server under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The project's id.
    pub id: String,
    /// The secret key, `sk_...`.
    pub secret_key: String,
    /// The public key, `pk_...`.
    pub public_key: String,
    /// The verified sender domain.
    pub domain: String,
    /// An address of the sender domain.
    pub from: String,
}

impl Project {
    /// A project that `bootstrap` has just made, by what it printed.
    fn new(printed: &Value, domain: &str) -> Self {
        let text = |name: &str| match printed[name].as_str() {
            Some(text) => text.to_owned(),
            None => panic!("`mailwright bootstrap` of a new project printed no {name}: {printed}"),
        };
        Self {
            id: text("projectId"),
            secret_key: text("secretKey"),
            public_key: text("publicKey"),
            domain: domain.to_owned(),
            from: text("from"),
        }
    }
}

/// `bootstrap` for a project with a sender domain.
pub(crate) fn bootstrap_arguments<'a>(project: &'a str, domain: &'a str) -> [&'a str; 10] {
    let (email, password) = OWNER;
    [
        "bootstrap",
        "--email",
        email,
        "--password",
        password,
        "--project",
        project,
        "--domain",
        domain,
        "--json",
    ]
}

/// What `bootstrap --json` printed.
pub(crate) fn bootstrapped(printed: &str) -> Value {
    serde_json::from_str(printed.trim())
        .unwrap_or_else(|error| panic!("`mailwright bootstrap --json` printed no JSON ({error}): {printed}"))
}

/// A running server with a project, and everything it needs; all of it goes away when this value is dropped.
#[derive(Debug)]
pub struct App {
    engine: Engine,
    // Dropped in this order: the process, its connections, its database, its files.
    server: Server,
    client: Client,
    base_url: String,
    project: Project,
    proxy: Option<Arc<TcpProxy>>,
    database: Option<Arc<Database>>,
    temp: Arc<TempDir>,
}

impl App {
    /// Starts a server with the capture transport and no rate limit, with a project on it.
    pub async fn start(engine: Engine) -> Self {
        Self::builder(engine).start().await
    }

    /// Starts a server with settings of its own.
    pub fn builder(engine: Engine) -> AppBuilder {
        AppBuilder::new(engine)
    }

    /// The database this server runs on.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The id of the project made at the start.
    pub fn project_id(&self) -> &str {
        &self.project.id
    }

    /// The secret key of the project made at the start.
    pub fn secret_key(&self) -> &str {
        &self.project.secret_key
    }

    /// The public key of the project made at the start.
    pub fn public_key(&self) -> &str {
        &self.project.public_key
    }

    /// The verified sender domain of the project made at the start.
    pub fn domain(&self) -> &str {
        &self.project.domain
    }

    /// `hello@` the sender domain.
    pub fn from(&self) -> String {
        format!("hello@{}", self.project.domain)
    }

    /// A request without credentials.
    pub fn request(&self, method: &str, path: &str) -> Request {
        self.client.request(method, format!("{}{path}", self.base_url))
    }

    /// `GET path` with the secret key.
    pub fn get(&self, path: &str) -> Request {
        self.request("GET", path).bearer(self.secret_key())
    }

    /// `POST path` with the secret key.
    pub fn post(&self, path: &str) -> Request {
        self.request("POST", path).bearer(self.secret_key())
    }

    /// `PATCH path` with the secret key.
    pub fn patch(&self, path: &str) -> Request {
        self.request("PATCH", path).bearer(self.secret_key())
    }

    /// `PUT path` with the secret key.
    pub fn put(&self, path: &str) -> Request {
        self.request("PUT", path).bearer(self.secret_key())
    }

    /// `DELETE path` with the secret key.
    pub fn delete(&self, path: &str) -> Request {
        self.request("DELETE", path).bearer(self.secret_key())
    }

    /// `POST /v1/track` with the public key.
    pub async fn track(&self, body: Value) -> Response {
        self.request("POST", "/v1/track").bearer(self.public_key()).json(&body).send().await
    }

    /// `POST /v1/send` with the secret key.
    pub async fn send(&self, body: Value) -> Response {
        self.post("/v1/send").json(&body).send().await
    }

    /// Sends a small mail to one address and returns the email's id.
    pub async fn send_to(&self, to: &str) -> String {
        let body = json!({"to": to, "subject": "Hello", "body": "<p>Hello there</p>", "from": self.from()});
        let answer = self.send(body).await.assert_status(200).json();
        let id = answer["data"]["emails"][0]["email"].as_str();
        id.unwrap_or_else(|| panic!("no email id in {answer}")).to_owned()
    }

    /// Creates another project with a verified domain on the same database.
    pub async fn bootstrap(&self, project: &str, domain: &str) -> Project {
        self.bootstrap_in(project, domain, "en").await
    }

    /// Creates another project, whose pages and footers are in a language of its own.
    pub async fn bootstrap_in(&self, project: &str, domain: &str, language: &str) -> Project {
        let output = self.run_bootstrap(project, domain, &["--language", language]).await;
        Project::new(&output, domain)
    }

    /// Makes another secret key for the project made at the start.
    pub async fn new_secret_key(&self) -> String {
        let output = self.run_bootstrap("Acme", "acme.test", &["--new-secret-key"]).await;
        assert_eq!(output["projectId"], self.project.id, "bootstrap is idempotent by project name");
        output["secretKey"].as_str().unwrap_or_else(|| panic!("no secretKey in {output}")).to_owned()
    }

    async fn run_bootstrap(&self, project: &str, domain: &str, more: &[&str]) -> Value {
        let arguments = [&bootstrap_arguments(project, domain)[..], more].concat();
        bootstrapped(&self.run(&arguments).await)
    }

    /// Runs another command of the program with the server's environment and returns what it prints.
    pub async fn run(&self, arguments: &[&str]) -> String {
        self.run_with_input(arguments, "").await
    }

    /// The same for a command that reads its standard input.
    pub async fn run_with_input(&self, arguments: &[&str], input: &str) -> String {
        let mut command = Command::new(&self.server.binary);
        self.server.environment(&mut command);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
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

    /// Everything that the database holds, as bytes to be searched for what must not be there. PostgreSQL shows blobs
    /// as hexadecimal digits.
    pub async fn stored(&self) -> Vec<u8> {
        if let Some(database) = &self.database {
            return database.contents().await.into_bytes();
        }
        let files = std::fs::read_dir(self.data_dir()).unwrap().map(|entry| entry.unwrap().path());
        let database = files.filter(|path| path.to_string_lossy().contains("mailwright.sqlite"));
        let mut stored: Vec<u8> = database.flat_map(|path| std::fs::read(path).unwrap()).collect();
        // and in one piece what lies in several pages of the file
        stored.extend(sqlite_values(&self.data_dir().join("mailwright.sqlite")));
        stored
    }

    /// Every answer since the start, with the request it answers: method and URL.
    pub fn heard(&self) -> Vec<(String, Response)> {
        self.client.heard()
    }

    fn data_dir(&self) -> &Path {
        let of_server = self.server.env.iter().rev().find(|(key, _)| key == "MAILWRIGHT_DATA_DIR");
        Path::new(&of_server.unwrap().1)
    }

    /// Changes the database behind the program's back, to a state that none of its doors leads to.
    pub async fn tamper(&self, statements: &str) {
        if let Some(database) = &self.database {
            return database.run(statements).await;
        }
        let database = rusqlite::Connection::open(self.data_dir().join("mailwright.sqlite")).unwrap();
        database.busy_timeout(PATIENCE).unwrap();
        database.execute_batch(statements).unwrap_or_else(|error| panic!("{statements}: {error}"));
    }

    /// Has a transaction on PostgreSQL hold what these statements lock.
    pub async fn hold(&self, statements: &str) -> Held {
        self.database.as_ref().expect("PostgreSQL").hold(statements).await
    }

    /// The proxy asked for with [`AppBuilder::database_proxy`].
    pub fn database_proxy(&self) -> &TcpProxy {
        self.proxy.as_ref().expect("the server was not started with `database_proxy()`")
    }

    /// The server's log so far.
    pub fn log(&self) -> String {
        self.server.read_log()
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
        let id = self.server.child.as_ref().expect("a running server").id();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("the status of a process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
        let kilobytes: usize = line.trim().trim_end_matches(" kB").parse().expect("a number of kilobytes");
        kilobytes * 1024
    }

    /// From now on the server starts without, or with another, wrapper command; see [`AppBuilder::wrapper`].
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

    /// The URL of the database the server uses (PostgreSQL only).
    pub fn database_url(&self) -> &str {
        let of_server = self.server.env.iter().rev().find(|(key, _)| key == "MAILWRIGHT_DATABASE_URL");
        &of_server.expect("the server uses PostgreSQL").1
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

    /// Polls every 20 ms up to 15 s until there is a value; panics with `what` otherwise.
    pub async fn eventually<T>(&self, what: &str, f: impl AsyncFnMut() -> Option<T>) -> T {
        self.eventually_within(EVENTUALLY, what, f).await
    }

    /// As [`App::eventually`], with a limit of its own.
    pub async fn eventually_within<T>(
        &self,
        limit: Duration,
        what: &str,
        mut f: impl AsyncFnMut() -> Option<T>,
    ) -> T {
        let since = Instant::now();
        loop {
            if let Some(value) = f().await {
                return value;
            }
            assert!(since.elapsed() < limit, "not within {limit:?}: {what}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The messages captured for an address, oldest first, each in full as `GET /mailbox/:id` shows it.
    pub async fn mailbox_for(&self, to: &str) -> Vec<Value> {
        let mut messages = Vec::new();
        for item in self.list_all("/mailbox").await {
            let addressed = match &item["to"] {
                Value::Array(many) => many.iter().any(|one| names(one, to)),
                one => names(one, to),
            };
            if addressed {
                let path = format!("/mailbox/{}", item["id"].as_str().unwrap_or_default());
                messages.push(self.get(&path).send().await.assert_status(200).json());
            }
        }
        messages.reverse();
        messages
    }

    /// Every element of a cursor list, page by page; `path` may carry a query.
    pub async fn list_all(&self, path: &str) -> Vec<Value> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let first = format!("{path}{separator}limit=100");
        let mut url = first.clone();
        let mut all = Vec::new();
        loop {
            let page = self.get(&url).send().await.assert_status(200).json();
            let Value::Array(data) = page["data"].clone() else { panic!("{path} is no list: {page}") };
            all.extend(data);
            match page["cursor"].as_str() {
                Some(cursor) if page["hasMore"] == true => url = format!("{first}&cursor={}", escape(cursor)),
                _ => return all,
            }
        }
    }

    /// An email as `GET /emails/:id` shows it.
    pub async fn email(&self, id: &str) -> Value {
        self.get(&format!("/emails/{id}")).send().await.assert_status(200).json()
    }

    /// Waits until an email has one of these states, and returns it. Panics after `EVENTUALLY`.
    pub async fn email_in(&self, id: &str, states: &[&str]) -> Value {
        let mut last = Value::Null;
        let since = Instant::now();
        while since.elapsed() < EVENTUALLY {
            last = self.email(id).await;
            if states.iter().any(|&state| last["status"] == state) {
                return last;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("email {id} is not {states:?} within {EVENTUALLY:?}: {last}");
    }

    /// Starts the process and waits for `/ready`. When the port is taken, another one is chosen or the same waited for.
    async fn launch(&mut self, any_port: bool) {
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

/// Every text and blob of every table, a line each.
fn sqlite_values(path: &Path) -> Vec<u8> {
    let database = rusqlite::Connection::open(path).unwrap();
    database.busy_timeout(PATIENCE).unwrap();
    let mut tables = database.prepare("select name from sqlite_master where type = 'table'").unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut values = Vec::new();
    for table in tables {
        let mut select = database.prepare(&format!("select * from \"{table}\"")).unwrap();
        let width = select.column_count();
        let mut rows = select.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..width {
                if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = row.get_ref(column).unwrap() {
                    values.extend_from_slice(bytes);
                    values.push(b'\n');
                }
            }
        }
    }
    values
}

/// Whether a value of a message's `to` names this address.
fn names(to: &Value, address: &str) -> bool {
    let text = to.as_str().or_else(|| to["email"].as_str()).unwrap_or_default().to_lowercase();
    let address = address.to_lowercase();
    text == address || text.contains(&format!("<{address}>"))
}

/// Percent-encodes a query value.
fn escape(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            write!(text, "%{byte:02X}").unwrap();
        }
    }
    text
}
