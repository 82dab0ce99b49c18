//! The footers of a project's mails. Each is made with the first mail in its language; a mail only adds its own links.

use std::ops::Range;
use std::sync::OnceLock;

use mailwright_core::locale::Locale;
use mailwright_core::locale::texts::{Values, html};
use mailwright_core::project::Project;
use mailwright_mail::text::end_of_what_is_seen;

/// A project as its mails show it: the name, and the footers for that name. It is made anew when the project is read
/// again.
#[derive(Debug)]
pub(crate) struct Footers {
    /// Whose mails these are.
    pub(crate) project: Project,
    /// Whether answers to them come back to an address that names the mail.
    pub(crate) reply_tracking: bool,
    by_locale: [OnceLock<Footer>; Locale::ALL.len()],
}

impl Footers {
    pub(crate) fn new(project: &Project, reply_tracking: bool) -> Self {
        Self {
            project: project.clone(),
            reply_tracking,
            by_locale: [const { OnceLock::new() }; Locale::ALL.len()],
        }
    }

    /// The footer for a recipient whose `locale` is this. The first mail in a language makes it for all others.
    pub(crate) fn footer(&self, locale: Option<&str>) -> &Footer {
        let locale = Locale::resolve(locale, &self.project.language);
        self.by_locale[locale as usize].get_or_init(|| Footer::new(&self.project.name, locale))
    }
}

/// The footer of marketing mail: everything but the recipient's own links.
#[derive(Debug)]
pub(crate) struct Footer {
    before_unsubscribe: String,
    before_manage: String,
    end: String,
}

impl Footer {
    fn new(project: &str, locale: Locale) -> Self {
        let (tag, texts) = (locale.tag(), locale.texts());
        let reason = html(texts.footer_reason, Values { project, email: "", topic: "" });
        Self {
            before_unsubscribe: format!(
                "<div lang=\"{tag}\" style=\"margin-top:24px;padding-top:16px;border-top:1px solid #d8d8d8;\
                 text-align:center;font-size:12px;line-height:1.5;color:#6b6b6b\">{reason}<br><a href=\""
            ),
            before_manage: format!(
                "\" style=\"color:#6b6b6b\">{}</a> &middot; <a href=\"",
                texts.unsubscribe
            ),
            end: format!("\" style=\"color:#6b6b6b\">{}</a></div>", texts.update_preferences),
        }
    }

    /// Inserts the footer, with the recipient's links escaped for HTML, where it is visible: before the end of the
    /// body, before an element that is never closed, or else at the beginning. Returns where it is.
    pub(crate) fn insert(&self, mail: &mut String, unsubscribe: &str, manage: &str) -> Range<usize> {
        let start = end_of_what_is_seen(mail);
        let rest = mail.split_off(start);
        let parts = [&self.before_unsubscribe, unsubscribe, &self.before_manage, manage, &self.end, &*rest];
        mail.reserve(parts.iter().map(|part| part.len()).sum());
        mail.extend(parts);
        start..mail.len() - rest.len()
    }
}

#[cfg(test)]
mod tests {
    use mailwright_core::ids::{ProjectId, ProjectNumber};
    use mailwright_core::time::Timestamp;

    use mailwright_core::project::Tracking;

    use super::*;

    fn footers(name: &str, language: &str) -> Footers {
        Footers::new(
            &Project {
                number: ProjectNumber(1),
                id: ProjectId::new(Timestamp(0), rand::random()),
                name: name.to_owned(),
                language: language.to_owned(),
                disabled: false,
                tracking: Tracking::Enabled,
                double_opt_in: false,
                consent_keeps_address: false,
            },
            false,
        )
    }

    fn with_footer(footers: &Footers, locale: Option<&str>, html: &str) -> String {
        let mut html = html.to_owned();
        footers.footer(locale).insert(&mut html, "https://m.test/unsubscribe/1", "https://m.test/manage/1");
        html
    }

