//! HTML from MJML, by the crate `mrml`.
//!
//! The source is a template: `{{ }}` and `{% %}` stand in its texts, in its attributes and between its sections. What
//! they hold is no MJML (`{% if n < 5 %}`), so each is replaced by a word before `mrml` reads the source, and put back
//! into the HTML as it was written (`hidden`). Then the elements are counted and attributes are made safe (`check`):
//! `mrml` descends into elements by recursion, gives what is set once to all elements, and writes attributes as Rust
//! writes texts.
//!
//! `mj-include` is refused: nothing is read from files or from the network. Fonts are loaded from elsewhere only where
//! the source names them with `mj-font`.

mod check;
mod fault;
mod hidden;
mod limits;
mod positions;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::catch_unwind;

use mailwright_core::template_language;
use mrml::prelude::render::RenderOptions;

use self::check::check;
use self::fault::Flaw;
pub use self::fault::{Fault, Place};
use self::hidden::Hidden;
pub use self::limits::{
    MAX_CAROUSEL_IMAGES, MAX_CLASSES, MAX_DEPTH, MAX_ELEMENTS, MAX_INHERITED, MAX_SOURCE,
};

/// The HTML of a source. It takes time that grows with the source: call it on a thread where that is all right.
pub fn to_html(source: &str) -> Result<String, Fault> {
    if source.len() > MAX_SOURCE && source.chars().count() > MAX_SOURCE {
        return Err(Fault::nowhere(format!("The MJML is longer than {MAX_SOURCE} characters. Shorten it.")));
    }
    // lines end with LF in XML, whatever stood in the file (XML 1.0 section 2.11); `mrml` refuses others
    let source = &*lines(source);
    let hidden = Hidden::new(source);
    let to_source = |place| hidden.positions.source(place);
    let checked = check(&hidden.text).map_err(|flaw| flaw.in_source(source, to_source))?;
    let to_source = |place| to_source(checked.positions.source(place));
    // nothing is known that makes it panic; who wrote such a thing is told so, as of any other fault
    let rendered = catch_unwind(|| render(&checked.text));
    let html = rendered
        .unwrap_or_else(|_| Err(Flaw::nowhere("The MJML could not be made into HTML.")))
        .map_err(|flaw| flaw.in_source(source, to_source))?;
    hidden.put_back(&html, template_language::MAX_SOURCE).ok_or_else(|| {
        let most = template_language::MAX_SOURCE;
        Fault::nowhere(format!("The HTML of the MJML is longer than {most} bytes. Shorten the MJML."))
    })
}

fn lines(source: &str) -> Cow<'_, str> {
    if source.contains('\r') {
        Cow::Owned(source.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(source)
    }
}

fn render(source: &str) -> Result<String, Flaw> {
    let parsed = mrml::parse(source).map_err(fault::of_parser)?;
    if parsed.element.body().is_none() {
        return Err(Flaw::nowhere(
            "The MJML has no `mj-body`. Put the mail between `<mj-body>` and `</mj-body>`.",
        ));
    }
    // a font that nobody asked for would tell its host who reads the mail
    let options = RenderOptions { fonts: HashMap::new(), ..RenderOptions::default() };
    let rendered = parsed.element.render(&options);
    rendered.map_err(|error| Flaw::nowhere(format!("The MJML could not be made into HTML: {error}.")))
}
