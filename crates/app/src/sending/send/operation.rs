//! The operation that a request to send becomes: what it leaves out is filled from the template, and its content is
//! composed and bounded.

use std::sync::Arc;

use mailwright_core::address::EmailAddress;
use mailwright_core::contact::Subscription;
use mailwright_core::custom_data::{self, Data, DataPatch};
use mailwright_core::email::Lane;
use mailwright_core::ids::{ProjectNumber, TemplateId, TopicId};
use mailwright_core::issue::Issue;
use mailwright_core::project::Project;
use mailwright_core::template::{Template, TemplateType};
use mailwright_core::template_language::MAX_OUTPUT;
use mailwright_core::time::Timestamp;
use mailwright_store::project::api_key::KeyHash;
use mailwright_store::sending::content::{Bytes, Content};
use mailwright_store::sending::idempotency::Claim;

use super::filled::Filled;
use super::request::{Recipient, Send};
use crate::App;
use crate::error::{Error, Result};
use crate::project::key::Identity;
use crate::sending::content::{File, INLINE_KIND, Prepared, bound, compose, share};
use crate::sending::idempotency::IdempotencyKey;

/// Most bytes of data that a request writes with its contacts and mails: recipients times what each is stored with.
const MAX_WRITTEN: usize = 8 * 1024 * 1024;
/// Most bytes of body and attachments that a request sends: recipients times what each is sent.
const MAX_SENT: usize = 1024 * 1024 * 1024;
/// Most bytes that values and loops add to what the mails of a request say, all mails together.
const MAX_GROWN: usize = 256 * 1024 * 1024;
/// From so many bytes on, values that are the same for several recipients are stored once.
const SHARED_FROM: usize = 1024;

#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(super) key: Option<KeyHash>,
    pub(super) project: ProjectNumber,
    pub(super) recipients: Vec<(Recipient, Arc<DataPatch>)>,
    /// Names of the fields that are stored with the contacts.
    pub(super) names: Vec<String>,
    /// Bytes that it writes, about.
    pub(super) bytes: usize,
    pub(super) subscription: Subscription,
    pub(super) content: Content,
    pub(super) files: Vec<Bytes>,
    pub(super) prepared: Arc<Prepared>,
    pub(super) from: EmailAddress,
    pub(super) from_name: Option<String>,
    pub(super) reply_to: Option<EmailAddress>,
    pub(super) template: Option<TemplateId>,
    /// The topic that the mails belong to.
    pub(super) topic: Option<TopicId>,
    /// Whether contacts that it would subscribe are asked to confirm instead.
    pub(super) double_opt_in: bool,
    pub(super) kind: TemplateType,
    pub(super) lane: Lane,
    pub(super) claim: Option<Claim>,
    pub(super) at: Timestamp,
    /// Whether mail leaves the machine.
    pub(super) leaves: bool,
    /// How many mails a month may be had without a subscription; `None` where billing is not configured.
    pub(super) free: Option<i64>,
}

/// What a mail of the instance itself consists of.
pub(crate) struct OwnMail<'m> {
    /// With the names of values.
    pub(crate) subject: &'m str,
    /// HTML, with the names of values.
    pub(crate) body: String,
    /// The values, which the contact does not keep.
    pub(crate) values: Data,
    /// Headers beside the one that says that nobody wrote the mail.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) files: Vec<File>,
    pub(crate) lane: Lane,
}

impl App {
    /// Fills what the request leaves out from the template, and composes the content.
    pub(super) fn operation(
        &self,
        caller: &Identity,
        mut send: Send,
        template: Option<Template>,
        key: Option<IdempotencyKey>,
        at: Timestamp,
    ) -> Result<Operation> {
        let project = &caller.project;
        let said = Filled::of(&mut send, template)?;
        let attachments = said.attachments;
        let (mut content, files) =
            compose(said.subject, said.body, said.text, &said.headers, &attachments, said.tracking);
        if let Some(room) = room_of_each(send.to.len()) {
            bound(&mut content, room);
        }
        let contents = &self.0.sending.contents;
        let mut prepared = contents.prepare(project.number, &mut content, &attachments);
        let patch = Arc::new(DataPatch::new(send.data));
        let mut values = prepared.request_bytes(&patch.request);
        if send.to.len() > 1 && values >= SHARED_FROM {
            share(&mut content, &prepared, &patch.request);
            prepared = contents.prepare(project.number, &mut content, &attachments);
            values = 0;
        }
        let stored = custom_data::size(&patch.stored);
        let written = bounded(send.to.len(), stored, values)?;
        let text = content.text.as_ref().map_or(0, String::len);
        let bytes =
            content.body.len() + text + files.iter().map(|file| file.content.len()).sum::<usize>() + written;
        bounded_output(send.to.len(), content.body.len() + text, &files)?;
        let has_names = send.to.iter().any(|r| r.name.as_ref().is_some_and(|name| !name.is_empty()));
        let names = patch.names().chain(has_names.then_some("name")).map(str::to_owned).collect();
        let recipients = send.to.into_iter().map(|recipient| {
            let Some(name) = recipient.name.clone().filter(|name| !name.is_empty()) else {
                return (recipient, Arc::clone(&patch));
            };
            let mut own = DataPatch::clone(&patch);
            own.stored.insert("name".into(), name.as_str().into());
            own.request.insert("name".into(), name.into());
            (recipient, Arc::new(own))
        });
        Ok(Operation {
            key: caller.hash,
            project: project.number,
            recipients: recipients.collect(),
            names,
            bytes,
            subscription: Subscription {
                given: send.subscribed,
                default_for_new: false,
                preserve_existing: false,
            },
            content,
            files,
            prepared,
            from: said.from,
            from_name: said.from_name,
            reply_to: said.reply_to,
            template: said.template,
            topic: said.topic,
            double_opt_in: project.double_opt_in,
            kind: said.kind,
            lane: Lane::Transactional,
            claim: self.claim(caller, key),
            at,
            leaves: self.mail_leaves(),
            free: self.free_allowance(),
        })
    }

