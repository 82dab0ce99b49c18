//! Shapes as tables.

use maud::{Markup, html};

use super::model::Parameter;
use super::prose::inline;
use super::shape::{Field, Shape};

/// How deep tables are nested; what is deeper is named without its members.
const DEEPEST: usize = 6;

/// The parameters of an operation.
pub(super) fn parameters(parameters: &[Parameter], place: &str) -> Markup {
    html! {
        table.fields {
            (head())
            tbody {
                @for parameter in parameters.iter().filter(|parameter| parameter.place == place) {
                    tr data-parameter=(parameter.name) data-place=(place) data-required[parameter.required]
                        data-example=(parameter.example) {
                        (name_cell(&parameter.name, parameter.required))
                        (type_cell(&parameter.shape))
                        td { (about(&parameter.shape)) }
                    }
                }
            }
        }
    }
}

fn head() -> Markup {
    html! { thead { tr { th scope="col" { "Name" } th scope="col" { "Type" } th scope="col" { "Description" } } } }
}

fn name_cell(name: &str, required: bool) -> Markup {
    html! {
        th scope="row" {
            code { (name) }
            @if required { " " span.required { "required" } }
        }
    }
}

fn type_cell(shape: &Shape) -> Markup {
    html! {
        td.type { (shape.kind) @if shape.nullable { " or null" } }
    }
}

/// Description, limits and values.
fn about(shape: &Shape) -> Markup {
    html! {
        (inline(&shape.about))
        @if !shape.limits.is_empty() { span.limits { (shape.limits.join(", ")) } }
        // the values of a parameter may be in its description already
        @if !shape.values.is_empty() {
            span.values { "One of " @for (at, value) in shape.values.iter().enumerate() { @if at > 0 { ", " } code { (value) } } }
        }
    }
}

/// The members of a body, or what it is where it has none.
pub(super) fn body(shape: &Shape) -> Markup {
    html! {
        @if shape.fields.is_empty() && shape.choices.is_empty() {
            p { span.type { (shape.kind) } @if shape.nullable { " or null" } " " (about(shape)) }
        } @else {
            @if shape.kind != "object" { p.kind { (shape.kind) @if shape.nullable { " or null" } } }
            (members(shape, 0))
        }
    }
}

fn members(shape: &Shape, depth: usize) -> Markup {
    html! {
        @if !shape.fields.is_empty() { (table(&shape.fields, depth)) }
        @for choice in &shape.choices {
            p.kind { (choice.kind) @if !choice.limits.is_empty() { ", " (choice.limits.join(", ")) } }
            @if !choice.fields.is_empty() || !choice.choices.is_empty() { (members(choice, depth)) }
        }
    }
}

fn table(fields: &[Field], depth: usize) -> Markup {
    html! {
        table.fields {
            (head())
            tbody {
                @for field in fields {
                    tr {
                        (name_cell(&field.name, field.required))
                        (type_cell(&field.shape))
                        td { (about(&field.shape)) (nested(&field.shape, depth + 1)) }
                    }
                }
            }
        }
    }
}

/// What a member holds in turn.
fn nested(shape: &Shape, depth: usize) -> Markup {
    let has_members = |shape: &Shape| {
        !shape.fields.is_empty()
            || shape.choices.iter().any(|it| !it.fields.is_empty() || !it.choices.is_empty())
    };
    html! {
        @if let Some(name) = &shape.repeats {
            span.limits { "as the " code { (name) } " that it is in" }
        } @else if has_members(shape) && depth <= DEEPEST {
            details { summary { @if shape.choices.is_empty() { "Members" } @else { "Forms" } } (members(shape, depth)) }
        }
    }
}
