//! What makes programs distrust a mail, or take something out of it: facts of the mail, in words.

use mailwright_core::mail_check::{
    CAPITALS_FROM, CLIPPED_FROM, FEWEST_CHARACTERS, LARGE_FROM, LONGEST_SUBJECT, LinkProblem, MailWarning,
};

use super::links::{CheckedLink, is_misleading, is_short};
use super::looked::Looked;

/// A fact with what there is to say of it.
pub(super) type Warning = (MailWarning, String);

/// What is said of a mail.
pub(super) struct Facts<'a> {
    pub(super) looked: &'a Looked,
    /// Its links, with where they lead in the end.
    pub(super) links: &'a [CheckedLink],
    /// How many pictures it shows.
    pub(super) pictures: usize,
    /// How many of them do not say what they show.
    pub(super) undescribed: usize,
    /// Whether it is mail that nobody asked for one by one.
    pub(super) is_bulk: bool,
}

impl Facts<'_> {
    /// What makes programs distrust the mail, in the order of the codes.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        let mut found = self.of_links();
        found.extend(self.of_content());
        found.extend(self.of_subject());
        found.extend(self.of_size());
        found.sort_by_key(|(warning, _)| *warning as usize);
        found
    }

    fn of_links(&self) -> Vec<Warning> {
        let mut found = Vec::new();
        let mut misleading = self.looked.survey.links.iter().filter(|link| is_misleading(link));
        if let Some(first) = misleading.next() {
            let more = misleading.count();
            let others = if more > 0 { format!(" There are {more} more such links.") } else { String::new() };
            let text = format!(
                "A link reads as the address {:?}, and leads to another host. Mail programs may warn of the mail.{others}",
                first.text
            );
            found.push((MailWarning::MisleadingLink, text));
        }
        let insecure = self.links.iter().filter(|link| link.problem == Some(LinkProblem::NotHttps)).count();
        if insecure > 0 {
            let text = format!(
                "{} with http: and not with https:, so that anybody on the way can read and change what is there.",
                counted(insecure, "link begins", "links begin")
            );
            found.push((MailWarning::InsecureLink, text));
        }
        let short = self.links.iter().filter(|link| is_short(&link.target)).count();
        if short > 0 {
            let text = format!(
                "{} by way of a service that shortens addresses. Filters distrust what hides where it leads: use the \
                 whole address.",
                counted(short, "link leads", "links lead")
            );
            found.push((MailWarning::ShortLink, text));
        }
        found
    }

    fn of_content(&self) -> Vec<Warning> {
        let (mut found, looked) = (Vec::new(), self.looked);
        if !looked.survey.active.is_empty() {
            let text = format!("Mail programs take these elements out: {}.", looked.survey.active.join(", "));
            found.push((MailWarning::ActiveContent, text));
        }
        if self.is_bulk && !looked.has_unsubscribe {
            let text = "The mail is bulk mail, and has no header List-Unsubscribe. Large mailbox providers ask for it.";
            found.push((MailWarning::NoUnsubscribe, text.to_owned()));
        }
        if self.undescribed > 0 {
            let text = format!(
                "{} no alt: what it says to readers who do not see it. It may be empty.",
                counted(self.undescribed, "picture has", "pictures have")
            );
            found.push((MailWarning::UndescribedPicture, text));
        }
        if self.pictures > 0 && looked.characters < FEWEST_CHARACTERS {
            let text = format!(
                "The mail shows {}, and has {} of text without spaces and addresses. Filters distrust a mail that is \
                 a picture: write at least {FEWEST_CHARACTERS}.",
                counted(self.pictures, "picture", "pictures"),
                counted(looked.characters, "character", "characters")
            );
            found.push((MailWarning::LittleText, text));
        }
        if looked.has_empty_text {
            let text = "The plain text of the mail is empty. Programs that show no HTML have nothing else, and filters \
                        compare the two.";
            found.push((MailWarning::EmptyText, text.to_owned()));
        }
        found
    }

    fn of_subject(&self) -> Vec<Warning> {
        let (mut found, subject) = (Vec::new(), self.looked.subject.trim());
        if subject.is_empty() {
            found.push((MailWarning::NoSubject, "The mail has no subject.".to_owned()));
        }
        let length = subject.chars().count();
        if length > LONGEST_SUBJECT {
            let text = format!(
                "The subject has {length} characters. Lists of mails show {LONGEST_SUBJECT} of them at most."
            );
            found.push((MailWarning::LongSubject, text));
        }
        let capitals = subject.chars().filter(|c| c.is_uppercase()).count();
        if capitals >= CAPITALS_FROM && !subject.chars().any(char::is_lowercase) {
            let text = "The subject is in capitals, which filters count against a mail.";
            found.push((MailWarning::CapitalSubject, text.to_owned()));
        }
        found
    }

    fn of_size(&self) -> Vec<Warning> {
        let (mut found, looked) = (Vec::new(), self.looked);
        if looked.html_size > CLIPPED_FROM {
            let text = format!(
                "The HTML has {} KB. Gmail hides what is beyond {} KB.",
                looked.html_size.div_ceil(1024),
                CLIPPED_FROM / 1024
            );
            found.push((MailWarning::Clipped, text));
        }
        if looked.size > LARGE_FROM {
            let megabyte = 1024 * 1024;
            let text = format!(
                "The whole mail has {} MB, with its attachments as they are sent. Many servers refuse more than {} MB: \
                 send a link to large files.",
                looked.size.div_ceil(megabyte),
                LARGE_FROM / megabyte
            );
            found.push((MailWarning::Large, text));
        }
        found
    }
}

