//! Filters on texts.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::super::output::escaped;
use super::super::value::{Text, Val};
use super::super::{MAX_LIST, MAX_VALUE};
use super::Call;

/// `default: value, allow_false: true`: in place of nil, false and what is empty.
pub(super) fn default<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    let allow_false = call.arguments.get(1).is_some_and(Val::is_true);
    let replaced = match &call.input {
        Val::Nil => true,
        Val::Bool(value) => !value && !allow_false,
        value => value.is_empty(),
    };
    let value = if replaced { call.arguments.first() } else { None };
    value.unwrap_or(&call.input).clone()
}

pub(super) fn upcase<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    call.map(str::to_uppercase)
}

pub(super) fn downcase<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    call.map(str::to_lowercase)
}

pub(super) fn capitalize<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    call.map(|text| {
        let mut chars = text.chars();
        let first = chars.next().into_iter().flat_map(char::to_uppercase);
        first.chain(chars.flat_map(char::to_lowercase)).collect()
    })
}

pub(super) fn strip<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    shortened(call, |text| text.trim().into())
}

pub(super) fn lstrip<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    shortened(call, |text| text.trim_start().into())
}

pub(super) fn rstrip<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    shortened(call, |text| text.trim_end().into())
}

pub(super) fn strip_newlines<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    shortened(call, |text| text.replace(['\r', '\n'], "").into())
}

/// The input without what `shorten` leaves out. Markup stays markup.
fn shortened<'r>(call: &Call<'_, 'r>, shorten: impl Fn(&str) -> Cow<'_, str>) -> Val<'r> {
    match (&call.input, call.text()) {
        (Val::Markup(text), _) => Val::markup(shorten(text)),
        (_, Some(text)) => Val::string(shorten(&text)),
        (_, None) => Val::Nil,
    }
}

pub(super) fn append<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    joined(call, |input, added| format!("{input}{added}"))
}

pub(super) fn prepend<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    joined(call, |input, added| format!("{added}{input}"))
}

/// The input and the argument as one text. Added to markup, a value is escaped.
fn joined<'r>(call: &Call<'_, 'r>, join: impl Fn(&str, &str) -> String) -> Val<'r> {
    let input = call.text_of(&call.input);
    let added = call.text_argument(0, "");
    match (&call.input, call.arguments.first()) {
        (Val::Markup(_), Some(Val::Markup(_))) => Val::markup(join(&input, &added)),
        (Val::Markup(_), _) => Val::markup(join(&input, &escaped(&added))),
        _ => Val::string(join(&input, &added)),
    }
}

pub(super) fn remove<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    substituted(call, "", usize::MAX)
}

pub(super) fn remove_first<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    substituted(call, "", 1)
}

pub(super) fn replace<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    substituted(call, &call.text_argument(1, ""), usize::MAX)
}

pub(super) fn replace_first<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    substituted(call, &call.text_argument(1, ""), 1)
}

/// The input with `new` in place of the first argument, at most `times` times.
fn substituted<'r>(call: &Call<'_, 'r>, new: &str, times: usize) -> Val<'r> {
    let old = call.text_argument(0, "");
    call.map(|text| {
        if old.is_empty() {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for (at, found) in text.match_indices(&*old).take(times) {
            out.push_str(&text[from..at]);
            out.push_str(new);
            from = at + found.len();
            if out.len() > MAX_VALUE {
                return out;
            }
        }
        out.push_str(&text[from..]);
        out
    })
}

/// `truncate: 50, "..."`: the end mark counts.
pub(super) fn truncate<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    let limit = usize::try_from(call.int_argument(0, 50)).unwrap_or(0);
    let mark = call.text_argument(1, "...");
    call.map(|text| {
        if text.len() <= limit || text.chars().nth(limit).is_none() {
            return text.to_owned();
        }
        let kept = limit.saturating_sub(mark.chars().count());
        text.chars().take(kept).chain(mark.chars()).collect()
    })
}

/// `truncatewords: 15, "..."`.
pub(super) fn truncatewords<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    let limit = usize::try_from(call.int_argument(0, 15)).unwrap_or(0).max(1);
    let mark = call.text_argument(1, "...");
    call.map(|text| {
        if text.split_whitespace().nth(limit).is_none() {
            return text.to_owned();
        }
        let words: Vec<&str> = text.split_whitespace().take(limit).collect();
        words.join(" ") + &mark
    })
}

/// `split: ","`: without the empty texts at the end; by an empty text, into characters.
pub(super) fn split<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    let separator = call.text_argument(0, "");
    match &call.input {
        Val::Nil => Val::list(Vec::new()),
        Val::Str(Text::Borrowed(text)) => Val::list(pieces(text, &separator).map(Val::borrowed).collect()),
        _ => Val::list(pieces(&call.text_of(&call.input), &separator).map(Val::string).collect()),
    }
}

fn pieces<'t>(text: &'t str, separator: &str) -> impl Iterator<Item = &'t str> {
    let mut pieces: Vec<&str> = if separator.is_empty() {
        let ends = text.char_indices().map(|(at, char)| (at, at + char.len_utf8()));
        ends.take(MAX_LIST).map(|(from, to)| &text[from..to]).collect()
    } else {
        text.split(separator).take(MAX_LIST).collect()
    };
    while pieces.last().is_some_and(|last| last.is_empty()) {
        pieces.pop();
    }
    pieces.into_iter()
}

pub(super) fn json<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    // What it cost is counted by the length of the result.
    Val::string(call.input.json())
}

/// What a query keeps as it is, and the space, for which there is a `+`.
const QUERY: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b' ');

/// As in the query of a URL, with `+` for a space.
pub(super) fn url_encode<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    call.map(|text| utf8_percent_encode(text, &QUERY).to_string().replace(' ', "+"))
}

pub(super) fn url_decode<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    call.map(|text| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned())
}
