//! The table of rules, read once.

use std::collections::HashMap;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::class::BounceClass;
use super::codes::{Codes, Reply};
use super::pattern::{self, Part, Words};

/// The rules, and where their texts are found.
static TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(rules()));

/// A row of the table.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) class: BounceClass,
    /// The conditions as the row has them, with a space for the tab.
    pub(super) name: String,
    codes: Codes,
    text: Option<&'static str>,
    /// The numbers of the parts of the text.
    parts: Vec<usize>,
}

impl Rule {
    fn read(line: &'static str) -> Option<Self> {
        let mut columns = line.split('\t');
        let class = BounceClass::from_name(columns.next()?)?;
        let codes = columns.next()?;
        let text = columns.next();
        if columns.next().is_some() {
            return None;
        }
        let name = [codes, text.unwrap_or_default()].join(" ");
        Some(Self {
            class,
            name: name.trim_start_matches("- ").trim_end().to_owned(),
            codes: Codes::read(codes)?,
            text,
            parts: Vec::new(),
        })
    }
}

/// The rows in their order.
pub(super) fn rules() -> Vec<Rule> {
    let rows = include_str!("rules.tsv").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| Rule::read(row).expect("a test reads the table")).collect()
}

struct Table {
    rules: Vec<Rule>,
    /// Finds all texts of all parts.
    texts: AhoCorasick,
    /// The parts that have each of them.
    of_text: Vec<Vec<usize>>,
    /// The parts of all rules, each once.
    parts: Vec<Part>,
    /// The rules whose longest part it is.
    of_part: Vec<Vec<usize>>,
    /// The rules that have no text.
    without_text: Vec<usize>,
}

impl Table {
    fn new(mut rules: Vec<Rule>) -> Self {
        let mut texts: Vec<&str> = Vec::new();
        let mut of_text: Vec<Vec<usize>> = Vec::new();
        let mut parts: Vec<Part> = Vec::new();
        let mut number_of_text = HashMap::new();
        let mut number_of_part = HashMap::new();
        for rule in &mut rules {
            let numbers = rule.text.into_iter().flat_map(pattern::parts).map(|part| {
                *number_of_part.entry(part).or_insert_with(|| {
                    let text = *number_of_text.entry(part.text).or_insert_with(|| {
                        texts.push(part.text);
                        of_text.push(Vec::new());
                        texts.len() - 1
                    });
                    parts.push(part);
                    of_text[text].push(parts.len() - 1);
                    parts.len() - 1
                })
            });
            rule.parts = numbers.collect();
        }
        let mut of_part = vec![Vec::new(); parts.len()];
        let mut without_text = Vec::new();
        for (nth, rule) in rules.iter().enumerate() {
            match rule.parts.iter().max_by_key(|part| parts[**part].text.len()) {
                Some(longest) => of_part[*longest].push(nth),
                None => without_text.push(nth),
            }
        }
        let texts = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&texts)
            .expect("the table is far smaller than what the automaton can hold");
        Self { rules, texts, of_text, parts, of_part, without_text }
    }

    fn find(&self, reply: Reply, text: &str) -> Option<&Rule> {
        let places = self.places(text);
        let is_said = |rule: &Rule| {
            let mut parts = rule.parts.iter();
            parts.all(|part| !places.of(*part).is_empty())
                && (rule.parts.len() < 2
                    || pattern::follow(rule.parts.iter().map(|part| (self.parts[*part], places.of(*part)))))
        };
        let mut possible: Vec<usize> = self.without_text.clone();
        possible.extend(places.found.iter().flat_map(|part| &self.of_part[*part]));
        possible.sort_unstable();
        possible.into_iter().map(|nth| &self.rules[nth]).find(|rule| rule.codes.fit(reply) && is_said(rule))
    }

    /// Where the parts stand in a text.
    fn places(&self, text: &str) -> Places {
        let mut found = Vec::new();
        let mut hits: Vec<(usize, u16)> = Vec::new();
        let mut counts = vec![0_u16; self.parts.len()];
        for hit in self.texts.find_overlapping_iter(text) {
            let words = Words::of(text, hit.range());
            let parts = self.of_text[hit.pattern().as_usize()].iter().copied();
            for part in parts.filter(|part| self.parts[*part].fits(words)) {
                if counts[part] == 0 {
                    found.push(part);
                }
                counts[part] += 1;
                hits.push((part, hit.start() as u16));
            }
        }
        // sorted by counting: hits come in the order of the text
        let mut ranges = vec![(0, 0); self.parts.len()];
        let mut end = 0;
        for part in &found {
            ranges[*part] = (end, end);
            end += counts[*part];
        }
        let mut all = vec![0; hits.len()];
        for (part, place) in hits {
            let (_, end) = &mut ranges[part];
            all[usize::from(*end)] = place;
            *end += 1;
        }
        Places { found, all, ranges }
    }
}

/// The places of all parts, part by part, each in ascending order.
struct Places {
    /// The parts that stand anywhere.
    found: Vec<usize>,
    all: Vec<u16>,
    /// Where the places of a part are.
    ranges: Vec<(u16, u16)>,
}

impl Places {
    fn of(&self, part: usize) -> &[u16] {
        let (start, end) = self.ranges[part];
        &self.all[usize::from(start)..usize::from(end)]
    }
}

/// The first rule that fits a reply, whose text is in its normal form.
pub(super) fn find(reply: Reply, text: &str) -> Option<&'static Rule> {
    TABLE.find(reply, text)
}
