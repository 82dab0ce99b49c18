//! What is wrong with a mail that somebody writes, and what could be better.

use std::collections::BTreeSet;

use mailwright_core::ids::TopicId;
use mailwright_core::mail_check::CLIPPED_FROM;
use mailwright_core::names;
use mailwright_core::project::Project;
use mailwright_core::template::TemplateType;
use mailwright_core::template_language::{self, Template};
use mailwright_mail::mjml;
use mailwright_mail::text::{dead_links, links, pictures_without_alt};
use mailwright_store::audience::{contact_field, topic};
use mailwright_store::body;
use serde_json::Value;

use crate::App;
use crate::error::Result;

/// The most problems of one kind that are told.
pub const MAX_OF_A_KIND: usize = 20;
/// The most names that are told.
pub const MAX_NAMES: usize = 500;

/// What there is to say about a link that leads nowhere.
pub(super) const DEAD_LINK: &str = "A button or a link leads nowhere. Give it an address, or remove it.";

/// Names that every mail knows, or that its way brings: the recipient's, those of the recipient's pages, the name that
/// comes with a recipient, and what a workflow was started with.
const STANDARD: [&str; 12] = [
    "data",
    "email",
    "event",
    "id",
    "locale",
    "manageUrl",
    "name",
    "subscribed",
    "subscribeUrl",
    "svc_email",
    "svc_id",
    "unsubscribeUrl",
];

/// A mail that somebody writes.
#[derive(Debug, Clone)]
pub struct Written {
    /// Subject, with variables.
    pub subject: String,
    /// HTML or MJML, with variables.
    pub content: Markup,
    /// What kind of mail it is.
    pub kind: TemplateType,
}

/// What the content of a mail is written in.
#[derive(Debug, Clone)]
pub enum Markup {
    /// HTML.
    Html(String),
    /// MJML.
    Mjml(String),
}

impl Markup {
    /// The field that requests have it in.
    fn field(&self) -> &'static str {
        match self {
            Self::Html(_) => "body",
            Self::Mjml(_) => "mjml",
        }
    }

    fn source(&self) -> &str {
        match self {
            Self::Html(source) | Self::Mjml(source) => source,
        }
    }

    /// The HTML.
    pub(super) fn html(&self) -> std::result::Result<String, mjml::Fault> {
        match self {
            Self::Html(html) => Ok(html.clone()),
            Self::Mjml(source) => mjml::to_html(source),
        }
    }
}

names! {
    /// How bad something is.
    pub enum Severity {
        /// The mail cannot be saved or sent like this.
        Error = "error",
        /// It can.
        Warning = "warning",
    }
}

/// Something that is wrong with a mail, or could be better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// What kind of problem it is, for programs.
    pub code: &'static str,
    /// What is wrong and what to do about it.
    pub message: String,
    /// The field that it is in.
    pub field: &'static str,
    /// Line and column in the field, from 1, where they are known.
    pub place: Option<(u32, u32)>,
}

/// A name that a mail uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The name.
    pub name: String,
    /// Whether every mail has it, or the project has such a field.
    pub is_known: bool,
}

/// What there is to say about a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What is wrong with it.
    pub problems: Vec<Problem>,
    /// The names that it uses, in their order.
    pub variables: Vec<Variable>,
    /// Bytes of its HTML.
    pub bytes: usize,
    /// Whether its recipients can unsubscribe by it.
    pub has_unsubscribe: bool,
}

impl App {
    /// Looks at a mail that somebody writes.
    pub async fn check_written(
        &self,
        project: &Project,
        written: Written,
        topic: Option<TopicId>,
    ) -> Result<Report> {
        let known = self.known_to_mails(project, topic).await?;
        self.apart(project, move || report(&written, &known)).await
    }

    /// What the project of a mail knows.
    pub(crate) async fn known_to_mails(&self, project: &Project, asked: Option<TopicId>) -> Result<Known> {
        let number = project.number;
        self.read(body!(async |rx| {
            let fields = contact_field::all(rx, number).await?.into_iter().map(|field| field.name).collect();
            let is_topic_missing = match asked {
                Some(id) => topic::get(rx, number, id).await?.is_none(),
                None => false,
            };
            Ok(Known { fields, is_topic_missing })
        }))
        .await
    }
}

/// What a project knows.
#[derive(Debug, Default)]
pub(crate) struct Known {
    fields: BTreeSet<String>,
    /// Whether a topic was named that there is not.
    is_topic_missing: bool,
}

/// Whether a reader sees a gap where a mail has a value.
pub(crate) fn is_blank(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(_) => false,
    }
}

