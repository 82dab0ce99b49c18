//! What Amazon SNS posts to an endpoint: its envelopes with their signatures, and the news of SES in them.
//!
//! An envelope is taken apart by [`Envelope::parse`]. The caller then looks at its topic, fetches the certificate from
//! [`certificate_url`] and asks [`verify`] whether SNS signed it: nothing in an envelope is true before that. What SES
//! says is read by [`Notification::parse`].
//!
//! Formats: <https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html>,
//! <https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html>,
//! <https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html> and
//! <https://docs.aws.amazon.com/ses/latest/dg/receiving-email-notifications-contents.html>.

mod envelope;
mod event;
mod hosts;
mod json;
mod notification;
mod signature;
#[cfg(test)]
mod tests;

pub use self::envelope::{Envelope, EnvelopeError, Kind, MAX_MESSAGE, SignatureVersion};
pub use self::hosts::{Hosts, UrlError, certificate_url, subscribe_url};
pub use self::notification::{
    Bounce, BounceKind, Click, Complaint, Delay, Delivery, Header, Inbound, InboundAction, MailNews, MailRef,
    Notification, NotificationError, Recipient, Subscription, Tag, TopicChoice, Verdict, Verdicts, Visit,
    What,
};
pub use self::signature::{SignatureError, verify};
