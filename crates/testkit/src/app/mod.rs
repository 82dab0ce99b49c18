//! The program under test: started, fed, killed and started again.

mod backup;
mod builder;
mod commands;
mod database;
mod process;
mod project;
mod reading;
mod requests;
mod running;

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use crate::Engine;
use crate::database::Database;
use crate::database_proxy::DatabaseProxy;
use crate::http::Client;

pub use self::builder::AppBuilder;
use self::process::Server;
pub(crate) use self::process::{build, clear_environment, printed};
pub use self::project::Project;
pub(crate) use self::project::{bootstrap_arguments, bootstrapped};

/// Address and password of the user that owns every test project.
pub const OWNER: (&str, &str) = ("owner@example.com", "correct horse battery staple");
/// How long a server may take to become ready or to stop (an unoptimised build on a busy machine).
const PATIENCE: Duration = Duration::from_mins(1);

/// A running server with a project, and everything it needs; all of it goes away when this value is dropped.
#[derive(Debug)]
pub struct App {
    engine: Engine,
    // Dropped in this order: the process, its connections, its database, its files.
    server: Server,
    client: Client,
    base_url: String,
    project: Project,
    proxy: Option<Arc<DatabaseProxy>>,
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
}
