//! Pages for people: the reference at `/docs`, what is below `/app/`, and where `/` leads.

mod dashboard;
mod examples;
mod people;
mod reference;

use std::collections::BTreeMap;

use mailwright_testkit::{App, Response};

/// An operation as the reference shows it.
struct Shown {
    method: String,
    path: String,
    /// The example in each language.
    examples: BTreeMap<String, String>,
}

/// The reference, with its operations by their ids.
async fn reference(app: &App) -> (Response, BTreeMap<String, Shown>) {
    let page = app.request("GET", "/docs").send().await.assert_status(200);
    let operations = operations(&page.text());
    (page, operations)
}

fn operations(html: &str) -> BTreeMap<String, Shown> {
    let sections = html.split("<section class=\"operation\"").skip(1);
    let shown = sections.map(|section| {
        let (tag, inside) = section.split_once('>').expect("the end of the tag");
        let examples = inside.split("<pre class=").skip(1).map(|pre| {
            let (_, code) = pre.split_once("<code>").expect("code");
            let (code, _) = code.split_once("</code>").expect("the end of the code");
            (attribute(pre, "data-language"), unescaped(code))
        });
        let operation = Shown {
            method: attribute(tag, "data-method"),
            path: attribute(tag, "data-path"),
            examples: examples.collect(),
        };
        (attribute(tag, "id"), operation)
    });
    shown.collect()
}

fn attribute(tag: &str, name: &str) -> String {
    let (_, rest) =
        tag.split_once(&format!("{name}=\"")).unwrap_or_else(|| panic!("no {name} in {tag:.200}"));
    unescaped(rest.split('"').next().unwrap_or_default())
}

/// A text of the page, without what escapes it.
fn unescaped(html: &str) -> String {
    html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}