    #[test]
    fn the_footer_stands_before_the_end_of_the_body() {
        let footers = footers("Acme", "en");
        let page = with_footer(&footers, None, "<html><BODY>é</BODY></html>");
        assert!(page.starts_with("<html><BODY>é<div lang=\"en\""), "{page}");
        assert!(page.ends_with("</div></BODY></html>"), "{page}");
        assert!(page.contains("<a href=\"https://m.test/unsubscribe/1\" style"), "{page}");
        assert!(page.contains("<a href=\"https://m.test/manage/1\" style"), "{page}");
        for fragment in ["", "x", "<p>é", "<!-- </body> -->é", "<p>é</p><div><table><tr><td>x"] {
            let page = with_footer(&footers, None, fragment);
            assert!(page.starts_with(&format!("{fragment}<div lang")) && page.ends_with("</div>"), "{page}");
        }
        let quoted = with_footer(&footers, None, "a</body>b</body>c");
        assert!(quoted.starts_with("a</body>b<div") && quoted.ends_with("</div></body>c"), "{quoted}");
    }

    #[test]
    fn the_footer_is_seen_whatever_is_left_open() {
        let footers = footers("Acme", "en");
        let open = [
            "<!-- ",
            "<!-- </body>",
            "<style>p {}",
            "<title>News",
            "<textarea>",
            "<iframe>",
            "<select>",
            "<select><option>",
            "<xmp>",
            "<plaintext>",
            "<template>",
            "<script>document.write('</body>')",
            "<script><!-- <script></script></body>",
            "<noscript>",
            "<svg>",
            "<details>",
            "<a href=\"https://example.com/",
            "<div style=\"display:none\">",
            "<div style=\"display:none\"><table><tr><td>",
            "<div style=\"display:none\"><table><tr><td></div>",
            "<div style=\"max-height:0;overflow:hidden\">",
            "<div hidden>",
            "<span style=\"font-size:0\">",
            "<p><font style=\"display:none\"></p>",
            "<div style=\"visibility:hidden\"><div>",
        ];
        for open in open {
            for (before, after) in [
                ("", ""),
                ("<p>Hello", ""),
                ("<p>Hello</p>", "<p>Bye"),
                ("<html><body><p>Hello</p>", "<p>Bye</p></body></html>"),
                ("<!doctype html><html><head><title>T</title></head><body>Hello", "Bye</body></html>"),
                ("<html><head>", "<body><p>Hello</p></body></html>"),
            ] {
                let page = with_footer(&footers, None, &format!("{before}{open}{after}"));
                let text = mailwright_mail::text::html_to_text(&page);
                assert!(text.contains("(https://m.test/unsubscribe/1)"), "{page}\n{text}");
                assert!(
                    !before.contains("body>Hello") || page.find("<body>") < page.find("<div lang"),
                    "{page}"
                );
            }
        }
        // what is closed is no reason to put it elsewhere
        for closed in [
            "<!-- </body> -->",
            "<script>'</body>'</script>",
            "<p style=\"display:none\">Preview<div>Hello</div>",
            "<table><tr><td style=\"display:none\">a<td>b</table>",
            "<div style=\"display:none\">Preview</div>",
            "<div style=\"font-size:0\"><div style=\"font-size:14px\">x</div></div>",
            "<select><option>a</select>",
            "<!--[if mso]><table></body><![endif]-->",
        ] {
            let page = with_footer(&footers, None, &format!("<html><body>{closed}</body></html>"));
            assert!(page.starts_with(&format!("<html><body>{closed}<div lang")), "{page}");
        }
    }

    #[test]
    fn each_recipient_reads_the_footer_in_their_language() {
        let footers = footers("<i>Tom</i> & Jerry", "nl");
        for (locale, tag, word) in
            [(Some("fr-CA"), "fr", "désabonner"), (None, "nl", "Afmelden"), (Some("da"), "nl", "Afmelden")]
        {
            for _ in 0..2 {
                let page = with_footer(&footers, locale, "");
                assert!(page.contains(&format!("<div lang=\"{tag}\"")) && page.contains(word), "{page}");
                assert!(page.contains("&lt;i&gt;Tom&lt;/i&gt; &amp; Jerry"), "{page}");
            }
        }
    }
}
