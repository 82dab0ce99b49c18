//! What name and language of a project put into its mails, prepared once for all of them.

use std::sync::OnceLock;

use mailwright_core::locale::Locale;
use mailwright_core::locale::texts::{Values, html};
use mailwright_core::project::Project;

/// A project as its mails show it. It is made anew when the project is read again, so it holds what goes with one name.
#[derive(Debug)]
pub(crate) struct Letterhead {
    /// Whose mails these are.
    pub(crate) project: Project,
    footers: [OnceLock<Footer>; Locale::ALL.len()],
}

impl Letterhead {
    pub(crate) fn new(project: &Project) -> Self {
        Self { project: project.clone(), footers: [const { OnceLock::new() }; Locale::ALL.len()] }
    }

    /// The footer for a recipient whose `locale` is this. The first mail in a language makes it for all others.
    pub(crate) fn footer(&self, locale: Option<&str>) -> &Footer {
        let locale = Locale::resolve(locale, &self.project.language);
        self.footers[locale as usize].get_or_init(|| Footer::new(&self.project.name, locale))
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
        let reason = html(texts.footer_reason, Values { project, email: "" });
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

    /// Puts the footer, with the recipient's links as HTML has them, before the end of the body, or at the end where there is none.
    pub(crate) fn insert(&self, mail: &mut String, unsubscribe: &str, manage: &str) {
        let end_of_body = mail.as_bytes().windows(7).rposition(|part| part.eq_ignore_ascii_case(b"</body>"));
        let rest = mail.split_off(end_of_body.unwrap_or(mail.len()));
        let parts = [&self.before_unsubscribe, unsubscribe, &self.before_manage, manage, &self.end, &rest];
        mail.reserve(parts.iter().map(|part| part.len()).sum());
        mail.extend(parts);
    }
}

#[cfg(test)]
mod tests {
    use mailwright_core::ids::{ProjectId, ProjectNumber};
    use mailwright_core::time::Timestamp;

    use super::*;

    fn letterhead(name: &str, language: &str) -> Letterhead {
        Letterhead::new(&Project {
            number: ProjectNumber(1),
            id: ProjectId::new(Timestamp(0)),
            name: name.to_owned(),
            language: language.to_owned(),
            disabled: false,
        })
    }

    fn with_footer(letterhead: &Letterhead, locale: Option<&str>, html: &str) -> String {
        let mut html = html.to_owned();
        letterhead.footer(locale).insert(
            &mut html,
            "https://m.test/unsubscribe/1",
            "https://m.test/manage/1",
        );
        html
    }

    #[test]
    fn the_footer_stands_before_the_end_of_the_body() {
        let letterhead = letterhead("Acme", "en");
        let page = with_footer(&letterhead, None, "<html><BODY>é</BODY></html>");
        assert!(page.starts_with("<html><BODY>é<div lang=\"en\""), "{page}");
        assert!(page.ends_with("</div></BODY></html>"), "{page}");
        assert!(page.contains("<a href=\"https://m.test/unsubscribe/1\" style"), "{page}");
        assert!(page.contains("<a href=\"https://m.test/manage/1\" style"), "{page}");
        for fragment in ["", "x", "</body", "<p>é"] {
            let page = with_footer(&letterhead, None, fragment);
            assert!(page.starts_with(&format!("{fragment}<div lang")) && page.ends_with("</div>"), "{page}");
        }
        let quoted = with_footer(&letterhead, None, "a</body>b</body>c");
        assert!(quoted.starts_with("a</body>b<div") && quoted.ends_with("</div></body>c"), "{quoted}");
    }

    #[test]
    fn each_recipient_reads_the_footer_in_their_language() {
        let letterhead = letterhead("<i>Tom</i> & Jerry", "nl");
        for (locale, tag, word) in
            [(Some("fr-CA"), "fr", "désabonner"), (None, "nl", "Afmelden"), (Some("da"), "nl", "Afmelden")]
        {
            for _ in 0..2 {
                let page = with_footer(&letterhead, locale, "");
                assert!(page.contains(&format!("<div lang=\"{tag}\"")) && page.contains(word), "{page}");
                assert!(page.contains("&lt;i&gt;Tom&lt;/i&gt; &amp; Jerry"), "{page}");
            }
        }
    }
}
