//! The mail that brings a report (RFC 8460 section 5.3).

use mailwright_core::address::EmailAddress;
use mailwright_core::custom_data::Data;
use mailwright_core::email::Lane;
use mailwright_mail::tls_report::{DOMAIN_FIELD, MEDIA_TYPE, SUBMITTER_FIELD, TlsReport, file_name, subject};

use crate::App;
use crate::sending::content::File;
use crate::sending::send::{Operation, OwnMail};
use crate::sending::system_mail::SystemSender;

/// Asks mail servers on the way to deliver the mail although TLS fails (RFC 8689 section 4).
const TLS_REQUIRED: (&str, &str) = ("TLS-Required", "No");

/// A mail with a report about a domain, to be put into the outbox. `packed` is the report as a file.
pub(super) fn mail(
    app: &App,
    sender: &SystemSender,
    to: EmailAddress,
    (domain, report, packed): (&str, &TlsReport, &[u8]),
) -> Operation {
    let submitter = sender.from().domain();
    let subject = subject(domain, submitter, &report.report_id);
    let day = report.date_range.start_datetime.to_string();
    let day = day.split('T').next().unwrap_or_default();
    let body = format!(
        "<p>This is a report about TLS (RFC 8460): how connections to the mail servers of {domain} fared on {day} (UTC).</p>\
         <p>The file that comes with it has the report, as JSON packed with gzip. It was sent by {submitter}, because a record \
         of {domain} asks for such reports.</p>"
    );
    let headers = [(DOMAIN_FIELD, domain), (SUBMITTER_FIELD, submitter), TLS_REQUIRED];
    let file = File {
        filename: file_name(submitter, domain, &report.date_range),
        content_type: MEDIA_TYPE.to_owned(),
        content_id: None,
        inline: false,
        content: packed.into(),
    };
    let mail = OwnMail {
        subject: &subject,
        body,
        values: Data::new(),
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        files: vec![file],
        lane: Lane::Workflow,
    };
    app.own_mail(sender.project(), sender.from().clone(), to, mail)
}
