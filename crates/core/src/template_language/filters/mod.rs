//! The filters: `{{ name | upcase }}`.
//!
//! A filter takes any value and any arguments and always returns something. Most filters pass nil through, so that a
//! fallback can follow. The output of a filter is cut off at `MAX_VALUE` and `MAX_LIST`.

mod date;
mod list;
mod markup;
mod number;
mod text;

use std::borrow::Cow;
use std::fmt;

use super::budget::Budget;
use super::value::Val;

/// What a filter works on.
pub(super) struct Call<'c, 'r> {
    pub(super) input: Val<'r>,
    /// As many as the filter allows.
    pub(super) arguments: Vec<Val<'r>>,
    /// Whether markup can be made, in which values are escaped.
    pub(super) html: bool,
    pub(super) budget: &'c Budget,
}

impl<'r> Call<'_, 'r> {
    /// The input as a text; none when it is nil.
    fn text(&self) -> Option<Cow<'_, str>> {
        if self.input.is_nil() { None } else { Some(self.text_of(&self.input)) }
    }

    /// `value` as a text. That of lists and objects costs work; when that has run out it is empty.
    fn text_of<'v>(&self, value: &'v Val<'_>) -> Cow<'v, str> {
        let text = value.text();
        let affordable = !value.is_compound() || self.budget.spend(text.len() as u64);
        if affordable { text } else { Cow::Borrowed("") }
    }

    /// The argument at `index` as a text, or `default` when it is absent.
    fn text_argument<'v>(&'v self, index: usize, default: &'v str) -> Cow<'v, str> {
        self.arguments.get(index).map_or(Cow::Borrowed(default), |value| self.text_of(value))
    }

    /// The argument at `index` as a whole number, or `default` when it is absent or no number.
    fn int_argument(&self, index: usize, default: i64) -> i64 {
        let number = self.arguments.get(index).and_then(Val::number);
        number.map_or(default, |number| number.float() as i64)
    }

    /// The input with its text changed by `change`.
    fn map(&self, change: impl FnOnce(&str) -> String) -> Val<'r> {
        self.text().map_or(Val::Nil, |text| Val::string(change(&text)))
    }
}

/// How a filter is run.
type Run = for<'c, 'r> fn(&Call<'c, 'r>) -> Val<'r>;

/// A filter.
pub(super) struct Filter {
    pub(super) name: &'static str,
    /// The fewest and the most arguments.
    arguments: (usize, usize),
    run: Run,
}

impl fmt::Debug for Filter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

impl Filter {
    /// Runs the filter.
    pub(super) fn apply<'r>(&self, call: &Call<'_, 'r>) -> Val<'r> {
        (self.run)(call)
    }

    /// Says what is wrong if the filter cannot be given `count` arguments.
    pub(super) fn check(&self, count: usize) -> Result<(), String> {
        let (least, most) = self.arguments;
        if (least..=most).contains(&count) {
            return Ok(());
        }
        let name = self.name;
        Err(match (least, most) {
            (_, 0) => format!("The filter `{name}` takes no value. Remove what follows the colon."),
            (1, 1) => format!("The filter `{name}` takes one value: `| {name}: value`."),
            (least, most) if least == most => {
                format!("The filter `{name}` takes {least} values, not {count}.")
            }
            _ => format!("The filter `{name}` takes {least} to {most} values, not {count}."),
        })
    }
}

/// The filter called `name`.
pub(super) fn find(name: &str) -> Option<&'static Filter> {
    ALL.iter().find(|filter| filter.name == name)
}

/// Every filter.
pub(super) static ALL: [Filter; 47] = [
    filter("abs", (0, 0), number::abs),
    filter("append", (1, 1), text::append),
    filter("at_least", (1, 1), number::at_least),
    filter("at_most", (1, 1), number::at_most),
    filter("capitalize", (0, 0), text::capitalize),
    filter("ceil", (0, 0), number::ceil),
    filter("date", (1, 1), date::date),
    filter("default", (1, 2), text::default),
    filter("divided_by", (1, 1), number::divided_by),
    filter("downcase", (0, 0), text::downcase),
    filter("escape", (0, 0), markup::escape),
    filter("escape_once", (0, 0), markup::escape_once),
    filter("first", (0, 0), list::first),
    filter("floor", (0, 0), number::floor),
    filter("join", (0, 1), list::join),
    filter("json", (0, 0), text::json),
    filter("last", (0, 0), list::last),
    filter("lstrip", (0, 0), text::lstrip),
    filter("map", (1, 1), list::map),
    filter("minus", (1, 1), number::minus),
    filter("modulo", (1, 1), number::modulo),
    filter("newline_to_br", (0, 0), markup::newline_to_br),
    filter("plus", (1, 1), number::plus),
    filter("prepend", (1, 1), text::prepend),
    filter("raw", (0, 0), markup::raw),
    filter("remove", (1, 1), text::remove),
    filter("remove_first", (1, 1), text::remove_first),
    filter("replace", (1, 2), text::replace),
    filter("replace_first", (1, 2), text::replace_first),
    filter("reverse", (0, 0), list::reverse),
    filter("round", (0, 1), number::round),
    filter("rstrip", (0, 0), text::rstrip),
    filter("size", (0, 0), list::size),
    filter("slice", (1, 2), list::slice),
    filter("sort", (0, 1), list::sort),
    filter("split", (1, 1), text::split),
    filter("strip", (0, 0), text::strip),
    filter("strip_html", (0, 0), markup::strip_html),
    filter("strip_newlines", (0, 0), text::strip_newlines),
    filter("times", (1, 1), number::times),
    filter("truncate", (0, 2), text::truncate),
    filter("truncatewords", (0, 2), text::truncatewords),
    filter("uniq", (0, 0), list::uniq),
    filter("upcase", (0, 0), text::upcase),
    filter("url_decode", (0, 0), text::url_decode),
    filter("url_encode", (0, 0), text::url_encode),
    filter("where", (1, 2), list::matching),
];

const fn filter(name: &'static str, arguments: (usize, usize), run: Run) -> Filter {
    Filter { name, arguments, run }
}
