//! Makes received HTML harmless.

use std::collections::HashSet;
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};

use super::MAX_BODY;

/// The most tags; a parser takes time with the square of how deep they stand in each other.
const MAX_TAGS: usize = 5_000;

/// For what is stored.
static SANITISER: LazyLock<Builder<'static>> = LazyLock::new(|| with_schemes(&["http", "https", "mailto"]));
/// For what is shown with the pictures that came with the mail.
static WITH_PICTURES: LazyLock<Builder<'static>> =
    LazyLock::new(|| with_schemes(&["http", "https", "mailto", "cid"]));

fn with_schemes(schemes: &[&'static str]) -> Builder<'static> {
    let mut builder = Builder::default();
    builder
        .url_schemes(schemes.iter().copied().collect())
        .url_relative(UrlRelative::Deny)
        .clean_content_tags(HashSet::from(["script", "style", "template", "title"]));
    builder
}

/// HTML without scripts, forms, styles, frames and objects. Pictures and links stay where they are at http or https, and
/// links where they are mailto. `None` when nothing is left, when it has more than 5,000 tags, or when it is longer than
/// 256 KiB afterwards.
pub(super) fn sanitised(html: &str) -> Option<String> {
    sanitised_by(&SANITISER, html)
}

/// The same, with the pictures that name a part of the mail (`cid:`).
pub(super) fn sanitised_with_pictures(html: &str) -> Option<String> {
    sanitised_by(&WITH_PICTURES, html)
}

fn sanitised_by(sanitiser: &Builder<'_>, html: &str) -> Option<String> {
    let is_tag = |pair: &&[u8]| pair[0] == b'<' && pair[1].is_ascii_alphabetic();
    if html.as_bytes().windows(2).filter(is_tag).count() > MAX_TAGS {
        return None;
    }
    let clean = sanitiser.clean(html).to_string().replace('\0', "");
    let is_kept = clean.len() <= MAX_BODY && !clean.trim().is_empty();
    is_kept.then_some(clean)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{sanitised, sanitised_with_pictures};

    #[test]
    fn what_acts_is_taken_out_and_what_is_read_stays() {
        for (html, expected) in [
            ("<p>Hi <b>you</b></p>", Some("<p>Hi <b>you</b></p>")),
            ("<script>alert(1)</script>", None),
            ("<p onclick=\"x()\" style=\"background:url(//e.example)\">a</p>", Some("<p>a</p>")),
            ("<form action=\"https://e.example\"><input name=a>b</form>", Some("b")),
            ("<a href=\"javascript:x()\">c</a>", Some("<a rel=\"noopener noreferrer\">c</a>")),
            (
                "<a href=\"mailto:a@example.com\">d</a>",
                Some("<a href=\"mailto:a@example.com\" rel=\"noopener noreferrer\">d</a>"),
            ),
            ("<img src=\"https://e.example/a.png\">", Some("<img src=\"https://e.example/a.png\">")),
            ("<img src=\"data:image/png;base64,AA\"><p>e</p>", Some("<img><p>e</p>")),
            ("<img src=\"/a.png\"><p>f</p>", Some("<img><p>f</p>")),
            (
                "<style>p { color: red }</style><iframe src=\"https://e.example\"></iframe><p>g",
                Some("<p>g</p>"),
            ),
            ("<svg><a xlink:href=\"javascript:x()\">h</a></svg>", None),
            ("<title>secret</title><base href=\"//e.example\"><p>i</p>", Some("<p>i</p>")),
        ] {
            assert_eq!(sanitised(html).as_deref(), expected, "{html}");
        }
    }

    #[test]
    fn parts_of_the_mail_can_be_shown() {
        let html = "<img src=\"cid:logo\" onerror=\"x()\"><a href=\"javascript:x()\">a</a>";
        assert_eq!(
            sanitised_with_pictures(html).as_deref(),
            Some("<img src=\"cid:logo\"><a rel=\"noopener noreferrer\">a</a>")
        );
    }

    #[test]
    fn deep_html_takes_no_time() {
        for tag in
            ["<div>", "<b>", "<table>", "<p><button>", "<a href=x>", "<svg>", "<ul><li>", "</p>", "<!--"]
        {
            let html = tag.repeat(256 * 1024 / tag.len());
            let few = tag.repeat(4_999 / tag.matches('<').count());
            let started = Instant::now();
            sanitised(&html);
            sanitised(&few);
            assert!(started.elapsed() < Duration::from_secs(10), "{tag}: {:?}", started.elapsed());
        }
    }
}
