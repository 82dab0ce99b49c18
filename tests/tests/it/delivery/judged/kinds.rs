//! Mails of every kind that the service sends.

use mailwright_testkit::OWNER;
use mailwright_testkit::{App, Project, Value, json};
use mailwright_tests::browser::{Browser, change_project};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{as_project, create_contact, text, track_ok, with};

use super::sender::{FROM, Sender, address};
use super::texts::{DATA, DATE, GUIDE, NEWS, NEWS_MJML, NOTE, ORDER, ORDER_TEXT, PDF, PICTURE, TABLE, TERMS};

/// How many of the instance's own mails the owner gets.
pub(super) const OWN: usize = 4;

fn page(content: &str) -> String {
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>The Garden Shop</title></head>\
         <body style=\"font-family:Arial,sans-serif;color:#222222;background:#ffffff\">{content}</body></html>"
    )
}

fn file(name: &str, kind: &str, content: &str) -> Value {
    json!({"filename": name, "contentType": kind, "content": content})
}

pub(super) async fn send_plain_ones(sender: &Sender) {
    let article = |n: usize| {
        format!(
            "<li><a href=\"https://www.shop.example.com/a/{n}\">Article {n}</a>, in stock, sent within two days</li>"
        )
    };
    let articles: Vec<String> = (0..12).map(article).collect();
    let shown = "Your order A-1042 is on its way";
    for (kind, fields) in [
        ("minimal", json!({"subject": "Hello", "body": "<p>Hello there</p>"})),
        (
            "nameless",
            json!({"from": FROM, "to": address("nameless"), "subject": "Hello", "body": "<p>Hello there</p>"}),
        ),
        (
            "no-markup",
            json!({"subject": "A question", "body": "Hello Ada, would you like to keep the blue can? We hold it until Friday."}),
        ),
        (
            "code",
            json!({"subject": "Your code is 481516", "body": "<p>Your code is <b>481516</b>. It is valid for ten minutes.</p>"}),
        ),
        ("order", json!({"subject": shown, "body": ORDER})),
        ("untracked", json!({"subject": shown, "body": ORDER, "tracking": false})),
        ("whole-page", json!({"subject": shown, "body": page(ORDER)})),
        ("own-text", json!({"subject": shown, "body": page(ORDER), "text": ORDER_TEXT})),
        (
            "reply-to",
            json!({"subject": "We have your question", "body": ORDER, "reply": "The service desk <help@shop.example.com>"}),
        ),
        (
            "with-link",
            json!({"subject": "Your summary", "body": format!("{ORDER}<p><a href=\"{{{{unsubscribeUrl}}}}\">Unsubscribe</a></p>")}),
        ),
        (
            "headers",
            json!({"subject": "Ticket 77", "body": ORDER, "headers": {
                "X-Order": "A-1042", "X-Name": "Zoë Åström", "In-Reply-To": "<77@shop.example.com>", "References": "<76@shop.example.com> <77@shop.example.com>",
            }}),
        ),
        (
            "long-lines",
            json!({
                "subject": "A long subject about the delivery of the order A-1042, which does not fit into one line of the header and is folded",
                "body": format!("<p>{}</p>", "The parcel leaves our warehouse tomorrow morning. ".repeat(80)),
            }),
        ),
        (
            "long-link",
            json!({"subject": "Your plan is ready", "tracking": false, "body": format!(
                "<p>Hello Ada,</p><p>the plan of your garden is ready. <a href=\"https://www.shop.example.com/plans?t={}\">Open the plan</a>, \
                 which stays there for a week.</p>", "abcdef0123456789".repeat(60)
            )}),
        ),
        (
            "links",
            json!({"subject": "What you looked at", "body": page(&format!("<h1>Hello Ada</h1><p>These are the articles of your list, \
            with what is in stock today.</p><ul>{}</ul>", articles.concat()))}),
        ),
        (
            "table",
            json!({"subject": "Your invoice 2031-77", "body": page(
                "<h1>Invoice 2031-77</h1><table border=\"1\"><tr><th>Article</th><th>Count</th><th>Price</th></tr><tr><td>Potting soil</td>\
                 <td>2</td><td>12.80 EUR</td></tr><tr><td>Watering can</td><td>1</td><td>18.50 EUR</td></tr></table><p>Please pay within 14 \
                 days, and give the number of the invoice.</p>"
            )}),
        ),
        (
            "pictures",
            json!({"subject": "When to sow", "body": page(&format!(
                "<p><img src=\"https://www.shop.example.com/i/can.jpg\" alt=\"The can\" width=\"300\" height=\"200\"></p>{GUIDE}"
            ))}),
        ),
        (
            "two-a",
            json!({"to": [address("two-a"), {"email": address("two-b"), "name": "Grace, the second"}], "subject": "Opening hours",
            "body": "<p>Hello {{name ?? \"there\"}},</p><p>on Friday the shop is closed. From Saturday on we are there from nine to six.</p>"}),
        ),
    ] {
        sender.send(kind, fields).await;
    }
}

