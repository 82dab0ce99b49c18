//! Requests that are to be refused.

use mailwright_testkit::{Request, Response, Value};
use mailwright_tests::shown;

use super::changes::Cause;

/// A request to an operation.
#[derive(Clone)]
pub(crate) struct Asked {
    /// Method and path as the API document has them: `post /contacts`.
    pub(crate) operation: &'static str,
    pub(crate) request: Request,
}

impl Asked {
    pub(crate) fn json(self, body: &Value) -> Self {
        Self { request: self.request.json(body), ..self }
    }

    pub(crate) fn body(self, body: impl Into<Vec<u8>>, kind: &str) -> Self {
        Self { request: self.request.body(body.into(), kind), ..self }
    }

    /// The fields of a form as a page sends them.
    pub(crate) fn form(self, fields: &str) -> Self {
        let request = self.request.header("sec-fetch-site", "same-origin");
        let body = fields.replace(' ', "+");
        Self { request: request.body(body, "application/x-www-form-urlencoded"), ..self }
    }

    pub(crate) fn header(self, name: &str, value: &str) -> Self {
        Self { request: self.request.header(name, value), ..self }
    }

    /// Expects a refusal: `why`, and what the caller is told.
    pub(crate) fn refused(self, why: &'static str, status: u16, code: &'static str) -> Refusal {
        Refusal { asked: self, why, status, code, causes: &[] }
    }

    /// The same where the answer is a page, or has the legacy shape.
    pub(crate) fn refused_otherwise(self, why: &'static str, status: u16) -> Refusal {
        self.refused(why, status, "")
    }
}

/// A request that is to be refused.
#[derive(Clone)]
pub(crate) struct Refusal {
    pub(crate) asked: Asked,
    why: &'static str,
    pub(crate) status: u16,
    /// Empty where the answer is no envelope.
    code: &'static str,
    /// What of it is kept on purpose.
    pub(crate) causes: &'static [Cause],
}

impl Refusal {
    /// Says that it leaves something behind on purpose.
    pub(crate) fn leaving(self, causes: &'static [Cause]) -> Self {
        Self { causes, ..self }
    }

    /// Says that it is counted as an attempt.
    pub(crate) fn counted(self) -> Self {
        self.leaving(&[Cause::Attempt])
    }

    /// How a failing test names it.
    pub(crate) fn name(&self) -> String {
        format!("{}, {}", self.asked.operation, self.why)
    }

    /// What is wrong about the answer, if anything is.
    pub(crate) fn fault(&self, answer: &Response) -> Option<String> {
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let code = body["error"]["code"].as_str().unwrap_or_default();
        let is_right = answer.status == self.status && code == self.code;
        (!is_right).then(|| format!("expected {} {:?}, got {}", self.status, self.code, shown(answer)))
    }
}
