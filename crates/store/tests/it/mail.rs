//! A mail to store.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

use mailwright_core::address::EmailAddress;
use mailwright_core::email::{EmailSource, Lane};
use mailwright_core::ids::{ContactId, EmailId, ProjectNumber};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use mailwright_store::sending::email::NewEmail;

/// A transactional mail to ada@example.com.
pub(crate) fn waiting_mail(project: ProjectNumber, contact: ContactId, at: Timestamp) -> NewEmail {
    let id = EmailId::new(at, rand::random());
    NewEmail {
        project,
        id,
        contact,
        recipient: EmailAddress::parse("ada@example.com").unwrap(),
        recipient_name: None,
        from: EmailAddress::parse("hello@acme.test").unwrap(),
        from_name: None,
        reply_to: None,
        subject: "Hi".into(),
        content_hash: [0; 32],
        variables: "{}".into(),
        source: EmailSource::Transactional,
        kind: TemplateType::Transactional,
        lane: Lane::Transactional,
        template: None,
        topic: None,
        step: None,
        has_attachments: false,
        message_id: format!("{id}@acme.test"),
        suppression: None,
        is_held: false,
        at,
    }
}
