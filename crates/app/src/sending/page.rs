//! Mails as pages: the HTML of a mail as it can be shown in a frame.
//!
//! Whoever shows such a page keeps scripts from running and requests from leaving (the policy of the answer). Here the
//! pictures that came with the mail are put into the page, and the picture that counts opens is taken out: a look at a mail
//! must not count as an open.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use mail_parser::{MessageParser, MimeHeaders};
use mailwright_core::custom_data::Data;
use mailwright_core::ids::EmailId;
use mailwright_core::project::Project;
use mailwright_core::template::TemplateType;
use mailwright_core::template_language::escape_html;
use mailwright_mail::message::Attachment;
use mailwright_mail::received;
use mailwright_mail::text::Survey;
use mailwright_store::audience::contact;
use mailwright_store::body;
use mailwright_store::feedback::inbound::{self, Contents};
use mailwright_store::sending::email::{self as store, Email, Source};
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

use crate::App;
use crate::delivery::mailbox;
use crate::error::{Error, Resource, Result};
use crate::sending::footer::Footers;
use crate::sending::render::preview;

/// Most bytes of pictures that are put into a page, as they are written there. Further ones are not shown.
const MOST_PICTURES: usize = 16 * 1024 * 1024;
/// What stands in the place of the picture that counts opens.
const NO_PICTURE: &str = "data:,";
/// What a page begins with. Links lead out of the frame, which the policy of the answer forbids: a look at a mail
/// follows none.
const BEGIN: &str = "<!doctype html><meta charset=\"utf-8\"><base target=\"_blank\">";

/// What stands above a mail whose own values are gone.
const PRESENT_DATA: &str = "<p style=\"margin:0;padding:8px 12px;background:#fff4ce;color:#3b2f00;font:13px sans-serif\">\
    The values of this mail are not kept any more. It is shown with what is known of the contact now.</p>";

/// A picture that came with a mail.
struct Picture<'a> {
    name: &'a str,
    media: &'a str,
    content: &'a [u8],
}

impl App {
    /// A captured mail as a page.
    pub async fn captured_page(&self, project: &Project, id: EmailId) -> Result<String> {
        let (_, raw) = self.captured_source(project, id).await?;
        self.page_of(project, raw).await
    }

    /// A mail that was sent, or that came in, as a page. One that was sent is shown as it was captured; otherwise it is
    /// rendered again, with its footer, without links to the recipient's pages, and without tracking.
    pub async fn email_page(&self, project: &Project, id: EmailId) -> Result<String> {
        if let Some((_, raw)) = self.captured_bytes(project, id).await? {
            return self.page_of(project, raw).await;
        }
        let number = project.number;
        let (sent, received) = self
            .read(body!(async |rx| {
                if let Some(email) = store::get(rx, number, id).await? {
                    let source = store::sources(rx, number, &[id]).await?.into_iter().next();
                    return Ok((Some((email, source)), None));
                }
                let Some((_, _, contents)) = inbound::get(rx, number, id).await? else {
                    return Ok((None, None));
                };
                Ok((None, Some((inbound::raw(rx, number, id).await?, contents))))
            }))
            .await?;
        match (sent, received) {
            (Some((email, source)), _) => {
                let html = self.rendered_again(project, &email, source).await?;
                html.ok_or_else(|| Error::not_found(Resource::Content, id))
            }
            (None, Some((raw, contents))) => {
                let app = self.clone();
                self.apart(project, move || app.page_of_received(raw.as_deref(), contents)).await
            }
            (None, None) => Err(Error::not_found(Resource::Email, id)),
        }
    }

    /// A message of ours as a page.
    async fn page_of(&self, project: &Project, raw: Vec<u8>) -> Result<String> {
        let app = self.clone();
        self.apart(project, move || app.page_of_message(&raw)).await
    }

    /// A message that came in as a page, or what is known of it where it is not kept.
    fn page_of_received(&self, raw: Option<&[u8]>, contents: Contents) -> String {
        let shown = raw.and_then(received::shown);
        let (html, pictures) = match (shown, contents.html, contents.text) {
            (Some(shown), ..) => shown,
            (None, Some(html), _) => (html, Vec::new()),
            (None, None, text) => (preformatted(&text.unwrap_or_default()), Vec::new()),
        };
        let pictures: Vec<_> = pictures
            .iter()
            .map(|(file, content)| Picture {
                name: file.content_id.as_deref().unwrap_or_default(),
                media: &file.content_type,
                content,
            })
            .collect();
        self.page(&html, &pictures)
    }

    fn page_of_message(&self, raw: &[u8]) -> String {
        let parsed = MessageParser::default().parse(raw);
        let Some(message) = &parsed else { return self.page("", &[]) };
        let files: Vec<_> = message
            .attachments()
            .filter_map(|part| Some((part.content_id()?, mailbox::attachment(part), part.contents())))
            .collect();
        let pictures: Vec<_> = files
            .iter()
            .map(|(name, file, content)| Picture { name, media: &file.content_type, content })
            .collect();
        self.page(&message.body_html(0).unwrap_or_default(), &pictures)
    }

