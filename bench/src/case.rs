//! What is measured, and what the measurements share.

mod backlog;
mod campaign;
mod contacts;
mod delivery;
mod erasure;
mod filter;
mod import;
mod insight;
mod noisy;
mod process;
mod projects;
mod retention;
mod scale;
mod segments;
mod send;
mod track;
mod tracking;
mod workflows;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use mailwright_core::time::Clock;

use crate::cpu::{Meter, Processes};
use crate::engine::{Database, Engine, Host};
use crate::history::{self, History};
use crate::http::{Endpoint, get};
use crate::limit;
use crate::load::{self, Length, Measured, Requests};
use crate::options::{Case, Options};
use crate::people::{self, EVENTS, Kind, People, SCORES, STRANGER_DATA};
use crate::random::Random;
use crate::report::{Bar, Line, Report, Unit, progress};
use crate::seed::{self, Site};
use crate::server::{Program, Server};
use crate::stats::Summary;
use crate::year::{self, YEAR, Year};

/// Connections that a load is measured at.
const CONNECTIONS: [usize; 4] = [1, 16, 64, 512];
/// The number of connections that bars are about.
const JUDGED: usize = 64;
/// Events of a year that bars are about.
const FULL_YEAR: usize = 10_000_000;

/// The measurements on one engine.
pub(crate) struct Bench<'b> {
    pub(crate) options: &'b Options,
    pub(crate) report: &'b mut Report,
    /// The large project; without contacts where no case is measured on it.
    pub(crate) site: Site,
    /// The folder of this engine's databases.
    pub(crate) home: PathBuf,
    program: &'b Program,
    host: &'b Host,
    limit: Option<Arc<Database>>,
    audience: Option<Arc<Audience>>,
    year: Option<Arc<Year>>,
    peaks: Vec<(&'static str, f64)>,
    /// The first process of each database server.
    database_processes: Vec<u32>,
}

/// A copy of the large project whose contacts have a past.
#[derive(Debug)]
pub(crate) struct Audience {
    pub(crate) site: Site,
    pub(crate) history: History,
}

/// Measures everything that is wanted on one engine.
pub(crate) async fn measure(
    options: &Options,
    program: &Program,
    host: &Host,
    folder: &std::path::Path,
    report: &mut Report,
) -> Result<()> {
    let home = folder.join(host.engine().to_string());
    std::fs::create_dir_all(&home)?;
    let site = seed::site(program, host, &home, "large", options.contacts()).await?;
    let database_processes = site.database.server_processes().await?;
    let mut bench = Bench {
        options,
        report,
        site,
        home,
        program,
        host,
        limit: None,
        audience: None,
        year: None,
        peaks: Vec::new(),
        database_processes,
    };
    if bench.site.people.len() > 0 {
        bench.add_size("contact", bench.site.bytes, bench.site.people.len() as u64);
    }
    // those that write come later, those that write most at the end
    let cases = [
        Case::Process,
        Case::Contacts,
        Case::Filter,
        Case::Import,
        Case::Campaign,
        Case::Segments,
        Case::Workflows,
        Case::Track,
        Case::Scale,
        Case::Delivery,
        Case::Backlog,
        Case::Send,
        Case::Tracking,
        Case::Noisy,
        Case::Projects,
        Case::Insight,
        Case::Erasure,
        Case::Retention,
    ];
    for case in cases.into_iter().filter(|case| options.wants(*case)) {
        let outcome = match case {
            Case::Process => process::run(&mut bench).await,
            Case::Contacts => contacts::run(&mut bench).await,
            Case::Filter => filter::run(&mut bench).await,
            Case::Import => import::run(&mut bench).await,
            Case::Campaign => campaign::run(&mut bench).await,
            Case::Segments => segments::run(&mut bench).await,
            Case::Workflows => workflows::run(&mut bench).await,
            Case::Track => track::run(&mut bench).await,
            Case::Scale => scale::run(&mut bench).await,
            Case::Delivery => delivery::run(&mut bench).await,
            Case::Backlog => backlog::run(&mut bench).await,
            Case::Send => send::run(&mut bench).await,
            Case::Tracking => tracking::run(&mut bench).await,
            Case::Noisy => noisy::run(&mut bench).await,
            Case::Projects => projects::run(&mut bench).await,
            Case::Insight => insight::run(&mut bench).await,
            Case::Erasure => erasure::run(&mut bench).await,
            Case::Retention => retention::run(&mut bench).await,
        };
        outcome.with_context(|| format!("{} {case:?}", bench.engine()))?;
    }
    for (name, peak) in std::mem::take(&mut bench.peaks) {
        bench.add("memory", format!("peak during {name} (VmHWM)"), peak, Unit::Megabytes, |line| line);
    }
    Ok(())
}