pub(super) async fn send_files(sender: &Sender) {
    let inline =
        with(file("can.png", "image/png", PICTURE), &json!({"contentId": "can", "disposition": "inline"}));
    let with_picture =
        page(&format!("<p><img src=\"cid:can\" alt=\"A blue can\" width=\"120\" height=\"60\"></p>{GUIDE}"));
    let pdf = file("invoice.pdf", "application/pdf", PDF);
    for (kind, fields) in [
        (
            "files",
            json!({"subject": "Your invoice", "body": page(ORDER), "attachments": [
                pdf, file("terms.txt", "text/plain", TERMS), file("items.csv", "text/csv", TABLE), file("can.png", "image/png", PICTURE),
            ]}),
        ),
        (
            "more-files",
            json!({"subject": "Your delivery", "body": page(ORDER), "text": ORDER_TEXT, "attachments": [
                file("delivery.ics", "text/calendar", DATE), file("Lieferschein für Ada.pdf", "application/pdf", PDF),
                file("notiz.txt", "text/plain; charset=utf-8", NOTE), file("data.json", "application/json", DATA),
            ]}),
        ),
        ("inline", json!({"subject": "When to sow", "body": with_picture, "attachments": [inline]})),
        (
            "inline-and-file",
            json!({"subject": "When to sow", "body": with_picture, "attachments": [inline, pdf]}),
        ),
    ] {
        sender.send(kind, fields).await;
    }
}

pub(super) async fn send_in_other_scripts(sender: &Sender) {
    for (kind, to, from, subject, body) in [
        (
            "latin",
            "Zoë Åström",
            "Der Gärtnerladen",
            "Grüße aus dem Gärtnerladen: Ihre Bestellung ist unterwegs",
            "<p>Hallo Zoë,</p><p>vielen Dank für Ihre Bestellung. Wir haben zwei Säcke Blumenerde und die blaue Gießkanne \
             eingepackt, das Paket verlässt morgen früh unser Lager.</p><p>Herzliche Grüße<br>Ihr Gärtnerladen</p>",
        ),
        (
            "japanese",
            "佐藤 花子",
            "園芸店",
            "ご注文の商品を発送しました",
            "<p>佐藤様</p><p>このたびはご注文いただき、誠にありがとうございます。培養土二袋と青いじょうろを本日発送いたしました。</p>",
        ),
        (
            "cyrillic",
            "Анна Иванова",
            "Садовый магазин",
            "Ваш заказ отправлен",
            "<p>Здравствуйте, Анна!</p><p>Спасибо за заказ. Мы упаковали два мешка земли и синюю лейку, посылка выйдет завтра.</p>",
        ),
        (
            "arabic",
            "ليلى",
            "متجر الحديقة",
            "تم إرسال طلبك",
            "<div dir=\"rtl\"><p>مرحبا ليلى،</p><p>شكرا على طلبك. لقد قمنا بتغليف كيسين من التربة وإبريق الري الأزرق.</p></div>",
        ),
        (
            "emoji",
            "Ada",
            "The Garden Shop",
            "🌱 Your seeds are on the way",
            "<p>Hello Ada,</p><p>your seeds 🌻 left our warehouse this morning and should arrive on Thursday.</p>",
        ),
    ] {
        let (to, from) = (json!({"email": address(kind), "name": to}), json!({"email": FROM, "name": from}));
        sender.send(kind, json!({"to": to, "from": from, "subject": subject, "body": body})).await;
    }
}

