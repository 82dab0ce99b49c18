//! Notifications of Amazon SNS (reference 4.1): what became of mails that Amazon SES delivers.
//!
//! The topic is looked at before anything is fetched, because anybody with an account there can make SNS sign a message.
//! The certificate comes from Amazon's host alone, by the client that guards against other addresses, and is kept. A
//! message that cannot be recorded now is refused so that SNS sends it again.

use std::sync::Arc;
use std::time::Duration;

use mailwright_core::bounce::{self, BounceKind, Suppression};
use mailwright_core::ids::{EmailId, EventId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_mail::sns::{
    self, Envelope, Hosts, Kind, MailNews, MailRef, Notification, NotificationError, SignatureError, What,
};
use mailwright_store::body;
use mailwright_store::delivery::provider_mail;
use mailwright_store::feedback::hit::{self, NewHit};
use mailwright_store::feedback::{link, origin};
use sha2::{Digest, Sha256};
use url::Url;

use super::happening::{Bounce, Happening};
use super::mail_links::{MailLinks, stored_links};
use super::news::{News, Recorded};
use super::sns_certificates::{Certificates, Known};
use crate::App;
use crate::error::Result;
use crate::http_client::{Answer, ConfiguredUrl, GivenUrl, HttpClient, Request};

/// The largest certificate, in bytes.
const MAX_CERTIFICATE: usize = 64 * 1024;
/// How old a message may be: SNS tries for some hours, and what is older may be somebody's who kept it.
const MAX_AGE: Duration = Duration::from_hours(14 * 24);

/// What this process keeps.
pub(super) struct State {
    http: HttpClient,
    certificates: Certificates,
}

impl State {
    pub(super) fn new(http: HttpClient) -> Self {
        Self { http, certificates: Certificates::new() }
    }
}

/// What a message of SNS is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnsAnswer {
    /// The instance takes none.
    NotTaken,
    /// It is recorded.
    Recorded,
    /// It was recorded before.
    Duplicate,
    /// It says nothing that is recorded.
    Ignored(&'static str),
    /// It is no message of SNS, or not one that can be understood.
    Invalid(String),
    /// It is not one that this instance takes, or not signed by SNS.
    Forbidden(&'static str),
    /// It is about a mail that is not ours.
    Unknown,
    /// It cannot be recorded now, and should be sent again.
    Later(&'static str),
    /// The subscription could not be confirmed, and should be tried again.
    Unconfirmed,
}

impl App {
    /// Takes a message of SNS.
    pub async fn take_sns(&self, message: &[u8]) -> Result<SnsAnswer> {
        let settings = &self.settings().inbound.sns;
        if settings.topics.is_empty() {
            return Ok(SnsAnswer::NotTaken);
        }
        let envelope = match Envelope::parse(message) {
            Ok(envelope) => envelope,
            Err(error) => return Ok(SnsAnswer::Invalid(error.to_string())),
        };
        if !settings.topics.contains(&envelope.topic_arn) {
            tracing::warn!(topic = envelope.topic_arn, "a message of a topic that is not listed was refused");
            return Ok(SnsAnswer::Forbidden("The topic is not one that this instance takes."));
        }
        let endpoint = settings.endpoint.as_ref().and_then(|url| Url::parse(url.as_str()).ok());
        let hosts = endpoint.as_ref().and_then(Hosts::only).unwrap_or(Hosts::Amazon);
        match self.verify_sns(&envelope, &hosts).await {
            Ok(()) => {}
            Err(answer) => return Ok(answer),
        }
        match envelope.kind {
            Some(Kind::SubscriptionConfirmation) => self.confirm_sns(&envelope, &hosts).await,
            Some(Kind::UnsubscribeConfirmation) => {
                tracing::warn!(topic = envelope.topic_arn, "the subscription to a topic was ended");
                Ok(SnsAnswer::Ignored("The subscription ended."))
            }
            Some(Kind::Notification) => self.take_notification(&envelope).await,
            None => Ok(SnsAnswer::Ignored("Messages of this type are not taken.")),
        }
    }

    /// Whether SNS signed a message; what it is answered if not.
    async fn verify_sns(&self, envelope: &Envelope, hosts: &Hosts) -> std::result::Result<(), SnsAnswer> {
        let now = self.clock().now();
        if envelope.age(now) > MAX_AGE {
            return Err(SnsAnswer::Forbidden("The message is too old."));
        }
        let url = sns::certificate_url(envelope, hosts)
            .map_err(|_| SnsAnswer::Forbidden("The certificate is not at a host of SNS."))?;
        let kept = &self.0.feedback.sns.certificates;
        for is_fresh in [false, true] {
            let certificate = self.certificate(&url, hosts, is_fresh).await?;
            match sns::verify(envelope, &certificate, now) {
                Ok(()) => {
                    kept.proved(url.as_str());
                    return Ok(());
                }
                // it may have been replaced since it was fetched
                Err(SignatureError::Validity) if !is_fresh => {}
                Err(SignatureError::Certificate(_) | SignatureError::Key) => {
                    kept.failed(url.as_str(), now);
                    break;
                }
                Err(_) => break,
            }
        }
        Err(SnsAnswer::Forbidden("The signature is not valid."))
    }

    /// The certificate at an address, from memory if it is known there.
    async fn certificate(
        &self,
        url: &Url,
        hosts: &Hosts,
        is_fresh: bool,
    ) -> std::result::Result<Arc<Vec<u8>>, SnsAnswer> {
        let kept = &self.0.feedback.sns.certificates;
        if let Some(certificate) = kept.get(url.as_str(), is_fresh, self.clock().now()) {
            return Ok(certificate);
        }
        let later = SnsAnswer::Later("The certificate could not be fetched.");
        let _turn = kept.turn(url.as_str()).await;
        let now = self.clock().now();
        match kept.look(url.as_str(), is_fresh, now) {
            Known::Certificate(certificate) => return Ok(certificate),
            Known::Spared => return Err(later),
            Known::Nothing => {}
        }
        match self.get_of_sns(url, hosts).await {
            Some(answer) if answer.status.is_success() && answer.body.len() <= MAX_CERTIFICATE => {
                let certificate = Arc::new(answer.body.to_vec());
                kept.fetched(url.as_str(), &certificate, now);
                return Ok(certificate);
            }
            Some(answer) => {
                tracing::warn!(status = answer.status.as_u16(), %url, "the certificate of SNS could not be fetched");
            }
            None => {}
        }
        kept.failed(url.as_str(), now);
        Err(later)
    }

    /// An answer of the service.
    async fn get_of_sns(&self, url: &Url, hosts: &Hosts) -> Option<Answer> {
        let http = &self.0.feedback.sns.http;
        let answer = match hosts {
            Hosts::Amazon => match GivenUrl::parse(url.as_str()) {
                Ok(url) => http.send(Request::get(url)).await,
                Err(_) => return None,
            },
            // the operator named the host
            Hosts::Only(_) => match ConfiguredUrl::parse(url.as_str()) {
                Ok(url) => http.send(Request::get(url)).await,
                Err(_) => return None,
            },
        };
        answer
            .inspect_err(|error| tracing::warn!(%error, host = url.host_str(), "SNS could not be asked"))
            .ok()
    }

    async fn confirm_sns(&self, envelope: &Envelope, hosts: &Hosts) -> Result<SnsAnswer> {
        let Ok(url) = sns::subscribe_url(envelope, hosts) else {
            return Ok(SnsAnswer::Invalid("SubscribeURL does not confirm this subscription at SNS.".into()));
        };
        match self.get_of_sns(&url, hosts).await {
            Some(answer) if answer.status.is_success() => {
                tracing::info!(topic = envelope.topic_arn, "the subscription to a topic was confirmed");
                Ok(SnsAnswer::Recorded)
            }
            _ => Ok(SnsAnswer::Unconfirmed),
        }
    }

    async fn take_notification(&self, envelope: &Envelope) -> Result<SnsAnswer> {
        let news = match Notification::parse(&envelope.message) {
            Ok(Notification::Mail(news)) => news,
            Ok(Notification::Validation) => return Ok(SnsAnswer::Ignored("A test of the topic.")),
            Ok(Notification::Other { .. }) => {
                return Ok(SnsAnswer::Ignored("Events of this type are not recorded."));
            }
            Err(error @ (NotificationError::Missing(_) | NotificationError::TooLong)) => {
                return Ok(SnsAnswer::Invalid(error.to_string()));
            }
            // what anybody publishes there
            Err(_) => return Ok(SnsAnswer::Ignored("The message is no event of SES.")),
        };
        if let What::Received(received) = &news.what {
            return self.take_received_by_ses(&news.mail, received).await;
        }
        // what is told did not happen after it was published
        let at = news.at.map_or(envelope.published_at, |at| at.min(envelope.published_at));
        let Some(what) = Recordable::of(&news) else {
            return Ok(SnsAnswer::Ignored("Events of this type are not recorded."));
        };
        let Some((project, email)) = self.mail_of_ses(&news.mail).await? else {
            return Ok(SnsAnswer::Unknown);
        };
        // nor before there was a mail
        let at = at.max(email.instant());
        match what {
            Recordable::Happening(happening) => {
                let told_as = Some(format!("sns:{}", envelope.message_id));
                let now = self.0.clock.now();
                let news = News { project, email, happening, at, told_at: now, told_as };
                Ok(match self.record_news(news).await? {
                    // what was too early is kept
                    Recorded::Stored | Recorded::TooEarly => SnsAnswer::Recorded,
                    Recorded::Known => SnsAnswer::Duplicate,
                    Recorded::Unknown => SnsAnswer::Unknown,
                })
            }
            Recordable::Hit { url, agent, address } => {
                let hit = Told { message_id: &envelope.message_id, url, agent, address, at };
                let is_new = self.record_told_hit(project, email, hit).await?;
                Ok(if is_new { SnsAnswer::Recorded } else { SnsAnswer::Duplicate })
            }
        }
    }

    /// The mail that SES tells of: by the address that its bounces return to, which is signed, or else by its
    /// `Message-ID`, or by the id that SES gave it.
    async fn mail_of_ses(&self, mail: &MailRef) -> Result<Option<(ProjectNumber, EmailId)>> {
        let local = mail.source.as_deref().and_then(|source| source.rsplit_once('@')).map(|(local, _)| local);
        if let Some(found) = local.and_then(|local| self.0.feedback.return_path.read(local)) {
            return Ok(Some(found));
        }
        if let Some(id) = &mail.message_id
            && let Some(found) = self.mail_of_message_id(id).await?
        {
            return Ok(Some(found));
        }
        let id = mail.provider_id.clone();
        self.read(body!(async |rx| {
            let Some((project, email)) = provider_mail::find(rx, &id).await? else { return Ok(None) };
            Ok(origin::has_mail(rx, project, email).await?.then_some((project, email)))
        }))
        .await
    }

    /// Stores an open or a click that SES tells of, to be judged like those that came here; whether it is new. Its id
    /// follows from the message's, so that one that is sent again is the same.
    async fn record_told_hit(&self, project: ProjectNumber, email: EmailId, told: Told<'_>) -> Result<bool> {
        let Told { message_id, url, agent, address, at } = told;
        let id = id_of(message_id, at);
        let due_at = self.clock().now().plus(self.settings().tracking.settle);
        let added = self.write(body!(async |tx| {
            let link = match &url {
                None => None,
                Some(url) => {
                    let Some(mail) = link::of_mail(tx, project, email).await? else { return Ok(false) };
                    let content = stored_links(tx, project, &mail.content_hash).await?;
                    Some(MailLinks { content, own: mail.own }.number_of(url).into())
                }
            };
            let hit = NewHit { email, id, link, at, agent, address, url };
            Ok(hit::add(tx, project, &[hit], due_at).await? > 0)
        }));
        added.await
    }
}

/// The id of an open or a click that a message tells of: a UUID of version 7 of its time and name.
fn id_of(message_id: &str, at: Timestamp) -> EventId {
    let hash = Sha256::digest(format!("sns:{message_id}"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    bytes[..6].copy_from_slice(&at.0.to_be_bytes()[2..]);
    bytes[6] = 0x70 | (bytes[6] & 0x0f);
    bytes[8] = 0x80 | (bytes[8] & 0x3f);
    EventId::from_bytes(bytes)
}

/// What an event of SES says that is recorded.
enum Recordable {
    Happening(Happening),
    /// An open, or a click on a link.
    Hit {
        url: Option<String>,
        agent: String,
        address: String,
    },
}

/// An open or a click that somebody tells of.
struct Told<'a> {
    message_id: &'a str,
    url: Option<String>,
    agent: String,
    address: String,
    at: Timestamp,
}

impl Recordable {
    fn of(news: &MailNews) -> Option<Self> {
        let hit = |visit: &sns::Visit, url| Self::Hit {
            url,
            agent: visit.user_agent.clone().unwrap_or_default(),
            address: visit.ip.map(|address| address.to_string()).unwrap_or_default(),
        };
        Some(match &news.what {
            What::Delivered(_) => Self::Happening(Happening::Delivered),
            What::Opened(visit) => hit(visit, None),
            What::Clicked(click) => hit(&click.visit, Some(click.link.clone().unwrap_or_default())),
            What::Bounced(bounce) => Self::Happening(Happening::Bounced(bounced(bounce))),
            What::Complained(complaint) => {
                Self::Happening(Happening::Complained { feedback: complaint.feedback_type.clone() })
            }
            What::Sent
            | What::NotSpam(_)
            | What::Delayed(_)
            | What::Rejected { .. }
            | What::RenderingFailed { .. }
            | What::SubscriptionChanged(_)
            | What::Received(_) => return None,
        })
    }
}

/// A bounce as SES tells of it: how final it is, it knows best.
fn bounced(bounce: &sns::Bounce) -> Bounce {
    let first = bounce.recipients.first();
    let text = first.and_then(|recipient| recipient.diagnostic.as_deref()).unwrap_or_default();
    let status = first.and_then(|recipient| recipient.status.as_deref()).and_then(enhanced);
    let kind = match bounce.kind {
        sns::BounceKind::Permanent => BounceKind::Permanent,
        sns::BounceKind::Transient => BounceKind::Transient,
        sns::BounceKind::Undetermined => BounceKind::Undetermined,
    };
    let verdict = bounce::classify(None, status, text);
    let suppresses = match verdict.suppresses() {
        // what SES cannot determine ends the subscription as well (reference 5)
        _ if kind != BounceKind::Transient => Suppression::AtOnce,
        Suppression::AfterRepetition => Suppression::AfterRepetition,
        Suppression::AtOnce | Suppression::Never => Suppression::Never,
    };
    Bounce { kind, class: verdict.class, suppresses, text: text.to_owned() }
}

/// An enhanced status code (RFC 3463).
fn enhanced(status: &str) -> Option<(u8, u16, u16)> {
    let mut parts = status.trim().split('.');
    let code = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some(code)
}