/// What there is to say about a mail. It takes time that grows with the mail.
pub(super) fn report(written: &Written, known: &Known) -> Report {
    let mut problems = Vec::new();
    let field = written.content.field();
    problems.extend(syntax("subject", &written.subject));
    problems.extend(syntax(field, written.content.source()));
    let html = written.content.html().unwrap_or_else(|fault| {
        let place = fault.place.map(|place| (place.line, place.column));
        problems.push(Problem {
            severity: Severity::Error,
            code: "invalid_mjml",
            message: fault.message,
            field,
            place,
        });
        String::new()
    });
    if known.is_topic_missing {
        let text = "There is no such topic. Choose another one, or none.";
        problems.push(problem(Severity::Error, "unknown_topic", text, "topicId"));
    }
    let subject = Template::parse_lenient(&written.subject).variables();
    let body = Template::parse_lenient(&html);
    if let Some(text) = constant_conditions(&body) {
        problems.push(problem(Severity::Warning, "constant_condition", text, field));
    }
    let body = body.variables();
    problems.extend(unknown(&subject, "subject", known));
    problems.extend(unknown(&body, field, known));
    let has_link = body.contains("unsubscribeUrl") || body.contains("manageUrl");
    if written.kind == TemplateType::Headless && !has_link && !html.is_empty() {
        let text = "Nothing in the mail lets its recipients unsubscribe. Add a link to {{unsubscribeUrl}}.";
        problems.push(problem(Severity::Warning, "no_unsubscribe_link", text, field));
    }
    problems.extend(of_html(&html, &written.content));
    let names: BTreeSet<&String> = subject.iter().chain(&body).collect();
    let variable = |name: &String| Variable { name: name.clone(), is_known: known.has(name) };
    Report {
        problems,
        variables: names.into_iter().take(MAX_NAMES).map(variable).collect(),
        bytes: html.len(),
        has_unsubscribe: written.kind == TemplateType::Marketing || has_link,
    }
}

/// What there is to say about conditions of a mail that look at nothing.
pub(super) fn constant_conditions(template: &Template) -> Option<String> {
    let count = template.constant_conditions();
    let which = match count {
        0 => return None,
        1 => "A condition depends on nothing".to_owned(),
        _ => format!("{count} conditions depend on nothing"),
    };
    Some(format!("{which}, so that every recipient gets the same. Set what decides."))
}

impl Known {
    /// Whether every mail has a value of this name, or contacts may have one.
    pub(crate) fn has(&self, name: &str) -> bool {
        STANDARD.contains(&name) || self.fields.contains(name)
    }
}

fn problem(severity: Severity, code: &'static str, text: impl Into<String>, field: &'static str) -> Problem {
    Problem { severity, code, message: text.into(), field, place: None }
}

/// The error in the templates' language.
fn syntax(field: &'static str, source: &str) -> Option<Problem> {
    let error = Template::parse(source).err()?;
    let place = Some((error.line, error.column));
    Some(Problem {
        severity: Severity::Error,
        code: "invalid_template",
        message: error.message,
        field,
        place,
    })
}

/// Names that no mail of the project knows by itself.
fn unknown<'n>(
    names: &'n BTreeSet<String>,
    field: &'static str,
    known: &'n Known,
) -> impl Iterator<Item = Problem> + 'n {
    let unknown = names.iter().filter(|name| !known.has(name)).take(MAX_OF_A_KIND);
    unknown.map(move |name| {
        let text = format!(
            "No contact has the field `{}`. Correct the name, or send the value with the mail.",
            name.chars().take(100).collect::<String>()
        );
        problem(Severity::Warning, "unknown_variable", text, field)
    })
}

/// What the HTML of a mail has and lacks.
fn of_html(html: &str, content: &Markup) -> Vec<Problem> {
    let field = content.field();
    let mut problems = Vec::new();
    // of HTML that was made from MJML nobody knows where it is from
    let at = |offset: usize| match content {
        Markup::Html(source) => Some(place(source, offset)),
        Markup::Mjml(_) => None,
    };
    let masked = template_language::masked(html);
    for offset in pictures_without_alt(&masked, MAX_OF_A_KIND) {
        let text = "The picture has no `alt`: what it says to readers who do not see it. It may be empty.";
        problems.push(Problem { place: at(offset), ..problem(Severity::Warning, "no_alt", text, field) });
    }
    let is_plain =
        |target: &str| target.trim_start().get(..5).is_some_and(|start| start.eq_ignore_ascii_case("http:"));
    let plain =
        links(html, &masked).into_iter().filter(|link| html.get(link.range.clone()).is_some_and(is_plain));
    for link in plain.take(MAX_OF_A_KIND) {
        let text = "The link begins with http: and not with https:, so that anybody on the way can read and change it.";
        problems.push(Problem {
            place: at(link.range.start),
            ..problem(Severity::Warning, "insecure_link", text, field)
        });
    }
    for offset in dead_links(&masked, MAX_OF_A_KIND) {
        let problem = problem(Severity::Warning, "dead_link", DEAD_LINK, field);
        problems.push(Problem { place: at(offset), ..problem });
    }
    if html.len() > CLIPPED_FROM {
        let text = format!(
            "The HTML has {} KB. Gmail hides what is beyond {} KB.",
            html.len().div_ceil(1024),
            CLIPPED_FROM / 1024
        );
        problems.push(problem(Severity::Warning, "clipped", text, field));
    }
    problems
}