    /// A mail of the instance itself: subject and HTML with the values of their variables, which the contact does not
    /// keep.
    pub(crate) fn own_operation(
        &self,
        project: &Project,
        from: EmailAddress,
        to: EmailAddress,
        (subject, body): (&str, String),
        values: Data,
    ) -> Operation {
        let (headers, files, lane) = (Vec::new(), Vec::new(), Lane::Transactional);
        self.own_mail(project, from, to, OwnMail { subject, body, values, headers, files, lane })
    }

    /// The same with headers and files, in any lane but that of campaigns.
    pub(crate) fn own_mail(
        &self,
        project: &Project,
        from: EmailAddress,
        to: EmailAddress,
        mail: OwnMail<'_>,
    ) -> Operation {
        let OwnMail { subject, body, values, mut headers, files: attached, lane } = mail;
        headers.insert(0, ("Auto-Submitted".to_owned(), "auto-generated".to_owned()));
        let (mut content, files) = compose(subject.to_owned(), body, None, &headers, &attached, Some(false));
        let prepared = self.0.sending.contents.prepare(project.number, &mut content, &attached);
        let patch = DataPatch { request: values, ..DataPatch::default() };
        Operation {
            key: None,
            project: project.number,
            recipients: vec![(Recipient { email: to, name: None }, Arc::new(patch))],
            names: Vec::new(),
            bytes: 0,
            subscription: Subscription { given: None, default_for_new: false, preserve_existing: true },
            content,
            files,
            prepared,
            from,
            from_name: None,
            reply_to: None,
            template: None,
            topic: None,
            double_opt_in: false,
            kind: INLINE_KIND,
            lane,
            claim: None,
            at: self.0.clock.now(),
            leaves: self.mail_leaves(),
            free: self.free_allowance(),
        }
    }
}

/// Refuses a request whose data would be written too often; how many bytes it writes otherwise.
fn bounded(recipients: usize, stored: usize, values: usize) -> Result<usize> {
    let written = recipients * (stored + values);
    if written <= MAX_WRITTEN {
        return Ok(written);
    }
    let (megabytes, fitting) = (MAX_WRITTEN / 1024 / 1024, (MAX_WRITTEN / (stored + values)).max(1));
    let message = format!(
        "{recipients} recipients times {} bytes of data are more than {megabytes} MB. Send to at most {fitting} recipients at a time, or send less data. Large values that need not be kept with the contacts can be sent as {{value, persistent: false}}.",
        stored + values
    );
    Err(Error::Invalid(vec![Issue::new("data", "too_big", message)]))
}

/// Refuses a request whose messages are too much together, as far as that can be told before they are rendered.
fn bounded_output(recipients: usize, body: usize, files: &[Bytes]) -> Result<()> {
    let message = body + files.iter().map(|file| file.content.len()).sum::<usize>();
    if recipients * message <= MAX_SENT {
        return Ok(());
    }
    let (megabytes, fitting) = (MAX_SENT / 1024 / 1024, (MAX_SENT / message).max(1));
    let message = format!(
        "{recipients} recipients times {message} bytes of body and attachments are more than {megabytes} MB. Send to at most {fitting} recipients at a time, or send less."
    );
    Err(Error::Invalid(vec![Issue::new("to", "too_big", message)]))
}

/// How many bytes values and loops may add to each mail of a request to so many recipients; `None` where the bound that
/// every mail has is enough. Requests to nearly as many share one number, so that they share their content as well.
fn room_of_each(recipients: usize) -> Option<usize> {
    let room = MAX_GROWN / recipients.max(1).next_power_of_two();
    (room < MAX_OUTPUT).then_some(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mails_of_a_request_share_what_they_may_grow_by() {
        let kb = 1024;
        for (recipients, room) in [
            (0, None),
            (1, None),
            (256, None),
            (257, Some(512 * kb)),
            (512, Some(512 * kb)),
            (513, Some(256 * kb)),
            (1000, Some(256 * kb)),
        ] {
            assert_eq!(room_of_each(recipients), room, "{recipients}");
            assert!(recipients * room.unwrap_or(MAX_OUTPUT) <= MAX_GROWN);
        }
    }
}
