//! Mail that comes in by SMTP: for the addresses that bounces return to, for those that take reports, and for sender
//! domains whose MX record points here.
//!
//! Only addresses that are expected are taken, so that nobody can use the listener to bounce mail to others. A message
//! is answered when what it says is on disk; while the database is away, its sender is told to try again.

use std::sync::Arc;
use std::time::Instant;

use mailwright_core::ids::{DomainId, EmailId, ProjectNumber};
use mailwright_mail::authentication::{self, Origin};
use mailwright_mail::received::Received;
use mailwright_mail::report::{Facts, Incoming, MAX_READ, Original, read};
use mailwright_mail::smtp_server::{Envelope, Path, Receiver, Refusal, Verdict};
use mailwright_store::body;
use mailwright_store::feedback::origin;
use sha2::{Digest, Sha256};

use super::news::News;
use super::received::{Message, Taken, Way};
use super::report::{happening, original};
use crate::App;
use crate::error::Result;

/// The local parts at the domain that bounces return to, and at the listener's own name, that take reports: those of
/// feedback loops, and those that every host has (RFC 5321 section 4.5.1, RFC 2142).
const REPORTS: [&str; 4] = ["abuse", "fbl", "mailer-daemon", "postmaster"];
/// Most message ids of a report that are looked for.
const MOST_IDS: usize = 8;

/// Who mail comes in for.
#[derive(Debug, Clone)]
pub struct Inbound(App);

/// What an address is for.
enum Addressed {
    /// Bounces of a mail.
    Return(ProjectNumber, EmailId),
    /// Reports about any mail.
    Reports,
    /// Reports about the mail of a sender domain.
    Dmarc(DomainId),
}

impl Addressed {
    /// The domain that reports are for.
    fn domain(&self) -> Option<DomainId> {
        match self {
            Self::Dmarc(domain) => Some(*domain),
            Self::Return(..) | Self::Reports => None,
        }
    }
}

impl App {
    /// Who mail comes in for.
    pub fn inbound(&self) -> Inbound {
        Inbound(self.clone())
    }
}

impl Receiver for Inbound {
    async fn recipient(&self, _: &Envelope, recipient: &Path) -> Verdict {
        match self.addressed(recipient) {
            Some(_) => Verdict::Accept,
            None => self.mailbox(recipient).await,
        }
    }

    async fn message(&self, envelope: Envelope, content: Vec<u8>) -> Verdict {
        let addressed: Vec<Addressed> =
            envelope.recipients.iter().filter_map(|path| self.addressed(path)).collect();
        let others: Vec<&Path> =
            envelope.recipients.iter().filter(|path| self.addressed(path).is_none()).collect();
        // no more than its beginning is read, and so no more tells it from others
        let beginning = &content[..content.len().min(MAX_READ)];
        let report = read(beginning);
        let name = format!("mail:{}", hex::encode(Sha256::digest(beginning)));
        let mut kind = kind(&report);
        let mut domains: Vec<DomainId> = addressed.iter().filter_map(Addressed::domain).collect();
        domains.sort_unstable();
        domains.dedup();
        let content = Arc::new(content);
        if !domains.is_empty() {
            let mail_from = sender(&envelope);
            let origin = self.origin(&envelope, mail_from.as_deref());
            kind = match self.0.take_dmarc_report(&domains, origin, &content).await {
                Ok(true) => "dmarc_report",
                Ok(false) => "dmarc_dropped",
                Err(error) => {
                    tracing::warn!(%error, "a DMARC report could not be stored, its sender has to try again");
                    return Verdict::Later;
                }
            };
        }
        for addressed in addressed {
            if let Err(error) = self.take(addressed, &report, &name).await {
                tracing::warn!(%error, "a message that came in could not be recorded, its sender has to try again");
                return Verdict::Later;
            }
        }
        if !others.is_empty() {
            match self.receive(&envelope, &others, &report, Arc::unwrap_or_clone(content)).await {
                Ok(Verdict::Accept) => {}
                Ok(refused) => return refused,
                Err(error) => {
                    tracing::warn!(%error, "a message that came in could not be stored, its sender has to try again");
                    return Verdict::Later;
                }
            }
        }
        self.0.metrics().inbound(kind);
        Verdict::Accept
    }
}

impl Inbound {
    fn addressed(&self, path: &Path) -> Option<Addressed> {
        if let Some((project, mail)) = self.0.0.feedback.return_path.read(path.local()) {
            return Some(Addressed::Return(project, mail));
        }
        if let Some(domain) = self.0.0.feedback.dmarc_address.read(path.local()) {
            return Some(Addressed::Dmarc(domain));
        }
        let settings = self.0.settings();
        let domain = path.domain();
        let ours = [settings.return_path(), settings.inbound_host()];
        let is_ours =
            domain.is_empty() || ours.iter().flatten().any(|ours| ours.eq_ignore_ascii_case(domain));
        let takes_reports = REPORTS.iter().any(|name| name.eq_ignore_ascii_case(path.local()));
        (is_ours && takes_reports).then_some(Addressed::Reports)
    }

