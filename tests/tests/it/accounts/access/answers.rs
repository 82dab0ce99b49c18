//! What each caller is told by an endpoint.

use std::collections::BTreeMap;

use mailwright_testkit::Request;
use mailwright_tests::shown;
use serde_json::Value;

use super::table::{Access, MEMBER};
use super::world::SCOPES;

/// What a caller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// The request was let in; what it then met does not matter here.
    In,
    /// Refused with this status and code.
    No(u16, &'static str),
}

const MISSING: Told = Told::No(401, "MISSING_AUTH");
const WRONG_KEY: Told = Told::No(401, "INVALID_API_KEY");
const NOT_SIGNED_IN: Told = Told::No(401, "UNAUTHORIZED");
const NO_PROJECT: Told = Told::No(400, "BAD_REQUEST");
const STRANGER: Told = Told::No(403, "PROJECT_ACCESS_DENIED");
const HIDDEN: Told = Told::No(404, "RESOURCE_NOT_FOUND");
const NOT_ALLOWED: Told = Told::No(403, "FORBIDDEN");

fn let_in(yes: bool) -> Told {
    if yes { Told::In } else { NOT_ALLOWED }
}

pub(super) async fn check(told: Told, request: Request, what: &str) {
    let answer = request.send().await;
    // pages for recipients are no JSON
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let error = &body["error"];
    let code = error["code"].as_str().unwrap_or_default();
    let hidden = answer.status == 404 && error["details"]["resource"] == "Project";
    match told {
        Told::In => {
            let refused =
                matches!(answer.status, 401 | 403) || hidden || error.to_string().contains("X-Project-Id");
            assert!(!refused && answer.status < 500, "{what} is let in: {}", shown(&answer));
        }
        Told::No(status, expected) => {
            assert_eq!((answer.status, code), (status, expected), "{what}: {}", shown(&answer));
            assert!(status != 404 || hidden, "{what}: {}", shown(&answer));
        }
    }
}

/// What each caller is told by an endpoint.
pub(super) fn expected(access: Access) -> BTreeMap<String, Told> {
    let mut all = BTreeMap::new();
    let mut add = |who: &str, told| {
        all.insert(who.to_owned(), told);
    };
    let (rule, keys, stranger, anonymous) = match access {
        Access::Open => {
            // whoever they are, also with credentials that open nothing
            for who in
                ["nobody", "outsider", "no project", "forged cookie", "public key", "secret key", "read"]
            {
                add(who, Told::In);
            }
            return all;
        }
        Access::User => {
            for who in ["member", "admin", "owner", "outsider", "no project"] {
                add(who, Told::In);
            }
            for key in ["public key", "secret key", "foreign key"] {
                add(key, WRONG_KEY);
            }
            add("nobody", NOT_SIGNED_IN);
            add("forged cookie", NOT_SIGNED_IN);
            return all;
        }
        Access::Send(scopes) | Access::Track(scopes) => {
            let tracks = matches!(access, Access::Track(_));
            add("public key", if tracks { Told::In } else { WRONG_KEY });
            for key in ["secret key", "foreign key"] {
                add(key, Told::In);
            }
            for scope in SCOPES {
                add(scope, let_in(scope == "everything" || scopes.contains(&scope)));
            }
            for who in ["nobody", "member", "owner", "no project", "forged cookie"] {
                add(who, MISSING);
            }
            return all;
        }
        Access::Project(rule) => (rule, true, STRANGER, MISSING),
        Access::Path(rule) => (rule, true, HIDDEN, MISSING),
        Access::Mine(rule) => (rule, false, HIDDEN, NOT_SIGNED_IN),
    };
    for (role, who) in ["member", "admin", "owner"].into_iter().enumerate() {
        add(who, let_in(role >= rule.0));
    }
    add("outsider", stranger);
    add("nobody", anonymous);
    add("forged cookie", NOT_SIGNED_IN);
    add("public key", WRONG_KEY);
    let in_header = matches!(access, Access::Project(_));
    add("no project", if in_header { NO_PROJECT } else { let_in(MEMBER == rule.0) });
    if !keys {
        for key in ["secret key", "foreign key", "everything"] {
            add(key, WRONG_KEY);
        }
        return all;
    }
    add("secret key", let_in(rule.1.is_some()));
    // a key opens its own project, whatever a header says; in a path it must be the one
    add("foreign key", if in_header { let_in(rule.1.is_some()) } else { HIDDEN });
    for scope in SCOPES {
        let enough = |scopes: &[&str]| scope == "everything" || scopes.contains(&scope);
        add(scope, let_in(rule.1.is_some_and(enough)));
    }
    all
}
