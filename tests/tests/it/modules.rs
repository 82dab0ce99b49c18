//! How the source is divided: files that one reads at a sitting, and modules that do not use each other in circles.
//!
//! A module that uses another is read after it. In a circle there is no first one. The crate roots are left out: they
//! hold what all modules of a crate have, such as `App`.

use std::collections::{BTreeMap, BTreeSet};

use crate::invariants::{ALL, Source, sources};

/// The most lines of a file, with its comments and tests.
const MOST_LINES: usize = 400;

/// Names that lead from a crate's root to a module.
type Path = Vec<String>;

#[test]
fn no_file_is_longer_than_one_reads_at_a_sitting() {
    let mut long = Vec::new();
    for file in crate::invariants::every_file() {
        let lines = std::fs::read_to_string(&file).expect("UTF-8").lines().count();
        if lines > MOST_LINES {
            long.push(format!("{} ({lines} lines)", file.display()));
        }
    }
    assert!(long.is_empty(), "divide these by what they are about: {long:#?}");
}

#[test]
fn no_modules_use_each_other_in_circles() {
    let circles: Vec<_> = ALL.iter().flat_map(|name| circles(&uses(name, &sources(&[name])))).collect();
    assert!(circles.is_empty(), "what several of these need belongs into a module of its own: {circles:#?}");
}

#[test]
fn circles_are_found() {
    let file = |path: &str, code: &str| Source { path: path.to_owned(), code: code.to_owned() };
    let files = [
        file("app/src/lib.rs", "mod a;\nmod b;\nuse crate::a::x;"),
        file("app/src/a/mod.rs", "use crate::{App, b::{Y, Z as W}};\npub(crate) mod c;"),
        file("app/src/b.rs", "fn z() { super::a::c::z() }"),
        file("app/src/a/c.rs", "use super::Thing;"),
        file("app/src/d.rs", "use crate::b::Y;"),
    ];
    assert_eq!(circles(&uses("app", &files)), [["a", "a::c", "b"]]);
    let straight = [file("app/src/a.rs", "use crate::b::Y;"), file("app/src/b.rs", "use crate::App;")];
    assert!(circles(&uses("app", &straight)).is_empty());
}

/// Which modules of a crate each of its modules uses, but for the root.
fn uses(name: &str, files: &[Source]) -> BTreeMap<Path, BTreeSet<Path>> {
    let modules: BTreeSet<Path> = files.iter().map(|file| module(name, &file.path)).collect();
    let mut found = BTreeMap::new();
    for file in files {
        let from = module(name, &file.path);
        let used = paths(&file.code).into_iter().filter_map(|path| target(&modules, &from, &path));
        let used: BTreeSet<Path> = used.filter(|to| *to != from && !to.is_empty()).collect();
        if !from.is_empty() {
            found.insert(from, used);
        }
    }
    found
}

/// The module that a file holds.
fn module(name: &str, file: &str) -> Path {
    let inside = file.trim_start_matches(name).trim_start_matches("/src/").trim_end_matches(".rs");
    let mut path: Path = inside.split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        path.pop();
    }
    path
}

/// Every path in a text that begins at the root of the crate or at the module around.
fn paths(code: &str) -> Vec<Path> {
    let mut found = Vec::new();
    for begin in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(begin) {
            let before = code[..at].chars().next_back();
            let is_inside = before.is_some_and(|c| c.is_alphanumeric() || "_:$".contains(c));
            // a visibility is no use
            if !is_inside && !code[..at].ends_with("pub(in ") {
                expand(&mut code[at..].chars().peekable(), Vec::new(), &mut found);
            }
        }
    }
    found
}

/// Reads a path, or each of a group in braces, after the names in `path`.
fn expand(text: &mut std::iter::Peekable<std::str::Chars<'_>>, mut path: Path, found: &mut Vec<Path>) {
    loop {
        while text.next_if(|c| c.is_whitespace()).is_some() {}
        if text.next_if_eq(&'{').is_some() {
            while text.peek().is_some_and(|c| *c != '}') {
                expand(text, path.clone(), found);
                while text.next_if(|c| *c != ',' && *c != '}').is_some() {}
                text.next_if_eq(&',');
                while text.next_if(|c| c.is_whitespace()).is_some() {}
            }
            text.next();
            return;
        }
        let mut name = String::new();
        while let Some(c) = text.next_if(|c| c.is_alphanumeric() || *c == '_') {
            name.push(c);
        }
        path.push(name);
        if text.next_if_eq(&':').is_none() || text.next_if_eq(&':').is_none() {
            found.push(path);
            return;
        }
    }
}

/// The module that a path leads to, seen from `from`.
fn target(modules: &BTreeSet<Path>, from: &[String], path: &[String]) -> Option<Path> {
    let mut full: Path = if path[0] == "crate" { Vec::new() } else { from.to_vec() };
    for name in path {
        match name.as_str() {
            "crate" | "self" => {}
            "super" => drop(full.pop()),
            name => full.push(name.to_owned()),
        }
    }
    (0..=full.len()).rev().map(|length| full[..length].to_vec()).find(|path| modules.contains(path))
}

/// The sets of modules of which each can be reached from each.
fn circles(uses: &BTreeMap<Path, BTreeSet<Path>>) -> Vec<Vec<String>> {
    let reach: BTreeMap<&Path, BTreeSet<&Path>> =
        uses.keys().map(|module| (module, reachable(uses, module))).collect();
    let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
    for (module, reached) in &reach {
        if reached.contains(module) {
            let circle = reached.iter().filter(|other| reach[**other].contains(module));
            circles.insert(circle.map(|path| path.join("::")).collect());
        }
    }
    circles.into_iter().collect()
}

fn reachable<'a>(uses: &'a BTreeMap<Path, BTreeSet<Path>>, from: &Path) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&Path> = uses[from].iter().collect();
    while let Some(module) = next.pop() {
        if uses.contains_key(module) && reached.insert(module) {
            next.extend(&uses[module]);
        }
    }
    reached
}
