//! The layers of the configuration: the defaults, then what a file and variables say.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use toml::{Table, Value};

pub(super) const DEFAULTS: &str = include_str!("../defaults.toml");
const PREFIX: &str = "MAILWRIGHT_";
/// Variables of the test suite, which the program may inherit.
const IGNORED: [&str; 3] = ["MAILWRIGHT_TEST_", "MAILWRIGHT_BENCH_", "MAILWRIGHT_BIN"];

/// The settings of all layers. `variables` are the process's environment variables.
pub(super) fn read(
    file: Option<&PathBuf>,
    variables: impl Iterator<Item = (String, String)>,
) -> Result<Table> {
    let mut table: Table = DEFAULTS.parse().context("the built-in defaults cannot be read")?;
    if let Some(path) = file {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let given: Table = text.parse().with_context(|| format!("{} is not TOML", path.display()))?;
        merge(&mut table, given, "").with_context(|| path.display().to_string())?;
    }
    for (name, value) in variables {
        if name.starts_with(PREFIX) && !IGNORED.iter().any(|prefix| name.starts_with(prefix)) {
            set(&mut table, &name, &value)?;
        }
    }
    Ok(table)
}

/// The value of a setting, whose section stands before a dot.
pub(super) fn value<'t>(table: &'t Table, name: &str) -> Option<&'t Value> {
    match name.split_once('.') {
        Some((area, name)) => table.get(area)?.get(name),
        None => table.get(name),
    }
}

/// The environment variable of a setting.
pub(super) fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.replace('.', "_").to_uppercase())
}

fn merge(into: &mut Table, from: Table, area: &str) -> Result<()> {
    for (name, value) in from {
        match (into.get_mut(&name), value) {
            (None, _) => bail!("{area}{name} is not a setting"),
            (Some(Value::Table(known)), Value::Table(given)) => merge(known, given, &format!("{name}."))?,
            // the value may hold a password
            (Some(slot @ Value::Array(_)), Value::Array(given)) if !given.iter().all(Value::is_table) => {
                bail!("{area}{name} must be {}", kind(slot));
            }
            (Some(slot), value) if !slot.same_type(&value) => {
                bail!("{area}{name} must be {}", kind(slot));
            }
            (Some(slot), value) => *slot = value,
        }
    }
    Ok(())
}

/// What a setting takes, by its default.
fn kind(default: &Value) -> &'static str {
    match default {
        Value::Integer(_) => "a whole number",
        Value::Boolean(_) => "true or false",
        Value::Table(_) => "a section",
        Value::Array(_) => "a list of sections, each with its name in double brackets",
        _ => "a text in quotes",
    }
}

/// Puts a variable's value where it belongs, as the type that the default has. An empty one changes nothing.
fn set(table: &mut Table, variable: &str, text: &str) -> Result<()> {
    let name = variable[PREFIX.len()..].to_lowercase();
    let slot = if table.get(&name).is_some_and(|v| !v.is_table()) {
        table.get_mut(&name)
    } else {
        name.split_once('_').and_then(|(area, rest)| table.get_mut(area)?.as_table_mut()?.get_mut(rest))
    };
    let Some(slot) = slot else {
        bail!("{variable} is not a setting; `mailwright --help` names the documentation of all settings");
    };
    if text.is_empty() {
        return Ok(());
    }
    if slot.is_array() {
        bail!("{variable} cannot be given: {name} stands in the file that --config names");
    }
    *slot = match slot {
        Value::Integer(_) => {
            Value::Integer(text.trim().parse().map_err(|_| anyhow!("{variable} must be {}", kind(slot)))?)
        }
        Value::Boolean(_) => {
            Value::Boolean(text.trim().parse().map_err(|_| anyhow!("{variable} must be {}", kind(slot)))?)
        }
        _ => Value::String(text.to_owned()),
    };
    Ok(())
}
