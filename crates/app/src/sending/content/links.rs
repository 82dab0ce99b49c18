//! The links of a content, found once for all its mails: where they are in the body, and where they lead.
//!
//! A link of fixed text has the number of its place among the links, and its target is stored with the content. The
//! target of one that holds variables is known when a mail is rendered, and is stored with the mail.

use std::ops::Range;
use std::sync::Arc;

use mailwright_core::template_language::masked;
use mailwright_mail::text::{self, MAX_LINKS, end_of_what_is_seen, web_address};
use serde_json::{Value, json};
use url::Url;

/// Most bytes of the source of a target with variables that are kept, to be shown.
const MAX_SOURCE: usize = 200;

/// What a mark in a body stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    /// The target of a link, with its number.
    Link(u32),
    /// The place of the picture that tells that a mail was opened.
    Picture,
}

/// The links of a content.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// What the marks of the body stand for, by their numbers.
    pub(crate) spots: Vec<Spot>,
    /// The links, by their numbers.
    pub(crate) all: Vec<Link>,
    /// The same as it is stored; `None` where there are none.
    pub(crate) stored: Option<Arc<str>>,
}

/// A link of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where it leads; `None` where values decide that.
    pub target: Option<String>,
    /// What a reader sees of it.
    pub text: String,
    /// What the template says in the place of a target with variables.
    pub source: Option<String>,
}

impl Links {
    /// Finds the links of a body, and the place of the picture: ranges of the body, in order, with what they stand for.
    pub(super) fn find(body: &str) -> (Vec<Range<usize>>, Self) {
        let masked = masked(body);
        let (mut ranges, mut links) = (Vec::new(), Self::default());
        for found in text::links(body, &masked) {
            let Some(written) = body.get(found.range.clone()) else { continue };
            let is_fixed = masked.get(found.range.clone()) == Some(written);
            let target =
                if is_fixed { web_address(written).filter(|address| leads_somewhere(address)) } else { None };
            if is_fixed && target.is_none() {
                continue;
            }
            let source = (!is_fixed).then(|| written[..written.floor_char_boundary(MAX_SOURCE)].to_owned());
            links.spots.push(Spot::Link(links.all.len() as u32));
            links.all.push(Link { target, text: found.text, source });
            ranges.push(found.range);
        }
        let end = end_of_what_is_seen(&masked);
        let place = ranges.partition_point(|range| range.end <= end);
        if ranges.get(place).is_none_or(|next| next.start > end) {
            ranges.insert(place, end..end);
            links.spots.insert(place, Spot::Picture);
        }
        links.stored = (!links.all.is_empty()).then(|| to_json(&links.all).to_string().into());
        (ranges, links)
    }
}

/// Whether a browser goes to an address.
pub(crate) fn leads_somewhere(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| url.has_host())
}

fn to_json(links: &[Link]) -> Value {
    links.iter().map(|link| json!([link.target, link.text, link.source])).collect()
}

/// Reads what is stored of the links of a content.
pub(crate) fn from_json(stored: &Value) -> Vec<Link> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let links = stored.as_array().into_iter().flatten().take(MAX_LINKS);
    links
        .map(|link| Link {
            target: text(&link[0]),
            text: text(&link[1]).unwrap_or_default(),
            source: text(&link[2]),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_numbers_and_the_picture_a_place() {
        let body = "<body><a href=\"https://a.test/?x=1&amp;y=2\">A</a> <a href=\"mailto:a@b.c\">m</a>\
            <a href='#top'>t</a><a href=\"{{url ?? \"https://x.test\"}}\">V</a><a href=\"https://\">n</a></body>";
        let (ranges, links) = Links::find(body);
        assert_eq!(links.spots, [Spot::Link(0), Spot::Link(1), Spot::Picture]);
        let written: Vec<_> = ranges.iter().map(|range| &body[range.clone()]).collect();
        assert_eq!(written, ["https://a.test/?x=1&amp;y=2", "{{url ?? \"https://x.test\"}}", ""]);
        assert_eq!(&body[ranges[2].start..], "</body>");
        assert_eq!(links.all[0].target.as_deref(), Some("https://a.test/?x=1&y=2"));
        assert_eq!(links.all[1].source.as_deref(), Some("{{url ?? \"https://x.test\"}}"));
        assert_eq!(from_json(&serde_json::from_str(&links.stored.unwrap()).unwrap()), links.all);
    }

    #[test]
    fn a_body_without_links_has_a_picture_alone() {
        let (ranges, links) = Links::find("<p>Hello {{name}}");
        assert_eq!((ranges.first(), ranges.len()), (Some(&(17..17)), 1));
        assert_eq!(links.spots, [Spot::Picture]);
        assert!(links.stored.is_none());
    }
}
