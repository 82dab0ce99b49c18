//! Puts tracked links and the picture into the body of a mail, in one pass over what was rendered.

use std::ops::Range;
use std::sync::Arc;

use mailwright_core::template_language::Mark;
use mailwright_mail::text::{end_of_what_is_seen, links, web_address};
use serde_json::{Value, json};

use crate::sending::content::{Prepared, Spot, leads_somewhere};

/// The number of the link that nobody sees.
pub(crate) const TRAP: u32 = 999;
/// The number that links have that came whole with a value, or that nobody knows.
pub(crate) const FOREIGN: u32 = 998;
/// The numbers of targets that values made are those of their links and a multiple of this.
const OWN: u32 = 1000;
/// Most targets of one mail that its values make. Further ones stay as they are.
const MAX_OWN: usize = 200;
/// Most bytes of them.
const MAX_OWN_BYTES: usize = 16 * 1024;

/// The number of a target in an address, of a link of the content, and of the targets that the mail's values made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkNumber {
    /// The number of the link in its content, [`TRAP`], or [`FOREIGN`].
    pub(crate) link: u32,
    /// The place among the targets that the mail's values made, if they did.
    pub(crate) own: Option<usize>,
}

impl LinkNumber {
    /// As it stands in an address, and is stored.
    pub(crate) fn to_number(self) -> u32 {
        self.link + self.own.map_or(0, |own| (own as u32 + 1) * OWN)
    }

    /// Reads what [`LinkNumber::to_number`] made.
    pub(crate) fn of(number: u32) -> Self {
        let own = (number / OWN).checked_sub(1).map(|own| own as usize);
        Self { link: number % OWN, own }
    }
}

/// What the addresses of a mail begin with.
pub(crate) struct Addresses<'a> {
    /// The address of the mail's tracked things, with a slash at its end.
    pub(crate) tracked: String,
    /// What the addresses of the recipient's own pages begin with.
    pub(crate) own_pages: [&'a str; 3],
}

/// A body with tracked links.
pub(crate) struct Tracked {
    pub(crate) html: String,
    /// The targets that the mail's values made, as JSON text; `None` where they made none.
    pub(crate) own: Option<Arc<str>>,
}

/// Puts the tracked links and the picture into a body.
pub(crate) fn track(html: &str, marks: &[Mark], content: &Prepared, addresses: &Addresses<'_>) -> Tracked {
    let mut spots = spots(html, marks, content);
    if !spots.iter().any(|(spot, _)| *spot == Spot::Picture) {
        let end = end_of_what_is_seen(html);
        let place = spots.partition_point(|(_, range)| range.end <= end);
        spots.insert(place, (Spot::Picture, end..end));
    }
    let mut writer = Writer {
        html,
        out: String::with_capacity(html.len() + spots.len() * (addresses.tracked.len() + 4) + 512),
        from: 0,
        addresses,
        own: Vec::new(),
        own_bytes: 0,
        has_links: false,
        written: vec![false; content.links.all.len()],
    };
    for (spot, range) in spots {
        match spot {
            Spot::Link(link) => writer.link(link, range, content),
            Spot::Picture => writer.picture(range.start, content),
        }
    }
    writer.out.push_str(&html[writer.from..]);
    writer.note_missing(content);
    let own = (!writer.own.is_empty()).then(|| Value::Array(writer.own).to_string().into());
    Tracked { html: writer.out, own }
}

/// Where links and picture are in a body, in order. Where values may bring markup, the links in it are looked for.
fn spots(html: &str, marks: &[Mark], content: &Prepared) -> Vec<(Spot, Range<usize>)> {
    let known = marks.iter().filter_map(|mark| {
        let spot = content.links.spots.get(mark.number as usize)?;
        Some((*spot, mark.range.clone()))
    });
    let mut spots: Vec<_> = known.collect();
    if content.writes_markup {
        let places: Vec<Range<usize>> = spots.iter().map(|(_, range)| range.clone()).collect();
        let is_known = |range: &Range<usize>| {
            let next = places.partition_point(|known| known.end <= range.start);
            places.get(next).is_some_and(|known| known.start < range.end)
        };
        let found = links(html, html).into_iter().map(|link| link.range).filter(|range| !is_known(range));
        spots.extend(found.map(|range| (Spot::Link(FOREIGN), range)));
        spots.sort_by_key(|(_, range)| (range.start, range.end));
    }
    spots
}

struct Writer<'a> {
    html: &'a str,
    out: String,
    /// Up to where the body is written.
    from: usize,
    addresses: &'a Addresses<'a>,
    own: Vec<Value>,
    own_bytes: usize,
    has_links: bool,
    /// Which links of the content stand in this mail.
    written: Vec<bool>,
}

