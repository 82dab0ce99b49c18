//! What the mails of a request say, and from whom they come: what the request leaves out is filled from its template.

use mailwright_core::address::{EmailAddress, Mailbox};
use mailwright_core::ids::{TemplateId, TopicId};
use mailwright_core::issue::Issue;
use mailwright_core::template::{Template, TemplateType};

use super::request::Send;
use crate::error::{Error, Result};
use crate::sending::content::{File, INLINE_KIND};

/// What the mails of a request say, and from whom they come.
#[derive(Debug)]
pub(crate) struct Filled {
    pub(crate) subject: String,
    pub(crate) body: String,
    pub(crate) text: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) attachments: Vec<File>,
    pub(crate) tracking: Option<bool>,
    pub(crate) from: EmailAddress,
    pub(crate) from_name: Option<String>,
    pub(crate) reply_to: Option<EmailAddress>,
    pub(crate) template: Option<TemplateId>,
    pub(crate) topic: Option<TopicId>,
    pub(crate) kind: TemplateType,
}

impl Filled {
    /// Takes it out of a request. `template` is the one that the request names.
    pub(crate) fn of(send: &mut Send, template: Option<Template>) -> Result<Self> {
        let kind = template.as_ref().map_or(INLINE_KIND, |t| t.kind);
        let template_id = template.as_ref().map(|t| t.id);
        let topic = template.as_ref().and_then(|t| t.topic);
        let tracking = send.tracking.or(template.as_ref().and_then(|t| t.tracking));
        let (mut subject, mut body, mut from_template, mut name_template, mut reply_template) =
            Default::default();
        if let Some(t) = template {
            (subject, body) = (t.subject, t.body);
            (from_template, name_template, reply_template) =
                (still_valid(&t.from), t.from_name, t.reply_to.as_ref().and_then(still_valid));
        }
        let (from, from_name) = match send.from.take() {
            Some((address, name)) => (address, name.or(send.from_name.take())),
            None => (
                from_template.ok_or_else(|| {
                    Error::Invalid(vec![Issue::new(
                        "from",
                        "required",
                        "A sender is required: pass from, or a template that has one.",
                    )])
                })?,
                send.from_name.take(),
            ),
        };
        let (reply, reply_name) = send.reply.take().unzip();
        let reply_to = reply.or(reply_template);
        let reply_to = reply_to.or_else(|| Some(from.clone()));
        let mut headers = std::mem::take(&mut send.headers);
        add_reply_name(&mut headers, reply_to.as_ref(), reply_name.flatten());
        Ok(Self {
            subject: send.subject.take().unwrap_or(subject),
            body: send.body.take().unwrap_or(body),
            text: send.text.take(),
            headers,
            attachments: std::mem::take(&mut send.attachments),
            tracking,
            from,
            from_name: from_name.or(name_template),
            reply_to,
            template: template_id,
            topic,
            kind,
        })
    }
}

/// The address of a template, if requests may still name it: earlier versions took some that are refused now.
fn still_valid(stored: &EmailAddress) -> Option<EmailAddress> {
    EmailAddress::parse(stored.as_str())
}

/// A mail's row has the reply address; a name for it goes the way of the headers, unless the request has one of its own
/// there.
fn add_reply_name(headers: &mut Vec<(String, String)>, to: Option<&EmailAddress>, name: Option<String>) {
    let is_own = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("Reply-To"));
    if let (Some(address), Some(name), false) = (to, name, is_own) {
        let mailbox = Mailbox { name: Some(name), address: address.to_string() };
        headers.push(("Reply-To".to_owned(), mailbox.to_text()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_of_an_earlier_version_is_checked_again() {
        for (stored, still) in [("ada@example.com", true), ("-ada@example.com", false)] {
            let stored = EmailAddress::from_stored(stored);
            assert_eq!(still_valid(&stored), still.then_some(stored.clone()));
        }
    }
}
