//! What was measured, for people and for programs.

mod markdown;

use std::fmt::{self, Write as _};

use serde_json::{Map, Value, json};

use crate::cpu::Cost;
use crate::engine::Engine;
use crate::stats::Summary;

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    PerSecond,
    Microseconds,
    Milliseconds,
    Seconds,
    Megabytes,
    Bytes,
    /// One figure divided by another.
    Ratio,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::PerSecond => "/s",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Megabytes => "MB",
            Self::Bytes => "B",
            Self::Ratio => "x",
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::PerSecond if value >= 100.0 => format!("{} /s", grouped(value)),
            Self::Ratio => format!("{value:.2}"),
            _ => format!("{value:.2} {}", self.name()),
        }
    }
}

/// What a figure has to reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bar {
    /// At least this part of the limit.
    OfLimit(f64),
    /// At most this, in the figure's unit.
    AtMost(f64),
    /// At least this, in the figure's unit.
    AtLeast(f64),
}

/// One figure.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    engine: Engine,
    case: &'static str,
    what: String,
    value: f64,
    unit: Unit,
    latency: Option<Summary>,
    cost: Option<Cost>,
    limit: Option<(String, f64)>,
    bar: Option<Bar>,
    errors: u64,
}

impl Line {
    pub(crate) fn new(
        engine: Engine,
        case: &'static str,
        what: impl Into<String>,
        value: f64,
        unit: Unit,
    ) -> Self {
        Self {
            engine,
            case,
            what: what.into(),
            value,
            unit,
            latency: None,
            cost: None,
            limit: None,
            bar: None,
            errors: 0,
        }
    }

    /// Adds the latencies that belong to the figure.
    pub(crate) fn latency(self, latency: Summary) -> Self {
        Self { latency: Some(latency), ..self }
    }

    /// Adds the processor time of each operation that the figure counts.
    pub(crate) fn cost(self, cost: Option<Cost>) -> Self {
        Self { cost, ..self }
    }

    /// Compares the figure with a limit of the machine.
    pub(crate) fn limit(self, name: &str, value: f64) -> Self {
        Self { limit: Some((name.to_owned(), value)), ..self }
    }

    /// Says what the figure has to reach.
    pub(crate) fn bar(self, bar: Bar) -> Self {
        Self { bar: Some(bar), ..self }
    }

    /// Notes requests that failed. With any, no bar is reached.
    pub(crate) fn errors(self, errors: u64) -> Self {
        Self { errors, ..self }
    }

    fn ratio(&self) -> Option<f64> {
        self.limit.as_ref().map(|(_, limit)| self.value / limit)
    }

    /// Whether the bar is reached; `None` without one.
    fn verdict(&self) -> Option<bool> {
        let reached = match self.bar? {
            Bar::OfLimit(part) => self.ratio().is_some_and(|ratio| ratio >= part),
            Bar::AtMost(most) => self.value <= most,
            Bar::AtLeast(least) => self.value >= least,
        };
        Some(reached && self.errors == 0)
    }

    fn cells(&self) -> [String; 10] {
        let milliseconds = |pick: fn(&Summary) -> f64| {
            self.latency.as_ref().map(|latency| format!("{:.2}", pick(latency))).unwrap_or_default()
        };
        let bar = match self.bar {
            None => String::new(),
            Some(Bar::OfLimit(part)) => format!(">= {part:.2}"),
            Some(Bar::AtMost(most)) => format!("<= {}", self.unit.show(most)),
            Some(Bar::AtLeast(least)) => format!(">= {}", self.unit.show(least)),
        };
        let verdict = match (self.verdict(), self.errors) {
            (_, errors) if errors > 0 => format!("{errors} ERRORS"),
            (Some(true), _) => "pass".to_owned(),
            (Some(false), _) => "MISSED".to_owned(),
            (None, _) => String::new(),
        };
        [
            format!("{} {}", self.engine, self.case),
            self.what.clone(),
            self.unit.show(self.value),
            milliseconds(|latency| latency.p50),
            milliseconds(|latency| latency.p99),
            self.cost.map(Cost::show).unwrap_or_default(),
            self.limit
                .as_ref()
                .map(|(name, value)| format!("{} ({name})", self.unit.show(*value)))
                .unwrap_or_default(),
            self.ratio().map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
            bar,
            verdict,
        ]
    }

