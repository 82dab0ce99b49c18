//! Mails that Amazon SES received for sender domains, as its notifications bring them.

use std::sync::Arc;

use mailwright_mail::received::Received;
use mailwright_mail::report::{Facts, Incoming, read};
use mailwright_mail::sns::{Inbound, MailRef};
use sha2::{Digest, Sha256};

use super::received::{Message, Taken, Way};
use super::sns::SnsAnswer;
use crate::App;
use crate::error::Result;

impl App {
    /// Stores a mail that SES received, for the projects that have the domains of its recipients. One without its
    /// content, which SES put elsewhere, is stored with what the notification says of it.
    pub(super) async fn take_received_by_ses(&self, mail: &MailRef, received: &Inbound) -> Result<SnsAnswer> {
        let recipients = received.recipients.iter().filter_map(|address| address.trim().rsplit_once('@'));
        let recipients: Vec<(&str, &str)> = recipients.collect();
        let projects = self.addressees(&recipients, Way::Provider).await?;
        let message = Arc::new(message(mail, received));
        let mut best = None;
        for (project, addressees) in projects {
            best = best.max(Some(self.take_received(project, &message, addressees).await?));
        }
        Ok(match best {
            Some(Taken::Stored) => SnsAnswer::Recorded,
            Some(Taken::Known) => SnsAnswer::Duplicate,
            Some(Taken::Full) => SnsAnswer::Later("The project takes no more mails today."),
            None => SnsAnswer::Ignored("No project has the domain of a recipient."),
        })
    }
}

fn message(mail: &MailRef, received: &Inbound) -> Message {
    let content = received.content.as_deref();
    let facts = content.map(Facts::read).unwrap_or_default();
    let is_of_machine = content.is_some_and(|content| !matches!(read(content), Incoming::Other));
    let parsed = match content {
        Some(content) => Received::parse(content),
        None => of_notification(mail),
    };
    Message {
        hash: Sha256::digest(content.unwrap_or(format!("ses:{}", mail.provider_id).as_bytes())).into(),
        raw: received.content.clone(),
        mail: parsed,
        verdicts: received.verdicts,
        is_automatic: mail.source.is_none() || is_of_machine || facts.is_automatic() || facts.is_loop(),
        answers: facts.answers,
        processing_millis: received.processing_millis.unwrap_or_default(),
    }
}

/// What a notification says of a mail, taken apart as the header of one.
fn of_notification(mail: &MailRef) -> Received {
    let line = |text: &str| text.replace(['\r', '\n'], " ");
    let from = mail.from.first().or(mail.source.as_ref()).map(|from| line(from)).unwrap_or_default();
    let subject = line(mail.subject.as_deref().unwrap_or_default());
    let id = mail.message_id.as_deref().unwrap_or(&mail.provider_id);
    let head = format!("From: {from}\r\nSubject: {subject}\r\nMessage-ID: <{}>\r\n\r\n", line(id));
    Received::parse(head.as_bytes())
}