impl Writer<'_> {
    /// Writes a link, tracked if it leads to a page that is not the recipient's own.
    fn link(&mut self, link: u32, range: Range<usize>, content: &Prepared) {
        if range.start < self.from {
            return;
        }
        let fixed = content.links.all.get(link as usize).and_then(|link| link.target.as_deref());
        let own = match fixed {
            Some(target) if !self.is_own_page(target) => None,
            Some(_) => return,
            None => match self.own_target(link, &range) {
                Some(own) => Some(own),
                None => return,
            },
        };
        self.has_links = true;
        if let (None, Some(written)) = (own, self.written.get_mut(link as usize)) {
            *written = true;
        }
        self.out.push_str(&self.html[self.from..range.start]);
        self.address(LinkNumber { link, own }.to_number());
        self.from = range.end;
    }

    /// Notes the links of the content that stand in a part which this mail does not have, so that its token does not open
    /// them.
    fn note_missing(&mut self, content: &Prepared) {
        let missing = content.links.all.iter().zip(&self.written).enumerate();
        let missing = missing.filter(|(_, (link, written))| link.target.is_some() && !**written);
        self.own.extend(missing.map(|(link, _)| json!([link, null])));
    }

    /// Notes a target that values made: its place; `None` where it stays as it is.
    fn own_target(&mut self, link: u32, range: &Range<usize>) -> Option<usize> {
        let target = web_address(&self.html[range.clone()])?;
        let fits = self.own.len() < MAX_OWN && self.own_bytes + target.len() <= MAX_OWN_BYTES;
        if !fits || self.is_own_page(&target) || !leads_somewhere(&target) {
            return None;
        }
        self.own_bytes += target.len();
        self.own.push(json!([link, target]));
        Some(self.own.len() - 1)
    }

    /// Whether a target is a page on which the recipient changes the subscription: what is followed there is nobody's
    /// business, and machines that follow all links must not come there by way of us.
    fn is_own_page(&self, target: &str) -> bool {
        self.addresses.own_pages.iter().any(|page| target.starts_with(page))
    }

    /// Writes the picture and, where a link is tracked, the link that nobody sees, which is empty.
    ///
    /// The picture is a background: SpamAssassin gives every short mail with an `img` up to 1.8 points
    /// (`HTML_IMAGE_ONLY_08`), and 1.0 for `display:none` (`STY_INVIS_DIRECT`). Outlook on Windows shows no backgrounds,
    /// so it is told of an `img`, which is a comment to all others.
    fn picture(&mut self, at: usize, content: &Prepared) {
        if at < self.from {
            return;
        }
        self.out.push_str(&self.html[self.from..at]);
        self.from = at;
        if self.has_links || !content.links.all.is_empty() {
            self.out.push_str("<a href=\"");
            self.address(TRAP);
            self.out.push_str("\" tabindex=\"-1\" aria-hidden=\"true\"></a>");
        }
        self.out.push_str("<div style=\"background-image:url('");
        // a quote would end the address
        self.out.push_str(&self.addresses.tracked.replace('\'', "%27"));
        self.out.push_str("o.gif');width:1px;height:1px\"></div><!--[if mso]><img src=\"");
        self.out.push_str(&self.addresses.tracked);
        self.out.push_str("o.gif\" width=\"1\" height=\"1\" alt=\"\"><![endif]-->");
    }

    fn address(&mut self, number: u32) {
        self.out.push_str(&self.addresses.tracked);
        self.out.push_str(&number.to_string());
    }
}

#[cfg(test)]
mod tests {
    use mailwright_core::template_language::{Escape, MAX_OUTPUT, Scope};
    use mailwright_store::sending::content::Content;

    use super::*;
    use crate::sending::content::compose;

    const PICTURE: &str = "<div style=\"background-image:url('https://m.test/t/T/o.gif');width:1px;height:1px\"></div>\
        <!--[if mso]><img src=\"https://m.test/t/T/o.gif\" width=\"1\" height=\"1\" alt=\"\"><![endif]-->";
    const UNSEEN: &str = "<a href=\"https://m.test/t/T/999\" tabindex=\"-1\" aria-hidden=\"true\"></a>";

