//! What the service itself says to recipients, in one file per language.
//!
//! To correct a translation, edit its file. To add a language, copy `en.rs`, translate the text between the quotes, and
//! add the language to [`Locale`]. `{project}`, `{email}` and `{topic}` stay as they are, wherever the sentence needs them; a test
//! compares the placeholders of all languages. The texts of a language are one struct, so a missing text does not
//! compile.
//!
//! Values are escaped when a text becomes HTML ([`html`]). The texts themselves contain nothing that HTML reads as
//! markup; quotes and apostrophes are typographic (’).

mod bg;
mod cs;
mod cy;
mod de;
mod en;
mod es;
mod fr;
mod hi;
mod it;
mod ja;
mod nl;
mod pl;
mod pt;
mod sv;
mod zh_cn;
mod zh_hk;
mod zh_tw;

use super::Locale;
use crate::template_language::escape_html;

/// The texts of one language. `{project}`, `{email}` and `{topic}` stand for values, see [`html`].
#[derive(Debug)]
pub struct Texts {
    /// Footer of marketing mail: why it was sent. `{project}`
    pub footer_reason: &'static str,
    /// Footer: the link to the preferences page.
    pub update_preferences: &'static str,
    /// Heading of the page that shows the subscription and lets it be changed.
    pub preferences: &'static str,
    /// The button that ends the subscription, and the link in the footer.
    pub unsubscribe: &'static str,
    /// The button that starts a subscription.
    pub subscribe: &'static str,
    /// The button that takes back an unsubscription made a moment ago.
    pub subscribe_again: &'static str,
    /// Heading above [`Texts::unsubscribe_explanation`].
    pub unsubscribe_question: &'static str,
    /// What [`Texts::unsubscribe`] will do. `{email}`, `{project}`
    pub unsubscribe_explanation: &'static str,
    /// Heading once the subscription was ended.
    pub unsubscribed: &'static str,
    /// The state without a subscription. `{email}`, `{project}`
    pub not_subscribed: &'static str,
    /// Above [`Texts::subscribe_again`].
    pub changed_mind: &'static str,
    /// Heading above [`Texts::subscribe_explanation`].
    pub subscribe_question: &'static str,
    /// What [`Texts::subscribe`] will do. `{email}`, `{project}`
    pub subscribe_explanation: &'static str,
    /// Heading once a subscription was started.
    pub subscribed: &'static str,
    /// The state with a subscription. `{email}`, `{project}`
    pub is_subscribed: &'static str,
    /// Heading when nobody belongs to the link.
    pub invalid_link: &'static str,
    /// What to do about a link nobody belongs to.
    pub invalid_link_text: &'static str,
    /// Heading when the service cannot do it right now.
    pub failed: &'static str,
    /// What to do when the service cannot do it right now.
    pub failed_text: &'static str,
    /// Heading above the topics on the preferences page.
    pub topics_question: &'static str,
    /// The button that saves the chosen topics.
    pub save: &'static str,
    /// Heading once they are saved.
    pub saved: &'static str,
    /// The button that ends the whole subscription, where there are topics.
    pub unsubscribe_all: &'static str,
    /// What leaving a topic will do, or has done. `{email}`, `{topic}`, `{project}`
    pub topic_leave: &'static str,
    /// What joining a topic will do, or has done. `{email}`, `{topic}`, `{project}`
    pub topic_join: &'static str,
    /// Heading of the page, and of the mail, that asks to confirm a subscription.
    pub confirm_question: &'static str,
    /// The button that confirms, and the link in the mail.
    pub confirm: &'static str,
    /// Subject of the mail that asks to confirm. `{project}`
    pub confirm_subject: &'static str,
    /// What the mail asks. `{project}`, `{email}`
    pub confirm_request: &'static str,
    /// What becomes of the request when nobody confirms.
    pub confirm_ignore: &'static str,
}

impl Texts {
    /// The texts of a language.
    pub(super) fn of(locale: Locale) -> &'static Self {
        match locale {
            Locale::En => &en::TEXTS,
            Locale::Nl => &nl::TEXTS,
            Locale::Fr => &fr::TEXTS,
            Locale::Hi => &hi::TEXTS,
            Locale::De => &de::TEXTS,
            Locale::Pt => &pt::TEXTS,
            Locale::Bg => &bg::TEXTS,
            Locale::Cs => &cs::TEXTS,
            Locale::Cy => &cy::TEXTS,
            Locale::Pl => &pl::TEXTS,
            Locale::Es => &es::TEXTS,
            Locale::It => &it::TEXTS,
            Locale::ZhTw => &zh_tw::TEXTS,
            Locale::ZhHk => &zh_hk::TEXTS,
            Locale::ZhCn => &zh_cn::TEXTS,
            Locale::Ja => &ja::TEXTS,
            Locale::Sv => &sv::TEXTS,
        }
    }
}

