//! What an element's own attributes say about whether its text is visible.

use super::tokens::Tag;

/// How an element shows its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Look {
    /// Nothing in it is seen.
    pub(super) hidden: bool,
    /// Its letters have no size, or have one again; `None` when it says nothing of them.
    pub(super) tiny: Option<bool>,
}

impl Look {
    /// Looks at `hidden` and `style`.
    ///
    /// `mso-hide` counts for nothing: it hides from Outlook alone, and stands on the buttons that all others show.
    pub(super) fn of(tag: &Tag<'_>) -> Self {
        let (mut style, mut hidden) = (None, false);
        for (name, value) in tag.attributes() {
            if name.eq_ignore_ascii_case("style") {
                // the first one counts, as in a browser
                style.get_or_insert(value);
            }
            hidden |= name.eq_ignore_ascii_case("hidden");
        }
        let look = style.map_or_else(Self::default, Self::of_style);
        Self { hidden: look.hidden || hidden, ..look }
    }

    fn of_style(style: &str) -> Self {
        let mut tiny = None;
        let (mut not_displayed, mut invisible, mut transparent) = (false, false, false);
        let (mut flat, mut clipped) = (false, false);
        for declaration in style.split(';') {
            let Some((name, value)) = declaration.split_once(':') else { continue };
            let name = name.trim();
            // most declarations are of no interest
            let value = || value.split('!').next().unwrap_or_default().trim();
            let named = |wanted: &str| name.eq_ignore_ascii_case(wanted);
            let is = |word: &str| value().eq_ignore_ascii_case(word);
            if named("display") {
                not_displayed = is("none");
            } else if named("visibility") {
                invisible = is("hidden") || is("collapse");
            } else if named("opacity") {
                transparent = is_zero(value());
            } else if named("font-size") {
                tiny = Some(is_zero(value()));
            } else if named("font") {
                let is_number = |part: &&str| part.starts_with(|c: char| c.is_ascii_digit() || c == '.');
                // the size, or a weight before it, which is never nought
                tiny = Some(value().split([' ', '/']).find(is_number).is_some_and(is_zero));
            } else if named("max-height") || named("height") {
                flat |= is_zero(value());
            } else if named("overflow") {
                clipped = is("hidden");
            }
        }
        Self { hidden: not_displayed || invisible || transparent || (flat && clipped), tiny }
    }
}

/// Whether a CSS length or number is nought, in any unit.
fn is_zero(value: &str) -> bool {
    let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
    number.parse::<f64>() == Ok(0.0)
}
