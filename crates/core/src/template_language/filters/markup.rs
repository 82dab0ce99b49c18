//! Filters about HTML. In HTML mode, the output of `escape`, `newline_to_br` and `raw` is not escaped again when it is
//! written.

use super::super::output::{entity, escaped};
use super::super::value::{Text, Val};
use super::Call;

pub(super) fn escape<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    made(call, escaped)
}

/// Escapes all but the entities that are there.
pub(super) fn escape_once<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    made(call, |text| {
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for (at, byte) in text.bytes().enumerate() {
            if let Some(entity) = entity(byte).filter(|_| byte != b'&' || !is_entity(&text[at + 1..])) {
                out.push_str(&text[from..at]);
                out.push_str(entity);
                from = at + 1;
            }
        }
        out.push_str(&text[from..]);
        out
    })
}

/// Whether the rest of an entity comes first in `text`, its `&` being read.
fn is_entity(text: &str) -> bool {
    // No entity is longer than this.
    let name = text.bytes().take(32).position(|byte| byte == b';').map(|end| &text[..end]);
    name.is_some_and(|name| {
        let digits = name.strip_prefix('#').unwrap_or(name);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Puts `<br />` before each line break. In HTML mode the text around them is escaped.
pub(super) fn newline_to_br<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    let broken = |text: &str| text.replace("\r\n", "\n").replace('\n', "<br />\n");
    match &call.input {
        Val::Markup(text) => Val::markup(broken(text)),
        _ if call.html => made(call, |text| broken(&escaped(text))),
        _ => call.map(broken),
    }
}

/// Marks the text as one to write as it is.
pub(super) fn raw<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    match &call.input {
        Val::Str(text) if call.html => Val::Markup(text.clone()),
        value => value.clone(),
    }
}

/// Leaves out tags, comments, scripts and styles.
pub(super) fn strip_html<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    match &call.input {
        Val::Markup(text) => Val::markup(without_tags(text)),
        _ => call.map(without_tags),
    }
}

fn without_tags(text: &str) -> String {
    const SPANS: [(&str, &str); 3] = [("<script", "</script>"), ("<style", "</style>"), ("<!--", "-->")];
    // Of the same length as `text`, so that offsets agree.
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut missing = [false; SPANS.len()];
    let mut at = 0;
    while let Some(open) = text[at..].find('<').map(|found| at + found) {
        let mut end = None;
        for (index, (start, close)) in SPANS.iter().enumerate() {
            // An end that is missing once is missing for all that comes after.
            if lower[open..].starts_with(start) && !missing[index] {
                end = lower[open..].find(close).map(|found| open + found + close.len());
                missing[index] = end.is_none();
            }
        }
        let Some(end) = end.or_else(|| text[open..].find('>').map(|found| open + found + 1)) else { break };
        out.push_str(&text[at..open]);
        at = end;
    }
    out.push_str(&text[at..]);
    out
}

/// The input changed by `change`, as markup in HTML mode; markup stays as it is.
fn made<'r>(call: &Call<'_, 'r>, change: impl FnOnce(&str) -> String) -> Val<'r> {
    match &call.input {
        Val::Markup(text) => Val::Markup(Text::clone(text)),
        _ if call.html => call.text().map_or(Val::Nil, |text| Val::markup(change(&text))),
        _ => call.map(change),
    }
}
