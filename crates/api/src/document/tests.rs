use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::collect;
use super::conditions::conditions;
use super::operation::Traits;

fn document() -> Value {
    serde_json::from_str(&crate::openapi()).unwrap()
}

fn operations(document: &Value) -> Vec<(String, Value)> {
    let items = document["paths"].as_object().unwrap().iter();
    items
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().iter();
            methods.map(move |(method, operation)| (format!("{method} {path}"), operation.clone()))
        })
        .collect()
}

#[test]
fn every_operation_names_what_its_middleware_can_answer() {
    let document = document();
    for (name, operation) in operations(&document) {
        let has = |status: &str| operation["responses"].get(status).is_some();
        let (method, path) = name.split_once(' ').unwrap();
        let traits = Traits::of(method, path, &operation);
        let opens = &traits.opens;
        assert_eq!(opens.anything(), has("401") && operation["security"] != json!([{}]), "{name}: 401");
        for (status, response) in operation["responses"].as_object().unwrap() {
            let referred = response.get("$ref").is_some();
            let told = response["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(referred || told, "{name}: {status} has no description");
        }
    }
}

#[test]
fn what_the_middleware_answers_depends_on_where_a_request_goes() {
    let document = document();
    let statuses = |path: &str, method: &str| {
        let responses = document["paths"][path][method]["responses"].as_object().unwrap();
        let named: BTreeSet<&str> = responses.keys().map(String::as_str).collect();
        named.into_iter().collect::<Vec<_>>().join(" ")
    };
    for (path, method, expected) in [
        ("/health", "get", "200 414 431 500 503"),
        ("/config", "get", "200 414 421 429 431 500 503"),
        ("/unsubscribe/{id}", "get", "200 404 414 431 500 503"),
        ("/unsubscribe/{id}", "post", "200 404 414 431 500 503"),
        ("/users/@me", "get", "200 401 403 414 421 429 431 500 503"),
        ("/users/@me/projects/{id}", "patch", "200 400 401 403 404 408 413 414 421 422 429 431 500 503"),
        ("/contacts/{id}", "get", "200 400 401 403 404 414 421 429 431 500 503"),
        ("/v1/track", "post", "200 400 401 403 408 409 413 414 421 422 429 431 500 503"),
    ] {
        assert_eq!(statuses(path, method), expected, "{method} {path}");
    }
}

/// These refuse what comes from other sites, whatever credential there is.
#[test]
fn who_signs_people_in_or_out_says_that_other_sites_cannot() {
    let document = document();
    let responses: Vec<_> = operations(&document)
        .into_iter()
        .map(|(_, operation)| (operation["operationId"].clone(), operation["responses"].clone()))
        .collect();
    let mut found = 0;
    for (file, text) in crate::tests::sources() {
        let handlers = text.split("operation_id = \"").skip(1);
        for handler in handlers.filter(|text| {
            let signature = text.split("async fn").nth(1).and_then(|rest| rest.split(" {\n").next());
            signature.is_some_and(|signature| signature.contains("_: SameSite"))
        }) {
            let id = handler.split('"').next().unwrap();
            let (_, given) = responses.iter().find(|(name, _)| name == id).unwrap();
            assert!(given.get("403").is_some(), "{file}: {id}");
            found += 1;
        }
    }
    assert_eq!(found, 7);
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_used() {
    let document = document();
    let mut used = BTreeSet::new();
    collect(&document["paths"], &document["components"], &mut used);
    collect(&document["components"]["responses"], &document["components"], &mut used);
    let schemas: BTreeSet<String> =
        document["components"]["schemas"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(used, schemas);
}

/// A condition of a schema that got another name would be left out without a word.
#[test]
fn every_condition_is_about_a_schema() {
    let document = document();
    for (name, _) in conditions() {
        let schema = &document["components"]["schemas"][name];
        assert!(schema["type"].is_string() || schema["oneOf"].is_array(), "{name}");
    }
}

/// Two types with one name would be one schema, and the document of one of them wrong.
#[test]
fn no_two_types_share_the_name_of_a_schema() {
    let mut names: Vec<(String, String)> = Vec::new();
    for (file, text) in crate::tests::sources() {
        let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
        for block in shipped.split("ToSchema").skip(1) {
            let mut given = None;
            for line in block.lines().skip(1).map(str::trim) {
                if let Some(rest) = line.split("schema(as = ").nth(1) {
                    given = rest.split([')', ',']).next().map(str::to_owned);
                }
                let line = line.trim_start_matches("pub(crate) ");
                let declared = line.strip_prefix("struct ").or(line.strip_prefix("enum "));
                if let Some(rest) = declared {
                    let own = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                    names.push((given.take().unwrap_or_else(|| own.to_owned()), file.clone()));
                }
                if !line.starts_with("#[") && !line.starts_with("///") && !line.starts_with("reason") {
                    break;
                }
            }
        }
    }
    assert!(names.len() > 100, "{}", names.len());
    names.sort();
    let twice: Vec<_> = names.windows(2).filter(|pair| pair[0].0 == pair[1].0).collect();
    assert!(twice.is_empty(), "{twice:?}");
}
