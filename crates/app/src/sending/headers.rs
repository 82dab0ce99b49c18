//! The headers that tell programs what kind of mail this is and how to leave its list.

use mailwright_core::email::EmailSource;
use mailwright_core::ids::ProjectId;
use mailwright_core::project::Project;
use mailwright_core::template::TemplateType;
use mailwright_mail::tls_report::{DOMAIN_FIELD, REPORT_TYPE};
use mailwright_store::sending::email::Claimed;

use crate::sending::content::Prepared;

/// The longest list identifier (RFC 2919 section 2).
const MAX_LIST_ID: usize = 255;

/// The service's own headers, then the sender's, which come last and so win (reference 4.4). `unsubscribe` is the page
/// where the recipient leaves the list, and whether its address is https.
pub(super) fn of(
    mail: &Claimed,
    content: &Prepared,
    (unsubscribe, is_https): (&str, bool),
    project: ProjectId,
) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    let mut add = |name: &str, value: String| headers.push((name.to_owned(), value));
    let marketing = mail.kind == TemplateType::Marketing;
    let campaign = mail.source == EmailSource::Campaign || mail.campaign.is_some();
    let workflow = mail.source == EmailSource::Workflow;
    // what a campaign or a workflow sends without a footer is bulk as well, and receivers want a way out of it
    let is_list = marketing || ((campaign || workflow) && mail.kind != TemplateType::Transactional);
    // who sets one of the pair takes over both
    let own = content.headers.iter().any(|(name, _)| {
        name.eq_ignore_ascii_case("List-Unsubscribe") || name.eq_ignore_ascii_case("List-Unsubscribe-Post")
    });
    if (is_list || content.has_subscription_link()) && !own {
        add("List-Unsubscribe", format!("<{unsubscribe}>"));
        // RFC 8058 section 3.1 asks for https, and programs show no button without
        if is_https {
            add("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".to_owned());
        }
    }
    if is_list {
        let id = format!("{}.{}", project, mail.from.domain());
        if id.len() <= MAX_LIST_ID {
            add("List-Id", format!("<{id}>"));
        }
    }
    if is_list || campaign {
        add("Precedence", "bulk".to_owned());
        // not `All`: that asks Exchange to keep bounces back as well (MS-OXCMAIL section 2.1.3.2.20)
        add("X-Auto-Response-Suppress", "OOF, AutoReply".to_owned());
    }
    if is_list || campaign || workflow {
        add("Auto-Submitted", "auto-generated".to_owned());
    }
    add("Feedback-ID", feedback_id(mail, project));
    headers.extend(content.headers.iter().cloned());
    headers
}

/// The type of the report that a mail is: a report about TLS, which the instance itself sends (RFC 8460 section 5.3).
pub(super) fn report_type(project: &Project, content: &Prepared) -> Option<&'static str> {
    let names_domain = content.headers.iter().any(|(name, _)| name == DOMAIN_FIELD);
    (project.is_system() && names_domain).then_some(REPORT_TYPE)
}

/// By what Gmail counts complaints: the campaign or template, the type of the mail, where it came from, and the sender.
/// The last has 5 to 15 characters, and is the same in all of a project's mail
/// (<https://support.google.com/a/answer/6254652>).
fn feedback_id(mail: &Claimed, project: ProjectId) -> String {
    let batch = match (mail.campaign, mail.template) {
        (Some(campaign), _) => campaign.to_string(),
        (None, Some(template)) => template.to_string(),
        (None, None) => "none".to_owned(),
    };
    let [kind, source] = [mail.kind.as_str(), mail.source.as_str()].map(str::to_ascii_lowercase);
    let project = project.as_uuid().simple().to_string();
    // the end of the id is random, the beginning is a time
    format!("{batch}:{kind}:{source}:{}", &project[project.len() - 12..])
}