/// A number with what it counts.
fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use mailwright_mail::text::Survey;

    use super::super::links::checked;
    use super::*;

    fn looked(html: &str, subject: &str) -> Looked {
        Looked {
            survey: Survey::of(html),
            subject: subject.to_owned(),
            has_unsubscribe: false,
            is_one_click: false,
            is_bulk: false,
            characters: 0,
            has_empty_text: false,
            size: html.len(),
            html_size: html.len(),
        }
    }

    fn codes(looked: &Looked, is_bulk: bool) -> Vec<MailWarning> {
        let links = looked.survey.links.clone();
        let nowhere = vec![None; links.len()];
        let links = checked(links, nowhere);
        let pictures = &looked.survey.pictures;
        let facts = Facts {
            looked,
            links: &links,
            pictures: pictures.len(),
            undescribed: pictures.iter().filter(|picture| !picture.is_described).count(),
            is_bulk,
        };
        facts.warnings().into_iter().map(|(warning, _)| warning).collect()
    }

    #[test]
    fn facts_become_warnings() {
        let html = "<a href='https://evil.test'>https://bank.test/login</a><a href='https://acme.test/a'>https://www.acme.test</a>\
             <a href='https://evil.test'>our bank</a><script>1</script><form>";
        assert_eq!(
            codes(&looked(html, " "), true),
            [
                MailWarning::MisleadingLink,
                MailWarning::ActiveContent,
                MailWarning::NoUnsubscribe,
                MailWarning::NoSubject
            ]
        );
        assert_eq!(codes(&looked("<a href='https://acme.test'>acme.test</a>", "Hello"), false), []);
    }

    #[test]
    fn each_further_fact_has_its_warning() {
        let much = Looked {
            has_unsubscribe: true,
            has_empty_text: true,
            size: LARGE_FROM + 1,
            html_size: CLIPPED_FROM + 1,
            ..looked(
                "<img src=a><a href='http://acme.test'>a</a><a href='https://bit.ly/1'>b</a>",
                &"LOUD ".repeat(20),
            )
        };
        assert_eq!(
            codes(&much, true),
            [
                MailWarning::Clipped,
                MailWarning::Large,
                MailWarning::UndescribedPicture,
                MailWarning::LittleText,
                MailWarning::LongSubject,
                MailWarning::CapitalSubject,
                MailWarning::EmptyText,
                MailWarning::InsecureLink,
                MailWarning::ShortLink,
            ]
        );
    }

    #[test]
    fn what_is_just_within_a_number_is_fine() {
        let fine = Looked {
            characters: FEWEST_CHARACTERS,
            size: LARGE_FROM,
            html_size: CLIPPED_FROM,
            ..looked("<img src=a alt=''>", &"x".repeat(LONGEST_SUBJECT))
        };
        assert_eq!(codes(&fine, false), []);
        for (subject, is_loud) in
            [("OTP 4815", false), ("ÜBER ALLES!", true), ("BUY IT NOW", true), ("日本語の題名です。", false)]
        {
            assert_eq!(codes(&looked("", subject), false).is_empty(), !is_loud, "{subject}");
        }
    }
}
