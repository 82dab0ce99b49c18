//! A look at a file before it is imported. Nothing is stored.

use mailwright_core::csv::{Read, Reader};
use mailwright_core::import::{GUESSED_FROM, Look, Mapping, RowFailure};
use mailwright_core::project::Project;
use mailwright_store::audience::contact_field;
use mailwright_store::body;

use super::chunks::{NO_ROWS, header};
use super::upload::check_utf8;
use crate::App;
use crate::error::{Error, Result};

/// Most looks at files of a project at once in a process.
pub const AT_ONCE: usize = 2;

/// What a file would become.
#[derive(Debug)]
pub struct Preview {
    /// The columns, the first rows, and the counts.
    pub look: Look,
    /// The custom fields that the project does not have yet, by name.
    pub new_fields: Vec<String>,
}

impl App {
    /// Looks at an uploaded file. Without a mapping, the columns are guessed.
    pub async fn preview_import(
        &self,
        project: &Project,
        file: Vec<u8>,
        mapping: Option<Mapping>,
    ) -> Result<Preview> {
        let number = project.number;
        let place = self.0.audience.import_previews.take(number).ok_or_else(|| {
            Error::QueueFull(format!(
                "{AT_ONCE} files of this project are being looked at already. Try again when one of them is done."
            ))
        })?;
        if let Some(mapping) = &mapping {
            check_mapping(&file, mapping)?;
        }
        // the work goes on when the client goes away, and so does its place
        let working = tokio::task::spawn_blocking(move || {
            let _place = place;
            look(&file, mapping.as_ref())
        });
        let look = working.await.map_err(|e| Error::Internal(format!("a file was not looked at: {e}")))?;
        let look = look.map_err(Error::BadRequest)?;
        let names = look.fields.clone();
        let known = self.read(body!(async |rx| contact_field::known(rx, number, &names).await)).await?;
        let new_fields = look.fields.iter().filter(|name| !known.contains(*name)).cloned().collect();
        Ok(Preview { look, new_fields })
    }
}

/// Refuses a mapping that does not suit a file. A file whose header cannot be read is refused by whoever reads it.
pub(super) fn check_mapping(file: &[u8], mapping: &Mapping) -> Result<()> {
    if mapping.is_empty() {
        return Ok(());
    }
    match header(file, |names| Ok(mapping.check(names))) {
        Ok((issues, _)) if !issues.is_empty() => Err(Error::Invalid(issues)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Reads a file from one end to the other. The error says what is wrong with it as a whole.
fn look(content: &[u8], mapping: Option<&Mapping>) -> std::result::Result<Look, String> {
    check_utf8(content)?;
    let mut first_rows = Vec::new();
    each_row(content, |_, cells| {
        if let Ok(cells) = cells {
            first_rows.push(cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>());
        }
        first_rows.len() < GUESSED_FROM
    });
    let first: Vec<Vec<&str>> =
        first_rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    let (mut look, _) = header(content, |names| Look::new(names, &first, mapping))?;
    each_row(content, |line, cells| {
        match cells {
            Ok(cells) => look.row(line, &cells),
            Err(error) => look.fail(RowFailure { row: line, email: String::new(), error }),
        }
        true
    });
    if look.total == 0 { Err(NO_ROWS.to_owned()) } else { Ok(look) }
}

/// Shows the records behind the header, each with the line on which it begins, until `see` has seen enough.
fn each_row(content: &[u8], mut see: impl FnMut(u64, std::result::Result<Vec<&str>, String>) -> bool) {
    let (mut reader, mut rest, mut is_header, mut is_over) = (Reader::default(), content, true, false);
    loop {
        if !is_over {
            let (taken, found) = reader.read(rest);
            rest = &rest[taken..];
            is_over = found != Read::Record;
        }
        if is_over && reader.finish() != Read::Record {
            return;
        }
        if std::mem::take(&mut is_header) {
            continue;
        }
        let cells = reader.cells().map_err(|fault| fault.to_string());
        // the whole file is UTF-8
        let cells =
            cells.map(|cells| cells.map(|cell| std::str::from_utf8(cell).unwrap_or_default()).collect());
        if !see(reader.line(), cells) {
            return;
        }
    }
}
