//! `mailwright export`: every contact of a project, as CSV or NDJSON.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use mailwright_app::App;
use mailwright_core::contact::Contact;
use mailwright_core::csv;
use mailwright_core::project::Project;
use mailwright_store::audience::contact::{List, Sort};
use serde_json::{Value, json};

use crate::config::Config;
use crate::setup;

/// Contacts read at a time.
const PAGE: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A column for each field.
    Csv,
    /// One JSON object a line.
    Ndjson,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Id of the project, or the name with which `bootstrap` created it, if no other project has that name.
    #[arg(long)]
    project: String,
    /// Format of the output.
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,
    /// File to write; an existing file is replaced. Standard output when left out.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write an apostrophe before texts of a CSV file that spreadsheets would run as formulas: those that begin with
    /// =, +, -, @, a tab or a line end. An import of the file keeps the apostrophe as part of the text.
    #[arg(long)]
    escape_formulas: bool,
}

/// How contacts are written.
#[derive(Debug, Clone, Copy)]
struct Style {
    format: Format,
    escape_formulas: bool,
}

/// Writes the contacts, oldest first. A file appears when it is complete.
pub(crate) async fn export(config: &Config, args: ExportArgs) -> Result<ExitCode> {
    let setup = setup::open_existing(config).await?;
    let app = setup.app(config).await?;
    let project = app.find_project(&args.project).await?;
    let style = Style { format: args.format, escape_formulas: args.escape_formulas };
    match &args.output {
        None => write(&app, &project, style, std::io::stdout()).await?,
        Some(path) => {
            let mut draft = path.as_os_str().to_owned();
            draft.push(".partial");
            let written = write_file(&app, &project, style, Path::new(&draft), path).await;
            if written.is_err() {
                let _ = std::fs::remove_file(&draft);
            }
            written?;
        }
    }
    drop(app);
    setup.db.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn write_file(app: &App, project: &Project, style: Style, draft: &Path, path: &Path) -> Result<()> {
    let cannot_write = || format!("cannot write {}", path.display());
    let _ = std::fs::remove_file(draft);
    let file = setup::create_private(draft).with_context(cannot_write)?;
    let kept = file.try_clone().with_context(cannot_write)?;
    write(app, project, style, file).await?;
    File::sync_all(&kept).and_then(|()| std::fs::rename(draft, path)).with_context(cannot_write)
}

async fn write(app: &App, project: &Project, style: Style, out: impl Write) -> Result<()> {
    let mut out = BufWriter::new(out);
    let fields = app.contact_fields(project).await?;
    let keys: Vec<String> = fields.custom.into_iter().map(|field| field.name).collect();
    let mut text = String::new();
    if style.format == Format::Csv {
        let standard = ["email", "subscribed", "createdAt", "updatedAt"].into_iter();
        let titles = standard.chain(keys.iter().map(String::as_str)).map(Cow::Borrowed);
        csv::write(&mut text, titles.map(|title| style.text(title)));
    }
    let mut after = None;
    loop {
        let list = List {
            limit: PAGE,
            after,
            search: None,
            holding: None,
            subscribed: None,
            sort: Sort::CreatedAt,
            descending: false,
        };
        let page = app.contacts(project, list).await?;
        for contact in &page.contacts {
            match style.format {
                Format::Csv => row(contact, &keys, style, &mut text),
                Format::Ndjson => text.push_str(&line(contact)),
            }
        }
        out.write_all(text.as_bytes()).context("cannot write the export")?;
        text.clear();
        after = page.contacts.last().map(|last| last.id);
        if !page.has_more {
            return out.flush().context("cannot write the export");
        }
    }
}

impl Style {
    /// A text as a cell. People who see it may not have written it: the public key stores data.
    fn text(self, text: Cow<'_, str>) -> Cow<'_, str> {
        if !self.escape_formulas {
            return text;
        }
        match csv::no_formula(&text) {
            Cow::Owned(escaped) => Cow::Owned(escaped),
            Cow::Borrowed(_) => text,
        }
    }

    /// A value as a cell. What is no text cannot begin a formula.
    fn value(self, value: &Value) -> Cow<'_, str> {
        if value.is_string() { self.text(cell(value)) } else { cell(value) }
    }
}

fn row(contact: &Contact, keys: &[String], style: Style, text: &mut String) {
    let standard = [
        style.text(Cow::Borrowed(contact.email.as_str())),
        Cow::Borrowed(if contact.subscribed { "true" } else { "false" }),
        Cow::Owned(contact.created_at.to_string()),
        Cow::Owned(contact.updated_at.to_string()),
    ];
    let custom =
        keys.iter().map(|key| contact.data.get(key).map_or(Cow::Borrowed(""), |value| style.value(value)));
    csv::write(text, standard.into_iter().chain(custom));
}

/// A value as a cell. A number is written without an exponent, as it is shown in mails and read by an import.
fn cell(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        Value::Number(number) => Cow::Owned(match (number.is_f64(), number.as_f64()) {
            (true, Some(float)) => float.to_string(),
            _ => number.to_string(),
        }),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => Cow::Owned(value.to_string()),
    }
}

fn line(contact: &Contact) -> String {
    let object = json!({
        "id": contact.id,
        "email": contact.email,
        "subscribed": contact.subscribed,
        "data": contact.data,
        "createdAt": contact.created_at,
        "updatedAt": contact.updated_at,
    });
    format!("{object}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_cells() {
        for (value, expected) in [
            (json!(null), ""),
            (json!("a,b"), "a,b"),
            (json!(true), "true"),
            (json!(42), "42"),
            (json!(3.25), "3.25"),
            (json!(0.000_000_1), "0.0000001"),
            (json!([1, "x"]), "[1,\"x\"]"),
        ] {
            assert_eq!(cell(&value), expected);
        }
    }

    #[test]
    fn formulas_are_texts_where_that_is_wanted() {
        let style = |escape_formulas| Style { format: Format::Csv, escape_formulas };
        for (value, expected) in [
            (json!("=HYPERLINK(\"x\")"), "'=HYPERLINK(\"x\")"),
            (json!("+1"), "'+1"),
            (json!("-1"), "'-1"),
            (json!("@SUM(A1)"), "'@SUM(A1)"),
            (json!("\tx"), "'\tx"),
            (json!("\rx"), "'\rx"),
            (json!("a=b"), "a=b"),
            (json!(-1), "-1"),
            (json!(""), ""),
        ] {
            assert_eq!(style(true).value(&value), expected);
            assert_eq!(style(false).value(&value), cell(&value));
        }
    }
}