    fn json(&self) -> Value {
        json!({
            "engine": self.engine.to_string(),
            "case": self.case,
            "what": self.what,
            "value": self.value,
            "unit": self.unit.name(),
            "p50Ms": self.latency.map(|latency| latency.p50),
            "p99Ms": self.latency.map(|latency| latency.p99),
            "programUs": self.cost.map(|cost| cost.program),
            "databaseUs": self.cost.and_then(|cost| cost.database),
            "limit": self.limit.as_ref().map(|(name, value)| json!({ "name": name, "value": value })),
            "ratio": self.ratio(),
            "bar": self.bar.map(|bar| match bar {
                Bar::OfLimit(part) => json!({ "ratioAtLeast": part }),
                Bar::AtMost(most) => json!({ "valueAtMost": most }),
                Bar::AtLeast(least) => json!({ "valueAtLeast": least }),
            }),
            "pass": self.verdict(),
            "errors": self.errors,
        })
    }
}

/// Everything measured in a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    lines: Vec<Line>,
    notes: Vec<String>,
}

impl Report {
    /// Adds a figure, and shows it as progress.
    pub(crate) fn add(&mut self, line: Line) {
        let [case, what, value, p50, p99, cost, _, ratio, bar, verdict] = line.cells();
        let mut text = format!("{case}: {what}: {value}");
        for (name, cell) in
            [("p50", p50), ("p99", p99), ("processor", cost), ("ratio", ratio), ("bar", bar), ("", verdict)]
        {
            if !cell.is_empty() {
                let _ = write!(text, "  {name} {cell}");
            }
        }
        progress(format_args!("{text}"));
        self.lines.push(line);
    }

    /// Adds something that a reader of the results should know.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        progress(format_args!("note: {note}"));
        self.notes.push(note);
    }

    /// Bars that were not reached.
    pub(crate) fn missed(&self) -> usize {
        self.lines.iter().filter(|line| line.verdict() == Some(false) || line.errors > 0).count()
    }

    /// The whole report for programs.
    pub(crate) fn json(&self, machine: &Map<String, Value>) -> Value {
        let lines: Vec<_> = self.lines.iter().map(Line::json).collect();
        json!({ "machine": machine, "missed": self.missed(), "notes": self.notes, "lines": lines })
    }

    /// The whole report as Markdown.
    pub(crate) fn markdown(&self, machine: &Map<String, Value>) -> String {
        markdown::show(self, machine)
    }
}

/// The table, the notes and the sum.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["", "what", "figure", "p50 ms", "p99 ms", "processor", "limit", "ratio", "bar", ""]
            .map(str::to_owned);
        let rows: Vec<_> = std::iter::once(head).chain(self.lines.iter().map(Line::cells)).collect();
        let mut widths = [0; 10];
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        let mut case = "";
        for row in &rows {
            if row[0] != case {
                writeln!(f)?;
                case = &row[0];
            }
            let mut text = String::new();
            for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
                // stats stand right, words left
                let _ = match column {
                    0 | 1 | 6 | 9 => write!(text, "{cell:<width$}  "),
                    _ => write!(text, "{cell:>width$}  "),
                };
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        writeln!(f)?;
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        let judged = self.lines.iter().filter(|line| line.verdict().is_some()).count();
        write!(f, "{judged} bars, {} missed", self.missed())
    }
}

/// `1234567` as `1,234,567`.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Says on standard error what goes on.
#[expect(clippy::print_stderr, reason = "this is how a program of the command line shows progress")]
pub(crate) fn progress(text: fmt::Arguments<'_>) {
    eprintln!("  {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(value: f64, unit: Unit) -> Line {
        Line::new(Engine::Sqlite, "track", "64 connections", value, unit)
    }

    #[test]
    fn bars_are_judged() {
        let track = line(6000.0, Unit::PerSecond).limit("bare", 10_000.0).bar(Bar::OfLimit(0.6));
        assert_eq!(track.verdict(), Some(true));
        assert_eq!(track.clone().errors(1).verdict(), Some(false));
        assert_eq!(track.bar(Bar::OfLimit(0.61)).verdict(), Some(false));
        assert_eq!(line(5.1, Unit::Milliseconds).bar(Bar::AtMost(5.0)).verdict(), Some(false));
        assert_eq!(line(0.9, Unit::Ratio).bar(Bar::AtLeast(0.8)).verdict(), Some(true));
        assert_eq!(line(1.0, Unit::Seconds).verdict(), None);
    }

    #[test]
    fn the_table_lines_up() {
        let mut report = Report::default();
        report.add(line(1_234_567.0, Unit::PerSecond).limit("bare", 2e6).bar(Bar::OfLimit(0.6)));
        let text = report.to_string();
        assert!(
            text.contains("1,234,567 /s") && text.contains("0.62") && text.contains("1 bars, 0 missed"),
            "{text}"
        );
    }
}