    fn tracked(body: &str, values: &Value) -> (String, Option<Value>) {
        let (content, _): (Content, _) = compose("s".into(), body.into(), None, &[], &[], None);
        let prepared = Prepared::new(&content, Vec::new());
        let scope = Scope::new().layer(values.as_object().unwrap());
        let (html, marks) = prepared.body.render_marked(&scope, Escape::Html, MAX_OUTPUT).unwrap();
        let addresses = Addresses {
            tracked: "https://m.test/t/T/".into(),
            own_pages: ["https://m.test/unsubscribe/", "https://m.test/subscribe/", "https://m.test/manage/"],
        };
        let tracked = track(&html, &marks, &prepared, &addresses);
        (tracked.html, tracked.own.map(|own| serde_json::from_str(&own).unwrap()))
    }

    #[test]
    fn links_are_replaced_and_the_picture_is_at_the_end() {
        let values = json!({
            "url": "https://v.test/?a=1&b=2", "items": [{"u": "https://i.test/1"}, {"u": "https://i.test/2"}],
            "bad": "javascript:alert(1)", "me": "https://m.test/unsubscribe/1?e=2",
            "markup": "<a href=\"https://w.test\">w</a>",
        });
        for (body, expected, own) in [
            ("<p>Hi</p>", format!("<p>Hi</p>{PICTURE}"), None),
            (
                "<body><a href=\"https://a.test\">A</a></body>",
                format!("<body><a href=\"https://m.test/t/T/0\">A</a>{UNSEEN}{PICTURE}</body>"),
                None,
            ),
            (
                "<a href='{{url}}'>A</a><a href=https://b.test>B</a>",
                format!(
                    "<a href='https://m.test/t/T/1000'>A</a><a href=https://m.test/t/T/1>B</a>{UNSEEN}{PICTURE}"
                ),
                Some(json!([[0, "https://v.test/?a=1&b=2"]])),
            ),
            (
                "{% for i in items %}<a href=\"{{i.u}}\">x</a>{% endfor %}",
                format!(
                    "<a href=\"https://m.test/t/T/1000\">x</a><a href=\"https://m.test/t/T/2000\">x</a>{UNSEEN}{PICTURE}"
                ),
                Some(json!([[0, "https://i.test/1"], [0, "https://i.test/2"]])),
            ),
            (
                "<a href=\"{{bad}}\">x</a>",
                format!("<a href=\"javascript:alert(1)\">x</a>{UNSEEN}{PICTURE}"),
                None,
            ),
            (
                "<a href=\"{{me}}\">x</a>",
                format!("<a href=\"https://m.test/unsubscribe/1?e=2\">x</a>{UNSEEN}{PICTURE}"),
                None,
            ),
            (
                "{{{markup}}}",
                format!("<a href=\"https://m.test/t/T/1998\">w</a>{UNSEEN}{PICTURE}"),
                Some(json!([[998, "https://w.test"]])),
            ),
            (
                "{{{markup}}}<a href=\"https://a.test\">A</a>",
                format!(
                    "<a href=\"https://m.test/t/T/1998\">w</a><a href=\"https://m.test/t/T/0\">A</a>{UNSEEN}{PICTURE}"
                ),
                Some(json!([[998, "https://w.test"]])),
            ),
            // the token of a mail opens no link of a part that it does not have
            (
                "{% if no %}<a href=\"https://a.test\">A</a>{% endif %}<a href=\"https://b.test\">B</a>",
                format!("<a href=\"https://m.test/t/T/1\">B</a>{UNSEEN}{PICTURE}"),
                Some(json!([[0, null]])),
            ),
            // the place of the picture is in a branch that is not taken
            (
                "{% if no %}<body>x</body>{% else %}<body>y</body>{% endif %}",
                format!("<body>y{PICTURE}</body>"),
                None,
            ),
        ] {
            assert_eq!(tracked(body, &values), (expected, own), "{body}");
        }
    }

    #[test]
    fn the_targets_of_a_mail_are_bounded() {
        let many: Vec<Value> = (0..300).map(|n| json!(format!("https://i.test/{n}"))).collect();
        let body = "{% for i in items %}<a href=\"{{i}}\">x</a>{% endfor %}";
        let (html, own) = tracked(body, &json!({ "items": many }));
        assert_eq!(own.unwrap().as_array().unwrap().len(), MAX_OWN);
        assert!(html.contains("https://m.test/t/T/200000\"") && html.contains("\"https://i.test/200\""));
        let long: Vec<Value> =
            (0..9).map(|n| json!(format!("https://i.test/{n}{}", "x".repeat(3000)))).collect();
        let (_, own) = tracked(body, &json!({ "items": long }));
        assert_eq!(own.unwrap().as_array().unwrap().len(), 5);
    }

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for link in [LinkNumber { link: 499, own: None }, LinkNumber { link: 3, own: Some(199) }] {
            assert_eq!(LinkNumber::of(link.to_number()), link);
        }
    }
}
