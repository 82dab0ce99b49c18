//! Databases with many contacts, written through the product's own store before a server runs on them.

pub(crate) mod projects;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mailwright_core::address::EmailAddress;
use mailwright_core::consent::{ConsentWay, Evidence};
use mailwright_core::contact::Subscription;
use mailwright_core::custom_data::DataPatch;
use mailwright_core::ids::{ProjectId, ProjectNumber};
use mailwright_core::time::{Clock, Timestamp};
use mailwright_store::audience::contact::{Contacts, Upsert};
use mailwright_store::audience::search;
use mailwright_store::body;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::{Db, project};
use serde_json::Value;
use uuid::Uuid;

use crate::engine::{Database, Host};
use crate::people::{self, People};
use crate::report::progress;
use crate::server::Program;

/// Contacts of one transaction.
const BATCH: usize = 5_000;
/// How long ago the first contact was created.
pub(crate) const HISTORY: Duration = Duration::from_hours(90 * 24);
/// The name of the project.
pub(crate) const PROJECT: &str = "Bench";
/// Who owns it: address and password.
pub(crate) const OWNER: (&str, &str) = ("bench@example.com", "correct horse battery staple");
/// The sender domain whose mails are signed with RSA.
pub(crate) const RSA_DOMAIN: &str = "rsa.bench.example";
/// The sender domain whose mails are signed with Ed25519.
pub(crate) const ED25519_DOMAIN: &str = "ed25519.bench.example";

/// A database with a project that is ready to be measured.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) database: Database,
    pub(crate) project: ProjectNumber,
    pub(crate) project_id: ProjectId,
    pub(crate) secret_key: String,
    pub(crate) public_key: String,
    pub(crate) people: Arc<People>,
    /// Bytes that its contacts take in the database.
    pub(crate) bytes: u64,
}

impl Site {
    /// A copy of the database with the same project. Nobody may be using the database.
    pub(crate) async fn copy(&self, home: &Path, name: &str) -> Result<Self> {
        let since = Instant::now();
        let database = self.database.copy(home, name).await?;
        progress(format_args!("{name}: copied the database in {:.1} s", since.elapsed().as_secs_f64()));
        let (secret_key, public_key) = (self.secret_key.clone(), self.public_key.clone());
        let (project, project_id) = (self.project, self.project_id);
        let people = Arc::clone(&self.people);
        Ok(Self { database, project, project_id, secret_key, public_key, people, bytes: self.bytes })
    }
}

/// Makes a database with a project that has `contacts` contacts and, where it is large enough for one, the search index
/// that the server would build in its first minutes; building it here keeps that work out of the measurements.
pub(crate) async fn site(
    program: &Program,
    host: &Host,
    home: &Path,
    name: &str,
    contacts: usize,
) -> Result<Site> {
    let database = Database::create(host, home, name).await?;
    let keys = bootstrap(program, &database, RSA_DOMAIN, "rsa").await?;
    bootstrap(program, &database, ED25519_DOMAIN, "ed25519").await?;
    let (secret_key, public_key) = (text(&keys, "secretKey")?, text(&keys, "publicKey")?);

    let db = database.open()?;
    let id = id(&keys)?;
    let found = db.read(body!(async |rx| project::by_id(rx, id).await)).await?;
    let project = found.context("the project is not in the database")?.number;
    let empty = database.bytes().await?;
    let since = Instant::now();
    let people = contacts_of(&db, project, 0..contacts).await?;
    progress(format_args!("{name}: stored {contacts} contacts in {:.1} s", since.elapsed().as_secs_f64()));
    let since = Instant::now();
    while search::index::build_step(&db, project, Clock::system().now()).await? {}
    db.close().await;
    database.vacuum().await?;
    database.settle().await?;
    progress(format_args!("{name}: built the search index in {:.1} s", since.elapsed().as_secs_f64()));
    // without contacts, tidying up may leave less than there was
    let (bytes, people) = (database.bytes().await?.saturating_sub(empty), Arc::new(people));
    Ok(Site { database, project, project_id: id, secret_key, public_key, people, bytes })
}

/// Makes another project with a domain in a database; what is printed of it.
pub(crate) async fn another(
    program: &Program,
    database: &Database,
    project: &str,
    domain: &str,
) -> Result<Value> {
    make_project(program, database, project, domain, "rsa").await
}

/// Makes the project with a domain; done again, it adds another domain to it.
async fn bootstrap(program: &Program, database: &Database, domain: &str, key_type: &str) -> Result<Value> {
    make_project(program, database, PROJECT, domain, key_type).await
}

async fn make_project(
    program: &Program,
    database: &Database,
    project: &str,
    domain: &str,
    key_type: &str,
) -> Result<Value> {
    let mut variables = database.variables()?;
    variables.push(("MAILWRIGHT_DOMAINS_KEY_TYPE", key_type.to_owned()));
    let arguments = ["bootstrap", "--email", OWNER.0, "--password", OWNER.1, "--project", project];
    let printed =
        program.run(&[&arguments[..], &["--domain", domain, "--json"]].concat(), &variables).await?;
    serde_json::from_str(&printed)
        .with_context(|| format!("`mailwright bootstrap` printed no JSON: {printed}"))
}

/// One of the texts that `mailwright bootstrap` printed.
fn text(printed: &Value, name: &str) -> Result<String> {
    let text = printed[name].as_str().map(str::to_owned);
    text.with_context(|| format!("`mailwright bootstrap` printed no {name}"))
}

/// The project's id that `mailwright bootstrap` printed.
fn id(printed: &Value) -> Result<ProjectId> {
    text(printed, "projectId")?.parse().ok().context("`mailwright bootstrap` printed no project's id")
}

/// Gives a project the contacts with these numbers.
async fn contacts_of(db: &Db, project: ProjectNumber, numbers: Range<usize>) -> Result<People> {
    let first = Clock::system().now().minus(HISTORY);
    let apart = HISTORY.as_millis() as i64 / numbers.len().max(1) as i64;
    let mut ids = Vec::with_capacity(numbers.len());
    for from in numbers.clone().step_by(BATCH) {
        let rows: Vec<_> = (from..numbers.end.min(from + BATCH))
            .map(|number| {
                let email = EmailAddress::from_stored(&people::email(number));
                let at = Timestamp(first.0 + (number - numbers.start) as i64 * apart);
                (email, DataPatch::new(people::data(number)), at)
            })
            .collect();
        ids.extend(db.write(body!(async |tx| store(tx, project, &rows).await)).await?);
    }
    Ok(People::new(ids))
}

async fn store(
    tx: &mut mailwright_store::Tx<'_>,
    project: ProjectNumber,
    rows: &[(EmailAddress, DataPatch, Timestamp)],
) -> mailwright_store::Result<Vec<Uuid>> {
    let mut contacts = Contacts::load(tx, rows.iter().map(|(email, ..)| (project, email))).await?;
    let mut ids = Vec::with_capacity(rows.len());
    for (number, (email, patch, at)) in rows.iter().enumerate() {
        // one in ten has unsubscribed
        let subscription =
            Subscription { given: Some(number % 10 != 9), default_for_new: true, preserve_existing: false };
        let evidence = Evidence::by(ConsentWay::Api);
        let upsert = Upsert { project, email, subscription, patch, evidence, double_opt_in: false };
        let upserted = contacts.upsert(upsert, *at);
        ids.push(upserted.contact.id.into());
    }
    let mut deltas = Deltas::default();
    contacts.save(tx, &mut deltas).await?;
    deltas.save(tx).await?;
    Ok(ids)
}