impl Bench<'_> {
    pub(crate) fn engine(&self) -> Engine {
        self.host.engine()
    }

    /// Adds a figure to the report.
    pub(crate) fn add(
        &mut self,
        case: &'static str,
        what: impl Into<String>,
        value: f64,
        unit: Unit,
        more: impl FnOnce(Line) -> Line,
    ) {
        self.report.add(more(Line::new(self.engine(), case, what, value, unit)));
    }

    /// Adds how many times the median the 99th percentile of a load is, which may be so much.
    fn add_tail(&mut self, case: &'static str, of: &str, latency: Summary, most: f64) {
        self.add(case, format!("p99 / p50 at {of}"), latency.p99 / latency.p50, Unit::Ratio, |line| {
            line.bar(Bar::AtMost(most))
        });
    }

    /// Adds what a row takes in the database, with its indexes and all that is kept for it.
    fn add_size(&mut self, of: &str, bytes: u64, rows: u64) {
        let each = bytes as f64 / rows as f64;
        self.add("size", format!("on disk for each {of}, {rows} of them"), each, Unit::Bytes, |line| line);
    }

    /// Starts a server on the large project's database.
    async fn start(&self, more: &[(&'static str, String)]) -> Result<(Server, Duration)> {
        self.start_on(&self.site.database, more).await
    }

    async fn start_on(
        &self,
        database: &Database,
        more: &[(&'static str, String)],
    ) -> Result<(Server, Duration)> {
        let mut variables = database.variables()?;
        variables.extend(more.iter().cloned());
        Server::start(self.program, &self.home, &variables).await
    }

    /// Stops a server and notes how much memory it took at most.
    async fn stop(&mut self, server: Server, name: &'static str) -> Result<()> {
        let memory = server.stop().await?;
        match self.peaks.iter_mut().find(|(known, _)| *known == name) {
            Some((_, peak)) => *peak = peak.max(memory.peak),
            None => self.peaks.push((name, memory.peak)),
        }
        Ok(())
    }

    /// The copy of the large project's database that limits are measured on; made when it is asked for, so no server
    /// may be running then.
    pub(crate) async fn limit_database(&mut self) -> Result<Arc<Database>> {
        if let Some(database) = &self.limit {
            return Ok(Arc::clone(database));
        }
        let database = Arc::new(limit::copy(self).await?);
        self.limit = Some(Arc::clone(&database));
        Ok(database)
    }

    /// The large project with events, in a database of its own, so that what does not look at events is measured without
    /// them. Made when it is asked for, so no server may be running on the large project then.
    async fn audience(&mut self) -> Result<Arc<Audience>> {
        if let Some(audience) = &self.audience {
            return Ok(Arc::clone(audience));
        }
        let site = self.site.copy(&self.home, "audience").await?;
        let (before, events) = (site.database.bytes().await?, self.options.events());
        let history = history::store(&site, events).await?;
        self.add_size("event", site.database.bytes().await? - before, events as u64);
        let audience = Arc::new(Audience { site, history });
        self.audience = Some(Arc::clone(&audience));
        Ok(audience)
    }

    /// The large project with a year of events until now, in a database of its own. Made when it is asked for, so no server
    /// may be running on the large project then.
    async fn year(&mut self) -> Result<Arc<Year>> {
        if let Some(year) = &self.year {
            return Ok(Arc::clone(year));
        }
        let count = self.options.year();
        if count < FULL_YEAR {
            self.report.note(format!("{}: a year has {count} events instead of {FULL_YEAR}", self.engine()));
        }
        let site = self.site.copy(&self.home, "year").await?;
        let year = Arc::new(year::store(site, count, Clock::system().now().minus(YEAR)).await?);
        self.year = Some(Arc::clone(&year));
        Ok(year)
    }

    /// Puts a load on a server for the time of one measurement.
    async fn load(
        &self,
        server: &Server,
        connections: usize,
        requests: impl Fn(usize) -> Requests + Send + 'static,
    ) -> Result<Measured> {
        let meter = self.meter(server)?;
        let mut measured = load::run(server.port(), connections, self.length(), requests).await?;
        measured.cost = meter.per(measured.answered)?;
        complain(server, &measured);
        Ok(measured)
    }

    /// The length of one measurement.
    fn length(&self) -> Length {
        Length::For { warm_up: self.options.warm_up(), measured: self.options.measured() }
    }

    /// Counts from now on the processor time of a server and of its database.
    fn meter(&self, server: &Server) -> Result<Meter> {
        self.meter_of(server.process())
    }

    /// The same of another process of the program.
    fn meter_of(&self, program: u32) -> Result<Meter> {
        Meter::start(Processes { program, database: self.database_processes.clone() })
    }

    /// The HTTP limit: an endpoint that does nothing, at the same numbers of connections.
    async fn http_limit(&mut self, server: &Server, case: &'static str) -> Result<()> {
        let length = Length::For {
            warm_up: self.options.warm_up() / 2,
            measured: self.options.measured().min(Duration::from_secs(3)),
        };
        for connections in CONNECTIONS {
            let health = get("/health", None);
            let requests = move |_| -> Requests {
                let health = health.clone();
                Box::new(move |out| out.extend_from_slice(&health))
            };
            let measured = load::run(server.port(), connections, length.clone(), requests).await?;
            let what = format!("limit: HTTP alone (/health), {}", plural(connections));
            self.add(case, what, measured.per_second, Unit::PerSecond, |line| {
                line.latency(measured.latency).errors(measured.errors)
            });
        }
        Ok(())
    }
}

/// Says what went wrong, where something did.
fn complain(server: &Server, measured: &Measured) {
    if let Some(error) = &measured.first_error {
        progress(format_args!("{} requests failed, the first with: {error}", measured.errors));
        progress(format_args!("the end of the server's log:\n{}", server.last_words()));
    }
}

fn plural(connections: usize) -> String {
    format!("{connections} connection{}", if connections == 1 { "" } else { "s" })
}

/// Calls of `/v1/track` about a project's contacts, as [`Kind`] has them.
fn track_requests(site: &Site) -> impl Fn(usize) -> Requests + Send + 'static {
    track_requests_of(site, None)
}

/// The same, all of one kind where one is given.
fn track_requests_of(site: &Site, kind: Option<Kind>) -> impl Fn(usize) -> Requests + Send + 'static {
    let endpoint = Endpoint::post("/v1/track", &site.public_key);
    let people = Arc::clone(&site.people);
    move |connection| {
        let (endpoint, people) = (endpoint.clone(), Arc::clone(&people));
        let mut random = Random::new(connection as u64 + 1);
        Box::new(move |out| {
            let kind = kind.unwrap_or_else(|| Kind::of(random.next()));
            endpoint.write(track_body(&people, kind, &mut random).as_bytes(), out);
        })
    }
}

fn track_body(people: &People, kind: Kind, random: &mut Random) -> String {
    let event = EVENTS[random.below(EVENTS.len())];
    let known = people::email(random.below(people.len()));
    match kind {
        Kind::Known => format!(r#"{{"email":"{known}","event":"{event}"}}"#),
        Kind::Changed => {
            let score = SCORES + random.below(1_000_000_000);
            format!(r#"{{"email":"{known}","event":"{event}","data":{{"score":{score}}}}}"#)
        }
        Kind::New => {
            format!(r#"{{"email":"{}","event":"{event}","data":{STRANGER_DATA}}}"#, people.stranger())
        }
    }
}
