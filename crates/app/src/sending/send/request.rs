//! What a send asks for, and what it is answered.

use mailwright_core::address::EmailAddress;
use mailwright_core::consent::ConsentWay;
use mailwright_core::custom_data::Data;
use mailwright_core::ids::{ContactId, EmailId, TemplateId};

use crate::sending::content::File;

/// The way by which a send changes subscriptions.
pub(super) const WAY: ConsentWay = ConsentWay::Api;

/// A recipient as the request names it.
#[derive(Debug, Clone)]
pub struct Recipient {
    /// Address.
    pub email: EmailAddress,
    /// Name, stored as `data.name` and shown with the address.
    pub name: Option<String>,
}

/// A checked request.
#[derive(Debug, Clone, Default)]
pub struct Send {
    /// Recipients, in order.
    pub to: Vec<Recipient>,
    /// Subject; from the template when absent.
    pub subject: Option<String>,
    /// HTML; from the template when absent.
    pub body: Option<String>,
    /// Plain text; made from the HTML when absent.
    pub text: Option<String>,
    /// Saved template.
    pub template: Option<TemplateId>,
    /// Sender; from the template when absent.
    pub from: Option<(EmailAddress, Option<String>)>,
    /// Deprecated sender name.
    pub from_name: Option<String>,
    /// Subscription asked for.
    pub subscribed: Option<bool>,
    /// Variables and contact data.
    pub data: Data,
    /// Custom headers.
    pub headers: Vec<(String, String)>,
    /// Reply address, with the name shown for it.
    pub reply: Option<(EmailAddress, Option<String>)>,
    /// Attachments.
    pub attachments: Vec<File>,
    /// Whether the mails are tracked; that of the template, or else of the project, when absent.
    pub tracking: Option<bool>,
}

/// One accepted mail.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The recipient's contact.
    pub contact: ContactId,
    /// The recipient's address in its normal form.
    pub address: EmailAddress,
    /// The mail.
    pub email: EmailId,
}
