//! What elements mean for the text.

/// What an element means for the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    /// Never shown, with everything in it.
    Dropped,
    Head,
    Link,
    Image,
    Break,
    Rule,
    /// Begins and ends a line.
    Block,
    Table,
    /// A block that has a blank line before and after it.
    Paragraph,
    Quote,
    Preformatted,
    List,
    Item,
    Cell,
    /// Leaves no trace.
    Inline,
}

impl Element {
    pub(super) fn of(name: &str) -> Self {
        // Longer names are not of interest; a stack buffer spares an allocation per tag.
        let mut lower = [0; 10];
        let Some(lower) = lower.get_mut(..name.len()) else {
            return Self::Inline;
        };
        lower.copy_from_slice(name.as_bytes());
        lower.make_ascii_lowercase();
        match &*lower {
            b"script" | b"style" | b"title" | b"template" | b"iframe" | b"textarea" => Self::Dropped,
            b"head" => Self::Head,
            b"a" => Self::Link,
            b"img" => Self::Image,
            b"br" => Self::Break,
            b"hr" => Self::Rule,
            b"p" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => Self::Paragraph,
            b"blockquote" => Self::Quote,
            b"pre" => Self::Preformatted,
            b"ul" | b"ol" | b"menu" => Self::List,
            b"address" | b"article" | b"aside" | b"body" | b"caption" | b"center" | b"dd" | b"details"
            | b"dialog" | b"div" | b"dl" | b"dt" | b"fieldset" | b"figcaption" | b"figure" | b"footer"
            | b"form" | b"header" | b"html" | b"legend" | b"main" | b"nav" | b"section" | b"summary"
            | b"tbody" | b"tfoot" | b"thead" | b"tr" => Self::Block,
            b"table" => Self::Table,
            b"li" => Self::Item,
            b"td" | b"th" => Self::Cell,
            _ => Self::Inline,
        }
    }
}