/// Line and column of an offset in a text, from 1.
fn place(source: &str, offset: usize) -> (u32, u32) {
    let before = source.get(..offset).unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line as u32, column as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A problem's code, its field, and its line and column.
    type Found = (&'static str, &'static str, Option<(u32, u32)>);

    fn codes(report: &Report) -> Vec<Found> {
        report.problems.iter().map(|problem| (problem.code, problem.field, problem.place)).collect()
    }

    fn checked(subject: &str, content: Markup, kind: TemplateType) -> Report {
        let known = Known { fields: BTreeSet::from(["plan".to_owned()]), is_topic_missing: false };
        report(&Written { subject: subject.to_owned(), content, kind }, &known)
    }

    #[test]
    fn each_problem_has_its_place() {
        let html = "<p>{{plan}} {{plam}}\n<img src=a> <a href='HTTP://x.test'>x</a> <a href=' '>y</a>\n{% if";
        let found = checked("{{name | upcas}}", Markup::Html(html.to_owned()), TemplateType::Headless);
        assert_eq!(
            codes(&found),
            [
                ("invalid_template", "subject", Some((1, 10))),
                ("invalid_template", "body", Some((3, 1))),
                ("unknown_variable", "body", None),
                ("no_unsubscribe_link", "body", None),
                ("no_alt", "body", Some((2, 1))),
                ("insecure_link", "body", Some((2, 22))),
                ("dead_link", "body", Some((2, 43))),
            ]
        );
        let names: Vec<_> = found.variables.iter().map(|it| (it.name.as_str(), it.is_known)).collect();
        assert_eq!(names, [("name", true), ("plam", false), ("plan", true)]);
        assert!(!found.has_unsubscribe && found.bytes == html.len());
    }

    #[test]
    fn conditions_that_look_at_nothing_are_told_once() {
        for (html, expected) in [
            ("{% if plan %}a{% endif %}", vec![]),
            ("{% if true %}a{% endif %}{% if 1 %}b{% endif %}", vec![("constant_condition", "body", None)]),
        ] {
            let found = checked("x", Markup::Html(html.to_owned()), TemplateType::Transactional);
            assert_eq!(codes(&found), expected, "{html}");
        }
    }

    #[test]
    fn mjml_is_looked_at_as_what_it_becomes() {
        let mjml = "<mjml><mj-body><mj-section><mj-column><mj-text><a href='{{unsubscribeUrl}}'>x</a> <img src='a'>\
                    </mj-text></mj-column></mj-section></mj-body></mjml>";
        let found = checked("x", Markup::Mjml(mjml.to_owned()), TemplateType::Headless);
        assert_eq!(codes(&found), [("no_alt", "mjml", None)]);
        assert!(found.has_unsubscribe && found.bytes > mjml.len());
        let button = "<mjml><mj-body><mj-section><mj-column><mj-button href=''>Go</mj-button></mj-column></mj-section>\
                      </mj-body></mjml>";
        let dead = checked("x", Markup::Mjml(button.to_owned()), TemplateType::Marketing);
        assert_eq!(codes(&dead), [("dead_link", "mjml", None)]);
        let broken = checked("x", Markup::Mjml("<mjml>\n<p/></mjml>".to_owned()), TemplateType::Headless);
        assert_eq!(codes(&broken), [("invalid_mjml", "mjml", Some((2, 1)))]);
    }

    #[test]
    fn what_gmail_hides_is_told_and_what_is_told_is_bounded() {
        let long = "<img>{{a}}".repeat(CLIPPED_FROM / 10 + 1);
        let found = checked("x", Markup::Html(long), TemplateType::Marketing);
        assert_eq!(found.problems.len(), MAX_OF_A_KIND + 2);
        assert_eq!(found.problems.last().map(|problem| problem.code), Some("clipped"));
        assert!(found.has_unsubscribe, "by its footer");
        let names: Vec<_> = (0..MAX_NAMES + 9).map(|number| format!("{{{{n{number}}}}}")).collect();
        let names = names.concat();
        let found = checked("x", Markup::Html(names), TemplateType::Transactional);
        assert_eq!((found.variables.len(), found.problems.len()), (MAX_NAMES, MAX_OF_A_KIND));
    }
}
