//! What a campaign says, as its review looks at it. It takes time that grows with the mail.

use std::collections::BTreeSet;

use mailwright_core::campaign_review::ReviewCode;
use mailwright_core::mail_check::CLIPPED_FROM;
use mailwright_core::template::TemplateType;
use mailwright_core::template_language::{self, Template};
use mailwright_mail::text::dead_links;

use crate::error::Error;
use crate::sending::check::{DEAD_LINK, MAX_NAMES, constant_conditions};
use crate::sending::content::FIXED;
use crate::sending::source::check_syntax;

/// What every contact has a value for, besides what every mail has.
const ALWAYS: [&str; 2] = ["subscribed", "data"];

/// Something that may be wrong: what, the field that it is in, and it in words.
pub(super) type Found = (ReviewCode, String, String);

/// What was found in the text of a campaign.
pub(super) struct Text {
    /// Errors in the templates' language.
    pub(super) errors: Vec<Found>,
    /// The names of values that it writes with nothing in their place, [`MAX_NAMES`] at most.
    pub(super) names: BTreeSet<String>,
    /// What else may be wrong.
    pub(super) problems: Vec<Found>,
}

impl Text {
    pub(super) fn of(subject: &str, body: &str, kind: TemplateType) -> Self {
        let parsed = Template::parse_lenient(body);
        let mut names = Template::parse_lenient(subject).bare_variables();
        names.extend(parsed.bare_variables());
        names.retain(|name| !FIXED.contains(&name.as_str()) && !ALWAYS.contains(&name.as_str()));
        let names = names.into_iter().take(MAX_NAMES).collect();
        Self { errors: errors(subject, body), names, problems: problems(body, &parsed, kind) }
    }
}

fn errors(subject: &str, body: &str) -> Vec<Found> {
    let Err(Error::Syntax(issues)) = check_syntax([("subject", Some(subject)), ("body", Some(body))]) else {
        return Vec::new();
    };
    issues.into_iter().map(|issue| (ReviewCode::InvalidTemplate, issue.field, issue.message)).collect()
}

fn problems(body: &str, parsed: &Template, kind: TemplateType) -> Vec<Found> {
    let mut problems = Vec::new();
    let mut add = |code, message| problems.push((code, "body".to_owned(), message));
    let leads_out = ["unsubscribeUrl", "manageUrl"].iter().any(|name| parsed.uses(name));
    if kind == TemplateType::Headless && !leads_out {
        let text = "The mail has no footer, and no link with {{unsubscribeUrl}} or {{manageUrl}}: its readers have no way \
                    out but the button of their mail program.";
        add(ReviewCode::NoUnsubscribeLink, text.to_owned());
    }
    if let Some(text) = constant_conditions(parsed) {
        add(ReviewCode::ConstantCondition, text);
    }
    if !dead_links(&template_language::masked(body), 1).is_empty() {
        add(ReviewCode::DeadLink, DEAD_LINK.to_owned());
    }
    if body.len() > CLIPPED_FROM {
        let text = format!(
            "The body has {} KB. Gmail shows the beginning of a mail of more than {} KB, without its end.",
            body.len() / 1024,
            CLIPPED_FROM / 1024
        );
        add(ReviewCode::Clipped, text);
    }
    problems
}
