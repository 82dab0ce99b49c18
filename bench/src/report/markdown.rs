//! What was measured as tables for `docs/performance.md`: a table for each case, both engines side by side.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{Bar, Line, Report};
use crate::cpu::Cost;
use crate::engine::Engine;
use crate::machine;

const HEAD: &str = "| | SQLite | p50 / p99 ms | processor | PostgreSQL | p50 / p99 ms | processor | bar |\n\
                    |---|---:|---:|---:|---:|---:|---:|---|\n";

/// The figures of a case that have the same name.
struct Row<'a> {
    case: &'static str,
    what: &'a str,
    sqlite: Vec<&'a Line>,
    postgres: Vec<&'a Line>,
}

/// The machine, the tables and the notes.
pub(super) fn show(report: &Report, facts: &Map<String, Value>) -> String {
    let mut out = String::from("| machine | |\n|---|---|\n");
    for (name, value) in facts {
        let _ = writeln!(out, "| {name} | {} |", machine::text(value));
    }
    let mut case = "";
    for row in rows(&report.lines) {
        if row.case != case {
            case = row.case;
            let _ = write!(out, "\n### {case}\n\n{HEAD}");
        }
        out.push_str(&row.show());
    }
    if !report.notes.is_empty() {
        out.push_str("\n### Notes\n\n");
        for note in &report.notes {
            let _ = writeln!(out, "- {note}");
        }
    }
    out
}

/// The figures by case and name, in the order in which they were measured first.
fn rows(lines: &[Line]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for line in lines {
        let known = rows.iter().position(|row| row.case == line.case && row.what == line.what);
        let at = known.unwrap_or_else(|| {
            // beside its case, which the other engine may have begun
            let end = rows.iter().rposition(|row| row.case == line.case).map_or(rows.len(), |last| last + 1);
            rows.insert(
                end,
                Row { case: line.case, what: &line.what, sqlite: Vec::new(), postgres: Vec::new() },
            );
            end
        });
        match line.engine {
            Engine::Sqlite => rows[at].sqlite.push(line),
            Engine::Postgres => rows[at].postgres.push(line),
        }
    }
    rows
}

impl Row<'_> {
    fn show(&self) -> String {
        let mut out = format!("| {} ", self.what.replace('|', "\\|"));
        for lines in [&self.sqlite, &self.postgres] {
            let Some(line) = lines.first() else {
                out.push_str("| | | ");
                continue;
            };
            let latency = line
                .latency
                .as_ref()
                .map(|all| format!("{:.2} / {:.2}", all.p50, all.p99))
                .unwrap_or_default();
            let cost = line.cost.map(Cost::show).unwrap_or_default();
            let _ = write!(out, "| {} | {latency} | {cost} ", line.unit.show(line.value));
        }
        let bars: Vec<_> = self.sqlite.iter().chain(&self.postgres).filter_map(|line| bar(line)).collect();
        let _ = writeln!(out, "| {} |", bars.join("; "));
        out
    }
}

/// What a figure has to reach, and whether it does.
fn bar(line: &Line) -> Option<String> {
    let reached = if line.verdict()? { "reached" } else { "**missed**" };
    let engine = line.engine;
    Some(match (line.bar?, &line.limit) {
        (Bar::OfLimit(part), limit) => {
            let name = limit.as_ref().map_or("the limit", |(name, _)| name);
            let ratio = line.ratio().unwrap_or_default();
            format!("{engine}: {ratio:.2} of {name}, at least {part:.2}: {reached}")
        }
        (Bar::AtMost(most), _) => format!("{engine}: at most {}: {reached}", line.unit.show(most)),
        (Bar::AtLeast(least), _) => format!("{engine}: at least {}: {reached}", line.unit.show(least)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Unit;
    use super::*;

    #[test]
    fn engines_stand_side_by_side() {
        let mut report = Report::default();
        for (engine, value) in [(Engine::Sqlite, 1000.0), (Engine::Postgres, 500.0)] {
            report.add(
                Line::new(engine, "track", "64 connections", value, Unit::PerSecond)
                    .limit("bare", 1000.0)
                    .bar(Bar::OfLimit(0.6)),
            );
            report.add(Line::new(engine, "memory", "peak", 12.0, Unit::Megabytes));
        }
        let text = show(&report, &Map::new());
        assert!(
            text.contains(
                "| 64 connections | 1,000 /s |  |  | 500 /s |  |  | sqlite: 1.00 of bare, at least 0.60: reached; \
                 postgres: 0.50 of bare, at least 0.60: **missed** |"
            ),
            "{text}"
        );
        assert_eq!(text.matches("### track").count(), 1, "{text}");
        assert!(text.contains("| peak | 12.00 MB |  |  | 12.00 MB |  |  |  |"), "{text}");
    }
}