/// What a text speaks of.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    /// Name of the project, for `{project}`.
    pub project: &'a str,
    /// Address of the recipient, for `{email}`.
    pub email: &'a str,
    /// Name of a topic, for `{topic}`.
    pub topic: &'a str,
}

/// A text as HTML, with the values in place of the placeholders, escaped.
pub fn html(text: &str, values: Values<'_>) -> String {
    filled(text, values, escape_html)
}

/// A text as it is, with the values in place of the placeholders: for what escapes it later.
pub fn plain(text: &str, values: Values<'_>) -> String {
    filled(text, values, str::to_owned)
}

fn filled(text: &str, values: Values<'_>, written: impl Fn(&str) -> String) -> String {
    let mut filled = String::with_capacity(text.len() + values.project.len() + values.email.len());
    let mut rest = text;
    while let Some((before, name, after)) = placeholder(rest) {
        filled.push_str(before);
        match name {
            "project" => filled.push_str(&written(values.project)),
            "email" => filled.push_str(&written(values.email)),
            "topic" => filled.push_str(&written(values.topic)),
            other => filled.extend(["{", other, "}"]),
        }
        rest = after;
    }
    filled + rest
}

/// The first placeholder of a text: what stands before it, its name, and what comes after it.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every text of a language, in one order. A field that is missing here does not compile.
    fn all(texts: &Texts) -> Vec<&'static str> {
        let Texts {
            footer_reason,
            update_preferences,
            preferences,
            unsubscribe,
            subscribe,
            subscribe_again,
            unsubscribe_question,
            unsubscribe_explanation,
            unsubscribed,
            not_subscribed,
            changed_mind,
            subscribe_question,
            subscribe_explanation,
            subscribed,
            is_subscribed,
            invalid_link,
            invalid_link_text,
            failed,
            failed_text,
            topics_question,
            save,
            saved,
            unsubscribe_all,
            topic_leave,
            topic_join,
            confirm_question,
            confirm,
            confirm_subject,
            confirm_request,
            confirm_ignore,
        } = *texts;
        vec![
            footer_reason,
            update_preferences,
            preferences,
            unsubscribe,
            subscribe,
            subscribe_again,
            unsubscribe_question,
            unsubscribe_explanation,
            unsubscribed,
            not_subscribed,
            changed_mind,
            subscribe_question,
            subscribe_explanation,
            subscribed,
            is_subscribed,
            invalid_link,
            invalid_link_text,
            failed,
            failed_text,
            topics_question,
            save,
            saved,
            unsubscribe_all,
            topic_leave,
            topic_join,
            confirm_question,
            confirm,
            confirm_subject,
            confirm_request,
            confirm_ignore,
        ]
    }

    fn placeholders(text: &str) -> Vec<&str> {
        let mut names: Vec<&str> = std::iter::successors(placeholder(text), |(_, _, rest)| placeholder(rest))
            .map(|(_, name, _)| name)
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn every_language_says_everything_with_the_placeholders_of_english() {
        let english = all(Texts::of(Locale::En));
        for locale in Locale::ALL {
            for (text, english) in all(locale.texts()).into_iter().zip(&english) {
                assert_eq!(placeholders(text), placeholders(english), "{locale:?}: {text}");
                assert!(!text.is_empty() && text.trim() == text, "{locale:?}: {text:?}");
                assert!(!text.contains(['<', '>', '&', '"', '\'']), "not fit for HTML: {locale:?}: {text}");
                let braces = text.matches(['{', '}']).count();
                assert_eq!(braces, 2 * placeholders(text).len(), "a brace too many: {locale:?}: {text}");
            }
        }
        assert_eq!(placeholders(Texts::of(Locale::En).footer_reason), ["project"]);
        assert_eq!(placeholders(Texts::of(Locale::En).is_subscribed), ["email", "project"]);
    }

    #[test]
    fn no_language_was_left_in_the_words_of_another() {
        let reasons: BTreeSet<&str> = Locale::ALL.iter().map(|locale| locale.texts().footer_reason).collect();
        assert_eq!(reasons.len(), Locale::ALL.len());
    }

    #[test]
    fn values_are_escaped_and_not_filled_in_again() {
        let values = Values { project: "<b>{email}</b> & 'Co'", email: "\"a\"@example.com", topic: "<i>" };
        assert_eq!(
            html("{email} – {project}.", values),
            "&quot;a&quot;@example.com – &lt;b&gt;{email}&lt;/b&gt; &amp; &#39;Co&#39;."
        );
        assert_eq!(html("{topic}", values), "&lt;i&gt;");
        assert_eq!(plain("{email}: {topic}", values), "\"a\"@example.com: <i>");
        assert_eq!(html("a {b} c {", values), "a {b} c {");
    }
}