/// Mails of templates, by requests, campaigns and workflows; the kinds of mail.
pub(super) async fn send_templates(sender: &Sender) -> Vec<String> {
    let app = &sender.app;
    let mut kinds = Vec::new();
    let way_out = format!("{NEWS}<p><a href=\"{{{{unsubscribeUrl}}}}\">Unsubscribe</a></p>");
    for (kind, fields) in [
        ("TRANSACTIONAL", json!({"subject": "Welcome {{name}}", "body": ORDER})),
        ("MARKETING", json!({"subject": "News from the garden", "body": NEWS})),
        ("HEADLESS", json!({"subject": "News from the garden", "body": way_out})),
    ] {
        let template = sender.template(kind, fields.clone()).await;
        let kind_name = kind.to_lowercase();
        let [request, event, campaign] =
            ["template", "workflow", "campaign"].map(|source| format!("{source}-{kind_name}"));
        sender.send(&request, json!({"template": template, "subscribed": true})).await;

        let flow = Flow::new(app, &event).await;
        flow.then("SEND_EMAIL", json!({"templateId": template})).await;
        flow.enable().await;
        let signed_up =
            json!({"email": address(&event), "event": event, "subscribed": true, "data": {"name": "Ada"}});
        track_ok(app, signed_up).await;

        create_contact(app, &address(&campaign), true, json!({"name": "Ada"})).await;
        let filter = json!({"field": "email", "operator": "equals", "value": address(&campaign)});
        let draft = json!({
            "name": campaign, "from": FROM, "fromName": "The Garden Shop", "type": kind, "audienceType": "FILTERED",
            "audienceCondition": {"logic": "AND", "groups": [{"filters": [filter]}]},
        });
        let made = app.post("/campaigns").json(&with(draft, &fields)).send().await.assert_status(201).json();
        let path = format!("/campaigns/{}", text(&made["data"]["id"]));
        app.post(&format!("{path}/send")).json(&json!({})).send().await.assert_status(200);
        if kind == "MARKETING" {
            let test = json!({"email": address("campaign-test")});
            app.post(&format!("{path}/test")).json(&test).send().await.assert_status(200);
        }
        kinds.extend([request, event, campaign]);
    }
    let mjml = json!({"subject": "Sowing in March", "mjml": NEWS_MJML});
    let german = json!({"subject": "Neues aus dem Garten", "body": "<p>Hallo {{name}},</p><p>im März werden Tomaten, Paprika und \
        Basilikum auf der Fensterbank ausgesät. In unserem Ratgeber steht, wie tief die Samen liegen sollten.</p>"});
    for (name, kind, fields, more) in [
        ("mjml", "MARKETING", mjml.clone(), json!({})),
        ("mjml-transactional", "TRANSACTIONAL", mjml, json!({})),
        ("german", "MARKETING", german.clone(), json!({"data": {"locale": "de"}})),
        (
            "marketing-text",
            "MARKETING",
            german,
            json!({"text": "Hallo Ada,\n\nim März werden Tomaten ausgesät.\n"}),
        ),
    ] {
        let template = sender.template(kind, fields).await;
        sender.send(name, with(json!({"template": template, "subscribed": true}), &more)).await;
        kinds.push(name.to_owned());
    }
    kinds
}

/// Mails that ask to confirm a subscription.
pub(super) async fn send_confirmations(sender: &Sender) {
    let app = &sender.app;
    change_project(app, &json!({"doubleOptIn": true})).await;
    for (kind, locale) in [("confirm", "en"), ("confirm-german", "de")] {
        create_contact(app, &address(kind), true, json!({"name": "Ada", "locale": locale})).await;
        sender.wait_for(&address(kind), 1).await;
    }
    let own = json!({"subject": "Please confirm your subscription", "body": "<p>Hello,</p><p>you asked for the newsletter of \
        {{project}}. Please <a href=\"{{confirmUrl}}\">confirm that it was you</a>. Otherwise you get none.</p>"});
    let template = sender.template("TRANSACTIONAL", own).await;
    change_project(app, &json!({"confirmationTemplateId": template})).await;
    create_contact(app, &address("confirm-template"), true, json!({"name": "Ada"})).await;
    sender.wait_for(&address("confirm-template"), 1).await;
    change_project(app, &json!({"doubleOptIn": false})).await;
}

/// The instance's own mails, [`OWN`] of them to the owner.
pub(super) async fn send_own_ones(sender: &Sender) {
    let app = &sender.app;
    let owner = Browser::log_in(app, OWNER.0, OWNER.1).await;
    let invitation = json!({"email": address("invitation"), "role": "MEMBER"});
    let path = format!("/projects/{}/members", app.project_id());
    owner.request(app, "POST", &path).json(&invitation).send().await.assert_status(202);
    Browser::sign_up(app, &address("verification")).await;
    let reset = json!({"email": OWNER.0});
    app.request("POST", "/auth/request-password-reset").json(&reset).send().await.assert_status(200);
    sender.wait_for(OWNER.0, 1).await;

    // a limit is nearly reached, and reached
    let books = app.bootstrap("The Book Shop", "books.example.com").await;
    send_many(app, &books, "dropped-a", 85).await;
    sender.wait_for(OWNER.0, 2).await;
    send_many(app, &books, "dropped-b", 15).await;
    sender.wait_for(OWNER.0, 3).await;
    // a project is disabled
    let tea = app.bootstrap("The Tea Shop", "tea.example.com").await;
    send_many(app, &tea, "nobody", 30).await;
    sender.wait_for(OWNER.0, OWN).await;
}

async fn send_many(app: &App, project: &Project, prefix: &str, count: usize) {
    let to: Vec<String> = (0..count).map(|n| address(&format!("{prefix}{n}"))).collect();
    let body = json!({"to": to, "from": project.from, "subject": "Hello", "body": "<p>Hello there</p>"});
    as_project(app, project, "POST", "/v1/send").json(&body).send().await.assert_status(200);
}