    /// How a mail came.
    fn origin<'a>(&'a self, envelope: &'a Envelope, mail_from: Option<&'a str>) -> Origin<'a> {
        Origin {
            client: envelope.client,
            client_name: &envelope.client_name,
            mail_from,
            our_name: self.0.settings().inbound_host().unwrap_or("localhost"),
        }
    }

    /// Whether a mail for a sender domain is taken.
    async fn mailbox(&self, recipient: &Path) -> Verdict {
        match self.0.receivers(recipient.domain(), Way::Smtp).await {
            Ok(receivers) if receivers.is_empty() => Verdict::Refuse(Refusal::unknown_recipient()),
            Ok(receivers) if receivers.iter().all(|receiver| !receiver.has_room) => Verdict::Refuse(full()),
            Ok(_) => Verdict::Accept,
            Err(error) => {
                tracing::warn!(%error, "a recipient could not be looked up, its sender has to try again");
                Verdict::Later
            }
        }
    }

    /// Stores a message for the projects that have the domains of its recipients.
    async fn receive(
        &self,
        envelope: &Envelope,
        recipients: &[&Path],
        report: &Incoming,
        content: Vec<u8>,
    ) -> Result<Verdict> {
        let began = Instant::now();
        let app = &self.0;
        let recipients: Vec<(&str, &str)> =
            recipients.iter().map(|path| (path.local(), path.domain())).collect();
        let projects = app.addressees(&recipients, Way::Smtp).await?;
        let mail_from = sender(envelope);
        let origin = self.origin(envelope, mail_from.as_deref());
        let verdicts = authentication::verify(&app.0.dns, origin, &content).await;
        let mut mail = Received::parse(&content);
        mail.from = mail.from.or_else(|| mail_from.clone());
        let facts = Facts::read(&content);
        let is_of_machine = !matches!(report, Incoming::Other) || facts.is_automatic() || facts.is_loop();
        let message = Arc::new(Message {
            hash: Sha256::digest(&content).into(),
            raw: Some(content),
            mail,
            verdicts,
            is_automatic: mail_from.is_none() || is_of_machine,
            answers: facts.answers,
            processing_millis: began.elapsed().as_millis() as u64,
        });
        let mut best = None;
        for (project, addressees) in projects {
            best = best.max(Some(app.take_received(project, &message, addressees).await?));
        }
        Ok(match best {
            Some(Taken::Stored | Taken::Known) => Verdict::Accept,
            Some(Taken::Full) => Verdict::Refuse(full()),
            // the domain was removed since its address was taken
            None => Verdict::Refuse(Refusal::unknown_recipient()),
        })
    }

    /// Records what a message says of the mail that it is about.
    async fn take(&self, addressed: Addressed, report: &Incoming, name: &str) -> Result<()> {
        let Some(happening) = happening(report) else { return Ok(()) };
        let found = match addressed {
            Addressed::Return(project, mail) => Some((project, mail)),
            Addressed::Reports => match original(report) {
                Some(original) => self.0.reported(original).await?,
                None => None,
            },
            Addressed::Dmarc(_) => None,
        };
        let Some((project, email)) = found else { return Ok(()) };
        let at = self.0.clock().now();
        self.0
            .record_news(News {
                project,
                email,
                happening,
                at,
                told_at: at,
                told_as: Some(format!("{name}:{email}")),
            })
            .await?;
        Ok(())
    }
}

impl App {
    /// The mail that a report returns the head of: by the address that its bounces return to, which is signed, or else
    /// by its `Message-ID`. That names the mail by an id that nobody can guess who has not seen it.
    async fn reported(&self, original: &Original) -> Result<Option<(ProjectNumber, EmailId)>> {
        let local =
            original.return_path.as_deref().and_then(|path| path.rsplit_once('@')).map(|(local, _)| local);
        if let Some(found) = local.and_then(|local| self.0.feedback.return_path.read(local)) {
            return Ok(Some(found));
        }
        let ids = original.message_id.iter().chain(&original.answers).take(MOST_IDS);
        for id in ids {
            if let Some(found) = self.mail_of_message_id(id).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The mail that has a `Message-ID`, given without angle brackets.
    pub(super) async fn mail_of_message_id(&self, id: &str) -> Result<Option<(ProjectNumber, EmailId)>> {
        let Some((local, domain)) = id.rsplit_once('@') else { return Ok(None) };
        let Ok(email) = local.parse::<EmailId>() else { return Ok(None) };
        let domain = domain.to_ascii_lowercase();
        let found = self.read(body!(async |rx| {
            for project in origin::projects_of_domain(rx, &domain).await? {
                if origin::has_mail(rx, project, email).await? {
                    return Ok(Some((project, email)));
                }
            }
            Ok(None)
        }));
        found.await
    }
}

/// The sender of an envelope; `None` for the null sender.
fn sender(envelope: &Envelope) -> Option<String> {
    envelope.mail_from.as_ref().map(ToString::to_string)
}

/// No project takes more mails for the address today (RFC 5321 section 4.2.3).
fn full() -> Refusal {
    Refusal::new(452, (2, 2), "No more mail is taken for this address today")
}

/// The name of a kind of message in the metrics.
fn kind(report: &Incoming) -> &'static str {
    match report {
        Incoming::Dsn(_) => "bounce",
        Incoming::Arf(_) => "complaint",
        Incoming::AutoReply(_) => "auto_reply",
        Incoming::Mdn(_) => "read",
        Incoming::Other => "other",
    }
}
