//! The page as a whole: head, table of contents, sections.

use maud::{DOCTYPE, Markup, html};

use super::guide::{Facts, SECTIONS};
use super::model::Group;
use super::operation;
use super::prose::paragraphs;

/// The page. Everything it loads is at relative addresses, so it works under whatever path the service is published.
pub(super) fn page(groups: &[Group], facts: &Facts) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Mailwright API reference" }
                link rel="stylesheet" href="docs/reference.css";
                script src="docs/reference.js" defer {}
            }
            body {
                a.skip href="#main" { "Skip to the reference" }
                (header())
                (contents(groups))
                main #main tabindex="-1" {
                    h1 { "API reference" }
                    p.lead { "Mailwright sends a project's email, and keeps the audience and automation around that sending." }
                    @for section in &SECTIONS {
                        section.guide id=(section.id) {
                            h2 { a href={ "#" (section.id) } { (section.title) } }
                            ((section.write)(facts))
                        }
                    }
                    @for group in groups { (of_group(group, facts)) }
                    p #nothing hidden { "Nothing matches." }
                }
            }
        }
    }
}

/// What stays on top. The search and the key are shown by the script, which makes them work.
fn header() -> Markup {
    html! {
        header.top {
            a.brand href="app/" { "Mailwright" }
            div.tools #tools hidden {
                label for="search" { "Search" }
                input #search type="search" autocomplete="off" spellcheck="false" placeholder="Search: path, summary, field" aria-keyshortcuts="/" aria-describedby="found";
                kbd aria-hidden="true" { "/" }
                span #found role="status" {}
                details.key #credential {
                    summary { "Key" }
                    div {
                        label for="key" { "Key to try requests with" }
                        input #key type="password" autocomplete="off" spellcheck="false" placeholder="sk_... or pk_...";
                        p { "Kept in the memory of this page until it is closed, and sent to this instance only." }
                    }
                }
            }
        }
    }
}

fn contents(groups: &[Group]) -> Markup {
    html! {
        nav.contents aria-label="Contents" {
            details #contents open {
                summary { "Contents" }
                ul {
                    @for section in &SECTIONS { li { a href={ "#" (section.id) } { (section.title) } } }
                }
                @for group in groups {
                    details.group {
                        summary { (group.title) " " span.count { (group.operations.len()) } }
                        ul {
                            li { a href={ "#" (group.id) } { "About " (group.title) } }
                            @for operation in &group.operations {
                                li {
                                    a href={ "#" (operation.id) } data-operation=(operation.id) {
                                        (operation::method(&operation.method)) " " (operation.summary)
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn of_group(group: &Group, facts: &Facts) -> Markup {
    html! {
        section.group id=(group.id) {
            h2 { a href={ "#" (group.id) } { (group.title) } }
            (paragraphs(&group.about))
            ul.overview {
                @for operation in &group.operations {
                    li {
                        a href={ "#" (operation.id) } { (operation::method(&operation.method)) " " code { (operation.path) } }
                        " " span { (operation.summary) }
                    }
                }
            }
            @for operation in &group.operations { (operation::section(operation, facts.instance())) }
        }
    }
}