    /// The HTML of a mail that is not kept as it was sent; nothing when what it is made of is gone.
    async fn rendered_again(
        &self,
        project: &Project,
        email: &Email,
        source: Option<Source>,
    ) -> Result<Option<String>> {
        let (Some(source), Some(contact), Some(recipient)) = (source, email.contact, email.recipient.clone())
        else {
            return Ok(None);
        };
        let content = self.0.sending.contents.get(project.number, &source.content_hash).await?;
        let Some(content) = content else { return Ok(None) };
        let Source { mut variables, kind, .. } = source;
        // the values of a mail go once it is settled
        let is_present_data = variables.is_empty() && content.has_own_values();
        if is_present_data {
            let number = project.number;
            let found = self.read(body!(async |rx| contact::get(rx, number, contact).await)).await?;
            let values = found.map(|contact| content.variables(&contact, &Data::new()));
            variables = values.unwrap_or_default();
        }
        let (app, footers) = (self.clone(), Footers::new(project, false));
        self.apart(project, move || {
            let (_, body) = preview(contact, recipient.as_str(), &variables, &content, true);
            let mut html = body?;
            if kind == Some(TemplateType::Marketing) {
                let locale = variables.get("locale").or_else(|| content.shared.get("locale"));
                footers.footer(locale.and_then(|locale| locale.as_str())).insert(&mut html, "#", "#");
            }
            let above = if is_present_data { PRESENT_DATA } else { "" };
            Some(app.page_with(above, &html, &content.attachments))
        })
        .await
    }

    /// A page of the HTML of a mail and the files that come with it, with something of ours above.
    pub(crate) fn page_with(&self, above: &str, html: &str, files: &[Attachment]) -> String {
        let pictures = files.iter().filter_map(|file| {
            let name = file.content_id.as_deref()?;
            Some(Picture { name, media: &file.content_type, content: &file.content })
        });
        self.page(&format!("{above}{html}"), &pictures.collect::<Vec<_>>())
    }

    /// A page of some HTML.
    fn page(&self, html: &str, pictures: &[Picture<'_>]) -> String {
        let html = &*self.without_background(html);
        let mut page = String::with_capacity(BEGIN.len() + html.len());
        page.push_str(BEGIN);
        let (mut from, mut room) = (0, MOST_PICTURES);
        for found in Survey::of(html).pictures {
            let Some(range) = found.range else { continue };
            let address = if self.counts_opens(&found.source) {
                NO_PICTURE.to_owned()
            } else if let Some(address) = within(&found.source, pictures, room) {
                room -= address.len();
                address
            } else {
                continue;
            };
            page.push_str(&html[from..range.start]);
            page.push_str(&address);
            from = range.end;
        }
        page.push_str(&html[from..]);
        page
    }

    /// HTML without the address of the background by which opens are counted. A mail has one.
    fn without_background<'h>(&self, html: &'h str) -> Cow<'h, str> {
        let background =
            html.rsplit_once("background-image:url('").and_then(|(_, rest)| rest.split_once("')"));
        match background {
            Some((address, _)) if self.counts_opens(address) => Cow::Owned(html.replace(address, NO_PICTURE)),
            _ => Cow::Borrowed(html),
        }
    }

    /// Whether an address is that of the picture by which opens are counted.
    pub(crate) fn counts_opens(&self, address: &str) -> bool {
        let token = address.strip_suffix("/o.gif").and_then(|rest| rest.rsplit_once("/t/"));
        token.is_some_and(|(_, token)| self.followed_picture(token).is_some())
    }
}

/// The address of a picture that came with the mail, with the picture in it; nothing for any other address, and where
/// there is no room for it.
fn within(source: &str, pictures: &[Picture<'_>], room: usize) -> Option<String> {
    let name = source.get(..4).filter(|scheme| scheme.eq_ignore_ascii_case("cid:")).map(|_| &source[4..])?;
    let name = percent_decode_str(name).decode_utf8_lossy();
    let picture = pictures.iter().find(|picture| picture.name.trim_matches(['<', '>', ' ']) == name)?;
    let kind = picture.media.strip_prefix("image/")?;
    let is_kind = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
    if kind.is_empty() || !kind.bytes().all(is_kind) || picture.content.len() / 3 * 4 + 64 > room {
        return None;
    }
    let address = format!("data:image/{kind};base64,{}", BASE64.encode(picture.content));
    (address.len() <= room).then_some(address)
}

/// A mail without HTML.
fn preformatted(text: &str) -> String {
    format!("<pre style=\"white-space:pre-wrap\">{}</pre>", escape_html(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_the_mail_is_put_into_the_page() {
        let svg = Picture { name: "<a b@x>", media: "image/svg+xml", content: b"<svg/>" };
        let odd = Picture { name: "odd", media: "image/png\" onerror=\"", content: b"x" };
        let page = Picture { name: "page", media: "text/html", content: b"<script>" };
        let pictures = [svg, odd, page];
        for (source, expected) in [
            ("cid:a%20b@x", Some("data:image/svg+xml;base64,PHN2Zy8+")),
            ("CID:a b@x", Some("data:image/svg+xml;base64,PHN2Zy8+")),
            ("cid:odd", None),
            ("cid:page", None),
            ("cid:other", None),
            ("https://a.test/a b@x", None),
            ("cid", None),
            ("é", None),
        ] {
            assert_eq!(within(source, &pictures, MOST_PICTURES).as_deref(), expected, "{source}");
        }
        assert_eq!(within("cid:a b@x", &pictures, 20), None);
    }

    #[test]
    fn a_mail_without_html_is_shown_as_text() {
        assert_eq!(preformatted("a <b>"), "<pre style=\"white-space:pre-wrap\">a &lt;b&gt;</pre>");
    }
}
