//! Many projects in one database, among which contacts are divided.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mailwright_app::project::key::Token;
use mailwright_core::address::DomainName;
use mailwright_core::domain::Domain;
use mailwright_core::ids::{ApiKeyId, DomainId, ProjectId, ProjectNumber};
use mailwright_core::time::{Clock, Timestamp};
use mailwright_store::audience::search;
use mailwright_store::project::api_key::{self, KeyKind, NewKey};
use mailwright_store::sending::domain;
use mailwright_store::{Db, Rx, Tx, body, project};

use super::{PROJECT, contacts_of, id, make_project, text};
use crate::engine::{Database, Host};
use crate::report::progress;
use crate::server::Program;

/// After how long the records of a domain are checked: after all measurements.
const CHECK: Duration = Duration::from_hours(24);

/// One of many projects.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) secret_key: String,
    pub(crate) public_key: String,
    /// A sender address that works.
    pub(crate) from: String,
    /// The numbers of its contacts.
    pub(crate) people: Range<usize>,
}

/// What the other projects get from the first one.
struct Pattern {
    project: ProjectNumber,
    domain: Domain,
    /// The private key of the domain, encrypted.
    private_key: Vec<u8>,
}

/// Makes a database with `count` projects, each with a sender domain and its part of `contacts` contacts.
///
/// The program makes the first project. The others are stored as the program stores them, and their domains have the
/// key of the first one: to check a password and to make a key for each would take minutes.
pub(crate) async fn make(
    program: &Program,
    host: &Host,
    home: &Path,
    count: usize,
    contacts: usize,
) -> Result<(Database, Vec<Project>)> {
    let since = Instant::now();
    let database = Database::create(host, home, &format!("projects{count}")).await?;
    let name = domain_name(0)?;
    let printed = make_project(program, &database, PROJECT, name.as_str(), "ed25519").await?;
    let id = id(&printed)?;
    let db = database.open()?;
    let found = db.read(body!(async |rx| pattern(rx, id, &name).await)).await?;
    let first = found.context("the project and its domain are not in the database")?;
    let mut projects = Vec::with_capacity(count);
    for number in 0..count {
        let people = number * contacts / count..(number + 1) * contacts / count;
        let (project, made) = if number == 0 {
            let (secret_key, public_key) = (text(&printed, "secretKey")?, text(&printed, "publicKey")?);
            let from = text(&printed, "from")?;
            (first.project, Project { secret_key, public_key, from, people: people.clone() })
        } else {
            another(&db, &first, number, people.clone()).await?
        };
        contacts_of(&db, project, people).await?;
        while search::index::build_step(&db, project, Clock::system().now()).await? {}
        projects.push(made);
    }
    db.close().await;
    database.vacuum().await?;
    database.settle().await?;
    let took = since.elapsed().as_secs_f64();
    progress(format_args!("stored {contacts} contacts of {count} projects in {took:.1} s"));
    Ok((database, projects))
}

/// The sender domain of a project.
fn domain_name(number: usize) -> Result<DomainName> {
    DomainName::parse(&format!("project{number}.bench.example")).context("this is no name of a domain")
}

async fn pattern(
    rx: &mut Rx<'_>,
    id: ProjectId,
    name: &DomainName,
) -> mailwright_store::Result<Option<Pattern>> {
    let Some(found) = project::by_id(rx, id).await? else { return Ok(None) };
    let project = found.number;
    let Some(domain) = domain::by_name(rx, project, name).await? else { return Ok(None) };
    let key = domain::signing_key(rx, project, name.as_str(), false).await?;
    Ok(key.map(|key| Pattern { project, domain, private_key: key.private_key }))
}

/// Makes a project like the first one, still without contacts.
async fn another(
    db: &Db,
    first: &Pattern,
    number: usize,
    people: Range<usize>,
) -> Result<(ProjectNumber, Project)> {
    let now = Clock::system().now();
    let (secret, public) = (Token::generate(KeyKind::Secret), Token::generate(KeyKind::Public));
    let keys = [stored(&secret, KeyKind::Secret, now), stored(&public, KeyKind::Public, now)];
    let name = domain_name(number)?;
    let from = format!("hello@{}", name.as_str());
    let domain = Domain { id: DomainId::new(now, rand::random()), name, ..first.domain.clone() };
    let (name, private_key) = (format!("{PROJECT} {number}"), first.private_key.clone());
    let project =
        db.write(body!(async |tx| store(tx, &name, &keys, &domain, &private_key, now).await)).await?;
    let (secret_key, public_key) = (secret.reveal().to_owned(), public.reveal().to_owned());
    Ok((project, Project { secret_key, public_key, from, people }))
}

/// A key of a project's own pair as it is stored.
fn stored(token: &Token, kind: KeyKind, now: Timestamp) -> NewKey {
    let text = token.reveal();
    NewKey {
        id: ApiKeyId::new(now, rand::random()),
        kind,
        hash: token.hash(),
        token: (kind == KeyKind::Public).then(|| text.to_owned()),
        hint: text[text.len() - 4..].to_owned(),
        named: None,
    }
}

async fn store(
    tx: &mut Tx<'_>,
    name: &str,
    keys: &[NewKey],
    domain: &Domain,
    private_key: &[u8],
    now: Timestamp,
) -> mailwright_store::Result<ProjectNumber> {
    let project = project::create(tx, name, "en", now).await?.number;
    for key in keys {
        api_key::create(tx, project, key, now).await?;
    }
    domain::create(tx, project, domain, private_key, now.plus(CHECK)).await?;
    Ok(project)
}
