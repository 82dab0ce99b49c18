//! `mailwright usage`: how many mails projects had in a month.

use std::borrow::Cow;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use mailwright_app::project::billing::UsageLine;
use mailwright_core::csv;
use mailwright_core::month::Month;

use crate::config::Config;
use crate::printable::printable;
use crate::setup;

/// The titles of the columns.
const TITLES: [&str; 6] = ["month", "project", "name", "category", "mails", "units"];

#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// The month, such as 2026-11; this month when it is left out.
    #[arg(long, value_name = "YYYY-MM", value_parser = month)]
    month: Option<Month>,
    /// Write CSV.
    #[arg(long)]
    csv: bool,
}

fn month(text: &str) -> Result<Month, &'static str> {
    Month::parse(text).ok_or("a month is written as 2026-11")
}

/// Shows how many mails projects had: a line for each project and category with any.
pub(crate) async fn usage(config: &Config, args: &UsageArgs) -> Result<ExitCode> {
    let setup = setup::open_existing(config).await?;
    let app = setup.app(config).await?;
    let month = args.month.unwrap_or_else(|| Month::of(app.clock().now()));
    let mut out = BufWriter::new(std::io::stdout());
    let titles = TITLES.map(Cow::Borrowed);
    if args.csv {
        write_line(&mut out, titles)?;
    }
    app.report_usage(month, |line| {
        if args.csv {
            return write_line(&mut out, cells(month, line));
        }
        let UsageLine { project, category, mails, units } = line;
        let text = format!(
            "{month}  {}  {category:<13}  {mails:>10} mails  {units:>10} units  {}",
            project.id,
            printable(&project.name)
        );
        writeln!(out, "{text}").context(OUTPUT)
    })
    .await?;
    out.flush().context(OUTPUT)?;
    drop(app);
    setup.db.close().await;
    Ok(ExitCode::SUCCESS)
}

const OUTPUT: &str = "cannot write to standard output";

/// The cells of a line.
fn cells(month: Month, line: &UsageLine) -> [Cow<'_, str>; TITLES.len()] {
    // people open the file with programs that take some names for formulas
    let name = csv::no_formula(&line.project.name);
    [
        month.to_string().into(),
        line.project.id.to_string().into(),
        name,
        line.category.as_str().into(),
        line.mails.to_string().into(),
        line.units.to_string().into(),
    ]
}

fn write_line<'c>(out: &mut impl Write, cells: impl IntoIterator<Item = Cow<'c, str>>) -> Result<()> {
    let mut text = String::new();
    csv::write(&mut text, cells);
    out.write_all(text.as_bytes()).context(OUTPUT)
}
