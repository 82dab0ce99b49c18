//! What the mails of the measurements say.

use mailwright_core::time::Timestamp;
use mailwright_mail::message::{Mailbox, Message};

/// The subject, with a variable.
pub(crate) const SUBJECT: &str = "{{code}} is your code";

const PARAGRAPH: &str = "<p style=\"margin:0 0 16px;font-size:16px;line-height:24px;color:#333333\">Your order is on its \
     way. You find what was sent, and when it is due, on <a href=\"https://shop.example.com/orders?from=mail\">the page \
     of your orders</a>; answer this mail if anything is missing.</p>\n";

/// HTML of about `bytes` bytes with a few variables. Those that are not in the request come from the contact.
pub(crate) fn html(bytes: usize) -> String {
    let mut html = String::from(
        "<!doctype html>\n<html><body style=\"margin:0;font-family:sans-serif\">\n\
         <p>Hello {{firstName ?? \"there\"}},</p>\n<p>your code is <b>{{code}}</b>.</p>\n",
    );
    let end = "<p>Yours, the shop</p>\n</body></html>\n";
    while html.len() + PARAGRAPH.len() + end.len() < bytes {
        html.push_str(PARAGRAPH);
    }
    html.push_str(end);
    html
}

/// The values of the variables, as a request sends them: the name is the stored one, the code is for this mail alone.
pub(crate) fn request_data(first_name: &str, code: usize) -> String {
    format!(r#"{{"firstName":"{first_name}","code":{{"value":"{code:06}","persistent":false}}}}"#)
}

/// The values of the variables, as they are stored with a mail.
pub(crate) fn variables(first_name: &str, code: usize) -> String {
    format!(r#"{{"code":"{code:06}","firstName":"{first_name}"}}"#)
}

/// The message that a recipient gets, unsigned.
pub(crate) fn message(from: &str, to: &str, html: &str, at: Timestamp) -> Vec<u8> {
    let filled = |text: &str| text.replace("{{firstName ?? \"there\"}}", "Ada").replace("{{code}}", "123456");
    let html = filled(html);
    let message = Message {
        report: None,
        from: Mailbox { name: Some("Bench".into()), address: from.into() },
        to: Mailbox { name: None, address: to.into() },
        reply_to: None,
        subject: &filled(SUBJECT),
        html: &html,
        text: None,
        headers: &[],
        attachments: &[],
        message_id: "01930000-0000-7000-8000-000000000000@bench.example",
        date: at,
    };
    message.to_mime()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_the_size_asked_for() {
        for bytes in [2 * 1024, 10 * 1024] {
            let length = html(bytes).len();
            assert!(length <= bytes && length + PARAGRAPH.len() + 64 > bytes, "{length}");
        }
        assert!(serde_json::from_str::<serde_json::Value>(&request_data("Ada", 7)).is_ok());
        assert!(serde_json::from_str::<serde_json::Value>(&variables("Ada", 7)).is_ok());
    }
}
