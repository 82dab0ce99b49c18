//! Contacts from files: a large one by `mailwright import`, and the largest that the API takes.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Bench;
use crate::http::Caller;
use crate::people::{self, People};
use crate::random::{Random, Shuffle};
use crate::report::{Bar, Unit};
use crate::seed::{PROJECT, Site};
use crate::server::Memory;

const CASE: &str = "import";
/// Rows a second.
const RATE_BAR: f64 = 20_000.0;
/// How much more memory the last third of an import may take than the first one.
const GROWTH_BAR: f64 = 1.2;
/// Bytes that an upload may have.
const UPLOAD: usize = 5_000_000;
/// Pause between two looks at an import.
const LOOK: Duration = Duration::from_millis(20);
/// How long the import of an upload may take.
const STUCK: Duration = Duration::from_mins(5);

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let audience = bench.audience().await?;
    // what comes later is not to find twice the contacts
    let site = audience.site.copy(&bench.home, "import").await?;
    from_file(bench, &site).await?;
    site.database.settle().await?;
    upload(bench, &site).await
}

/// As many rows as there are contacts, half of which are about them.
async fn from_file(bench: &mut Bench<'_>, site: &Site) -> Result<()> {
    let rows = site.people.len();
    let file = bench.home.join("people.csv");
    write(&file, Rows::new(&site.people).take(rows))?;
    let path = file.to_str().context("the folder for the data has an odd name")?;
    let output = bench.home.join("import.txt");
    let arguments = ["import", "--project", PROJECT, path];
    let since = Instant::now();
    let mut job = bench.program.spawn(&arguments, &site.database.variables()?, &output)?;
    let meter = bench.meter_of(job.process())?;
    let (mut memory, mut cost): (Vec<Memory>, _) = (Vec::new(), None);
    let status = loop {
        if let Some(status) = job.ended()? {
            break status;
        }
        // a process that has just ended has no memory any more
        memory.extend(job.memory().ok());
        cost = meter.per(rows as u64).ok().flatten().or(cost);
        tokio::time::sleep(LOOK).await;
    };
    let took = since.elapsed().as_secs_f64();
    let said = std::fs::read_to_string(&output)?;
    ensure!(status.success(), "the import ended with {status}: {said}");
    ensure!(said.contains(&format!("Imported {rows} rows")), "the import said: {said}");
    std::fs::remove_file(&file)?;

    let what = format!("rows of a file, {rows} in all, half of them new");
    bench.add(CASE, what, rows as f64 / took, Unit::PerSecond, |line| {
        line.cost(cost).bar(Bar::AtLeast(RATE_BAR))
    });
    let third = memory.len() / 3;
    let most = |samples: &[Memory]| samples.iter().map(|memory| memory.resident).fold(0.0, f64::max);
    let (first, last) = (most(&memory[..third]), most(&memory[memory.len() - third..]));
    bench.add(CASE, "memory of the import at most (VmHWM)", peak(&memory), Unit::Megabytes, |line| line);
    bench.add(
        CASE,
        "memory in its last third / in its first one (VmRSS)",
        last / first,
        Unit::Ratio,
        |line| line.bar(Bar::AtMost(GROWTH_BAR)),
    );
    Ok(())
}

fn peak(memory: &[Memory]) -> f64 {
    memory.last().map_or(f64::NAN, |memory| memory.peak)
}

async fn upload(bench: &mut Bench<'_>, site: &Site) -> Result<()> {
    let mut content = header().into_bytes();
    let mut rows: u32 = 0;
    for row in Rows::new(&site.people) {
        if content.len() + row.len() > UPLOAD {
            break;
        }
        content.extend_from_slice(row.as_bytes());
        rows += 1;
    }
    let (server, _) = bench.start_on(&site.database, &[]).await?;
    let mut caller = Caller::open(server.port(), &site.secret_key).await?;
    let meter = bench.meter(&server)?;
    let since = Instant::now();
    let queued = caller.upload("/contacts/import", "people.csv", &content).await?;
    let answered = since.elapsed().as_secs_f64() * 1000.0;
    let path = format!("/contacts/import/{}", queued["jobId"].as_str().context("there is no job")?);
    let result = loop {
        tokio::time::sleep(LOOK).await;
        let job = caller.call("GET", &path, None).await?;
        if job["state"] == "completed" {
            break job["result"].clone();
        }
        ensure!(job["state"] != "failed" && since.elapsed() < STUCK, "the import does not end: {job}");
    };
    let (took, cost) = (since.elapsed().as_secs_f64(), meter.per(u64::from(rows))?);
    ensure!(result["successCount"] == rows, "{rows} rows were to be imported: {result}");
    let what = format!("upload of {:.1} MB until its answer", content.len() as f64 / 1e6);
    bench.add(CASE, what, answered, Unit::Milliseconds, |line| line);
    let what = format!("rows of the upload, {rows} in all, until it is completed");
    bench.add(CASE, what, f64::from(rows) / took, Unit::PerSecond, |line| {
        line.cost(cost).bar(Bar::AtLeast(RATE_BAR))
    });
    bench.stop(server, "importing an upload").await
}

fn header() -> String {
    "email,subscribed,plan,score,city\n".to_owned()
}

fn write(file: &Path, rows: impl Iterator<Item = String>) -> Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(file)?);
    out.write_all(header().as_bytes())?;
    for row in rows {
        out.write_all(row.as_bytes())?;
    }
    Ok(out.flush()?)
}

/// Rows without end: every other one changes a contact, in no order, and the others create one.
struct Rows<'p> {
    people: &'p People,
    order: Shuffle,
    random: Random,
    number: usize,
}

impl<'p> Rows<'p> {
    fn new(people: &'p People) -> Self {
        Self { people, order: Shuffle::new(people.len(), 7), random: Random::new(7), number: 0 }
    }
}

impl Iterator for Rows<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.number += 1;
        let email = if self.number.is_multiple_of(2) {
            people::email(self.order.next())
        } else {
            self.people.stranger()
        };
        let (subscribed, score) = (!self.number.is_multiple_of(10), self.random.below(1_000_000));
        Some(format!("{email},{subscribed},team,{score},Quito\n"))
    }
}
