//! Request bodies: plain `serde` for valid ones. If that fails, a walk over the schema that the API document shows
//! collects every failing field.
//!
//! Values are counted in the raw JSON before it is parsed: one pass without memory, which also counts unknown members.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use axum::body::Body as RequestBody;
use axum::extract::{FromRequest, Request};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use mailwright_core::issue::Issue;
use mailwright_core::short_text::counted;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use utoipa::ToSchema;

use crate::auth;
use crate::body;
use crate::error::{ApiError, Failure};
use crate::fields;
use crate::middleware::Visit;

/// How many issues of one body are reported.
const MAX_ISSUES: usize = 100;
/// How many values a body consists of at most. In memory each takes many times the two bytes that it can have in JSON.
const MAX_VALUES: usize = 200_000;
/// Bodies that are longer are read apart from the threads that requests are answered on.
const LONG: usize = 256 * 1024;

/// A request body.
pub(crate) trait Payload: DeserializeOwned + ToSchema + Send + 'static {
    /// Most bytes of the body: 1 MB where nothing is said, well above the largest `data`.
    const MAX_BODY: usize = 1024 * 1024;

    /// Rules across fields, and rules that a schema cannot say.
    fn check(&self) -> Vec<Issue> {
        Vec::new()
    }

    /// What the contract answers in the legacy shape: the message, given a body that is not valid.
    fn legacy(_body: &Value) -> Option<&'static str> {
        None
    }
}

/// Extracts and checks a JSON body. An empty body counts as `{}`.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: Payload> FromRequest<S> for Body<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        Self::read(request).await
    }
}

impl<T: Payload> Body<T> {
    /// The same, for handlers that look at something else first.
    pub(crate) async fn read(request: Request) -> Result<Self, Failure> {
        KeptBody::of(request).parse().await.map(Self)
    }
}

/// A body that is read when it is first asked for, and can be parsed again.
pub(crate) struct KeptBody {
    unread: Option<Request>,
    visit: Option<Visit>,
    read: Result<Bytes, ApiError>,
}

impl KeptBody {
    /// The body of a request.
    pub(crate) fn of(request: Request) -> Self {
        let visit = request.extensions().get::<Visit>().cloned();
        Self { unread: Some(request), visit, read: Ok(Bytes::new()) }
    }

    /// Reads the body, unless that was done, and parses it as [`Body`] does.
    pub(crate) async fn parse<T: Payload>(&mut self) -> Result<T, Failure> {
        if let Some(request) = self.unread.take() {
            self.read = read(request, T::MAX_BODY).await;
        }
        let bytes = self.read.clone()?;
        match &self.visit {
            Some(visit) if bytes.len() > LONG => visit.bodies().apart(move || parse(&bytes)).await?,
            _ => parse(if bytes.is_empty() { b"{}" } else { &bytes }),
        }
    }
}

/// Refuses a list that is empty or has more than `most` elements.
pub(crate) fn check_count(field: &str, count: usize, most: usize) -> Vec<Issue> {
    if count == 0 {
        vec![Issue::new(field, "too_small", "Must have at least 1 element.")]
    } else if count > most {
        vec![Issue::new(field, "too_big", format!("Must have at most {most} elements."))]
    } else {
        Vec::new()
    }
}

/// The body of a request, which is at most so long.
pub(crate) async fn read(request: Request, limit: usize) -> Result<Bytes, ApiError> {
    let length = body::length(request.headers());
    if length.is_some_and(|length| length > limit) {
        return Err(ApiError::body_too_large(limit));
    }
    collect(request.into_body(), length, limit).await
}

/// The whole of a body that is at most so long.
async fn collect(body: RequestBody, length: Option<usize>, limit: usize) -> Result<Bytes, ApiError> {
    let mut pieces = body.into_data_stream();
    let Some(first) = pieces.next().await else { return Ok(Bytes::new()) };
    let first = first.map_err(|error| auth::failure(&error))?;
    if length == Some(first.len()) {
        return Ok(first);
    }
    // memory that is not written to yet costs nothing
    let mut all = BytesMut::with_capacity(length.unwrap_or_default().max(first.len()));
    let mut next = Some(first);
    while let Some(piece) = next {
        if all.len() + piece.len() > limit {
            return Err(ApiError::body_too_large(limit));
        }
        all.extend_from_slice(&piece);
        next = pieces.next().await.transpose().map_err(|error| auth::failure(&error))?;
    }
    Ok(all.freeze())
}

/// Whether JSON consists of more than so many values, as far as it is JSON: there is a comma or an opening bracket before
/// each but the first.
fn has_more_values(json: &[u8], most: usize) -> bool {
    // not even if every other byte were a comma
    if json.len() / 2 < most {
        return false;
    }
    let (mut values, mut at) = (0, 0);
    while let Some(&byte) = json.get(at) {
        at += 1;
        match byte {
            b',' | b'[' | b'{' => {
                values += 1;
                if values > most {
                    return true;
                }
            }
            b'"' => at += string(&json[at..]),
            _ => {}
        }
    }
    false
}

/// How long a string is, after its first quotation mark and with the last.
fn string(json: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match memchr::memchr2(b'"', b'\\', &json[at..]) {
            None => return json.len(),
            Some(found) if json[at + found] == b'"' => return at + found + 1,
            // what comes after a backslash ends nothing
            Some(found) => at = (at + found + 2).min(json.len()),
        }
    }
}

pub(crate) fn parse<T: Payload>(bytes: &[u8]) -> Result<T, Failure> {
    if has_more_values(bytes, MAX_VALUES) {
        return Err(ApiError::too_many_values(MAX_VALUES).into());
    }
    if let Ok(Object(value)) = serde_json::from_slice::<Object<T>>(bytes) {
        return checked(value);
    }
    let body: Value = serde_json::from_slice(bytes).map_err(|error| {
        if is_form(bytes) {
            ApiError::form_instead_of_json()
        } else {
            ApiError::malformed_json(&error.to_string())
        }
    })?;
    if let Some(message) = T::legacy(&body) {
        return Err(Failure::Legacy(message.to_owned()));
    }
    let document = document::<T>();
    let mut issues = Vec::new();
    document.walk(&document.root, &body, "", &mut issues);
    if issues.is_empty() {
        match serde_json::from_value::<Object<T>>(body) {
            // a key that comes twice, which serde refuses in a struct: the last one counts
            Ok(Object(value)) => return checked(value),
            // serde and the schema disagree: say what serde says rather than nothing
            Err(error) => issues.push(Issue::new("", "custom", error.to_string())),
        }
    }
    issues.truncate(MAX_ISSUES);
    Err(ApiError::invalid(issues).into())
}

/// Whether what is no JSON looks like a form that was filled in, as curl sends it with -d name=value or -F name=value.
fn is_form(body: &[u8]) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.[]%+".contains(byte);
    let name = body.iter().take_while(|byte| is_name(byte)).count();
    body.starts_with(b"--") || (name > 0 && body.get(name) == Some(&b'='))
}

fn checked<T: Payload>(value: T) -> Result<T, Failure> {
    let mut issues = value.check();
    if issues.is_empty() {
        return Ok(value);
    }
    issues.truncate(MAX_ISSUES);
    Err(ApiError::invalid(issues).into())
}

/// A struct that is read from a JSON object only: serde takes an array of the fields' values as well.
#[derive(Debug)]
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(Fields(PhantomData))
    }
}

/// For `deserialize_with`: a struct that is read from a JSON object only.
pub(crate) fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<T, D::Error> {
    Object::deserialize(deserializer).map(|Object(value)| value)
}

/// For `deserialize_with`: an optional list of such structs.
pub(crate) fn objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<Vec<T>>, D::Error> {
    let list: Option<Vec<Object<T>>> = Deserialize::deserialize(deserializer)?;
    Ok(list.map(|list| list.into_iter().map(|Object(value)| value).collect()))
}

/// A whole number as JSON Schema has it: 5.0 is one. One that is too great to be told is as great as can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WholeNumber(pub(crate) i64);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        let whole = || number.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as i64);
        let found = number.as_i64().or_else(whole);
        found.map(Self).ok_or_else(|| serde::de::Error::custom("not a whole number"))
    }
}

/// A type's schema with everything it refers to.
struct Document {
    root: Value,
    definitions: BTreeMap<String, Value>,
}

type Documents = RwLock<HashMap<TypeId, Arc<Document>>>;
static DOCUMENTS: LazyLock<Documents> = LazyLock::new(Documents::default);

fn document<T: ToSchema + Any>() -> Arc<Document> {
    let id = TypeId::of::<T>();
    if let Some(known) = DOCUMENTS.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
        return Arc::clone(known);
    }
    let mut definitions = Vec::new();
    T::schemas(&mut definitions);
    let json = |schema| serde_json::to_value(schema).unwrap_or_default();
    let document = Arc::new(Document {
        root: json(T::schema()),
        definitions: definitions.into_iter().map(|(name, schema)| (name, json(schema))).collect(),
    });
    DOCUMENTS.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&document));
    document
}

impl Document {
    fn resolve<'s>(&'s self, schema: &'s Value) -> &'s Value {
        match schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            Some(name) => self.definitions.get(name).unwrap_or(&Value::Null),
            None => schema,
        }
    }

    /// Collects what is wrong with `value`, which stands at `at`, until there is enough to report.
    fn walk(&self, schema: &Value, value: &Value, at: &str, out: &mut Vec<Issue>) {
        if out.len() >= MAX_ISSUES {
            return;
        }
        let schema = self.resolve(schema);
        if let Some(choices) = schema.get("oneOf").or(schema.get("anyOf")).and_then(Value::as_array) {
            return self.walk_choices(choices, value, at, out);
        }
        if let Some(parts) = schema["allOf"].as_array() {
            for part in parts {
                self.walk(part, value, at, out);
            }
            return;
        }
        if !has_type(schema, value) {
            out.push(wrong_type(schema, value, at));
            return;
        }
        match value {
            Value::String(text) => out.extend(fields::issue(schema, text, at)),
            Value::Array(items) => self.walk_array(schema, items, at, out),
            Value::Object(object) => self.walk_object(schema, object, at, out),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// One of several shapes: the issues of the shape that fits, if the value has a shape at all (reference 2.3).
    fn walk_choices(&self, choices: &[Value], value: &Value, at: &str, out: &mut Vec<Issue>) {
        let is_null = |choice: &&Value| choice["type"] == "null";
        if value.is_null() && choices.iter().any(|c| is_null(&c)) {
            return;
        }
        let choices: Vec<&Value> = choices.iter().filter(|c| !is_null(c)).collect();
        if let [only] = choices[..] {
            return self.walk(only, value, at, out);
        }
        let takes_name = choices.iter().any(|c| self.resolve(c)["properties"]["email"].is_object());
        let choices = choices.into_iter().map(|c| self.resolve(c)).filter(|c| has_type(c, value));
        let mut best: Option<Vec<Issue>> = None;
        for choice in choices {
            let mut issues = Vec::new();
            self.walk(choice, value, at, &mut issues);
            if issues.is_empty() {
                return;
            }
            let has_shape = !issues.iter().any(|i| i.received.as_deref() == Some("undefined"));
            if has_shape && best.as_ref().is_none_or(|b| issues.len() < b.len()) {
                best = Some(issues);
            }
        }
        match best {
            Some(mut issues) => {
                if takes_name && value.as_str().is_some_and(|text| text.contains('<')) {
                    issues.iter_mut().for_each(suggest_named);
                }
                out.extend(issues);
            }
            None => {
                out.push(Issue::new(at, "invalid_union", "Has none of the shapes that are allowed here."));
            }
        }
    }

    fn walk_array(&self, schema: &Value, items: &[Value], at: &str, out: &mut Vec<Issue>) {
        if let Some(most) = schema["maxItems"].as_u64().filter(|most| items.len() as u64 > *most) {
            out.push(Issue::new(at, "too_big", format!("Must have at most {}.", counted(most, "element"))));
        }
        if let Some(least) = schema["minItems"].as_u64().filter(|least| (items.len() as u64) < *least) {
            out.push(Issue::new(
                at,
                "too_small",
                format!("Must have at least {}.", counted(least, "element")),
            ));
        }
        for (index, item) in items.iter().enumerate() {
            if out.len() >= MAX_ISSUES {
                return;
            }
            self.walk(&schema["items"], item, &join(at, &index.to_string()), out);
        }
    }

    fn walk_object(
        &self,
        schema: &Value,
        object: &serde_json::Map<String, Value>,
        at: &str,
        out: &mut Vec<Issue>,
    ) {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                out.push(self.missing(&schema["properties"][name], &join(at, name)));
            }
        }
        for (name, value) in object {
            if out.len() >= MAX_ISSUES {
                return;
            }
            let property = &schema["properties"][name];
            if property.is_null() && schema["additionalProperties"] == false {
                let known = schema["properties"].as_object().into_iter().flat_map(serde_json::Map::keys);
                out.push(unknown_field(&join(at, name), name, known.map(String::as_str)));
                continue;
            }
            let schema = if property.is_null() { &schema["additionalProperties"] } else { property };
            if schema.is_object() {
                self.walk(schema, value, &join(at, name), out);
            }
        }
    }

    /// A field that is not there: what its schema says about nothing.
    fn missing(&self, schema: &Value, at: &str) -> Issue {
        let schema = self.resolve(schema);
        if schema.get("oneOf").or(schema.get("anyOf")).is_some() {
            return Issue::new(at, "invalid_union", "Required.");
        }
        Issue::new(at, "invalid_type", "Required.").received("undefined")
    }
}

/// A name and an address in one text: what is taken instead.
fn suggest_named(issue: &mut Issue) {
    "Must be an email address alone. Pass the name beside it: {\"name\": \"Ada\", \"email\": \"ada@example.com\"}."
        .clone_into(&mut issue.message);
}

/// A field that there is not, where guessing what was meant could do harm; with the one that was probably meant.
fn unknown_field<'k>(at: &str, name: &str, known: impl Iterator<Item = &'k str>) -> Issue {
    let known: Vec<_> = known.collect();
    // a name can be as long as a body; in the answer only its beginning is of use
    let (at, name) = (fields::clip(at), fields::clip(name));
    let hint = match known.iter().find(|other| is_near(&name, other)) {
        Some(meant) => format!("Did you mean {meant}?"),
        None => format!("What there is: {}.", known.join(", ")),
    };
    Issue::new(at, "unrecognized_keys", format!("There is no field {name}. {hint}"))
}

/// Whether two names differ by case and marks between words, or by two letters at most.
fn is_near(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.to_lowercase().replace(['_', '-', ' '], "");
    strsim::osa_distance(&plain(one), &plain(other)) <= 2
}

fn join(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn has_type(schema: &Value, value: &Value) -> bool {
    let types = types(schema);
    let is_integer = value.as_f64().is_some_and(|number| number.fract() == 0.0);
    types.is_empty() || types.iter().any(|t| *t == kind(value) || (*t == "integer" && is_integer))
}

fn wrong_type(schema: &Value, value: &Value, at: &str) -> Issue {
    let wanted = types(schema).into_iter().filter(|t| *t != "null").collect::<Vec<_>>().join(" or ");
    Issue::new(at, "invalid_type", format!("Expected {wanted}, received {}.", kind(value)))
        .received(kind(value))
}

#[cfg(test)]
mod tests {
    use axum::http::header::CONTENT_LENGTH;

    use super::*;
    use crate::fields::{Email, Subject};

    #[test]
    fn a_whole_number_may_have_a_fraction_of_nothing() {
        let schema = serde_json::json!({ "type": ["integer", "null"] });
        for (json, expected) in [
            ("5", Some(5)),
            ("-5.0", Some(-5)),
            ("5e2", Some(500)),
            ("9223372036854775807", Some(i64::MAX)),
            ("1e300", Some(i64::MAX)),
            ("5.5", None),
            ("true", None),
            ("\"5\"", None),
        ] {
            let read = serde_json::from_str::<WholeNumber>(json).ok().map(|number| number.0);
            assert_eq!(read, expected, "{json}");
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(has_type(&schema, &value), expected.is_some(), "{json}");
        }
    }

    #[derive(Debug, Deserialize, ToSchema)]
    #[expect(dead_code, reason = "only parsed")]
    struct Named {
        email: Email,
        name: Option<Subject>,
    }

    #[derive(Debug, Deserialize, ToSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only parsed")]
    enum To {
        One(Email),
        #[serde(deserialize_with = "object")]
        Named(Named),
        Many(Vec<OneTo>),
    }

    #[derive(Debug, Deserialize, ToSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only parsed")]
    enum OneTo {
        One(Email),
        #[serde(deserialize_with = "object")]
        Named(Named),
    }

    #[derive(Debug, Deserialize, ToSchema)]
    #[expect(dead_code, reason = "only parsed")]
    struct Sample {
        to: To,
        subject: Option<Subject>,
        subscribed: Option<bool>,
        #[schema(max_items = 1)]
        files: Option<Vec<Subject>>,
    }

    impl Payload for Sample {}

    #[derive(Debug, Deserialize, ToSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[expect(dead_code, reason = "only parsed")]
    struct Strict {
        scheduled_for: Option<bool>,
    }

    impl Payload for Strict {}

    #[test]
    fn a_strict_body_has_no_other_fields() {
        for (name, hint) in [
            ("scheduleFor", "Did you mean scheduledFor?"),
            ("scheduled_for", "Did you mean scheduledFor?"),
            ("ScheduledFor", "Did you mean scheduledFor?"),
            ("shceduledFor", "Did you mean scheduledFor?"),
            ("data", "What there is: scheduledFor."),
            ("", "What there is: scheduledFor."),
        ] {
            let error = refused(parse::<Strict>(serde_json::json!({name: null}).to_string().as_bytes()));
            let issue = &error["errors"][0];
            assert_eq!((&issue["field"], &issue["code"]), (&name.into(), &"unrecognized_keys".into()));
            assert_eq!(issue["message"], format!("There is no field {name}. {hint}"));
        }
        let error = refused(parse::<Strict>(format!("{{\"{}\": 1}}", "x".repeat(100_000)).as_bytes()));
        assert!(error.to_string().len() < 1000, "{error}");
        assert!(parse::<Strict>(br#"{"scheduledFor": null}"#).is_ok());
        assert!(parse::<Strict>(br#"{"scheduledFor": true, "scheduledFor": null}"#).is_ok());
    }

    fn issues(body: &Value) -> Vec<(String, String)> {
        let document = document::<Sample>();
        let mut out = Vec::new();
        document.walk(&document.root, body, "", &mut out);
        assert_eq!(
            out.is_empty(),
            parse::<Sample>(body.to_string().as_bytes()).is_ok(),
            "serde and schema: {body}"
        );
        out.into_iter().map(|i| (i.field, i.code.to_owned())).collect()
    }

    fn refused<T: std::fmt::Debug>(result: Result<T, Failure>) -> Value {
        let Err(Failure::Standard(error)) = result else { panic!("{result:?}") };
        serde_json::to_value(error.envelope("id", mailwright_core::time::Timestamp(0))).unwrap()["error"]
            .take()
    }

    async fn read(request: Request) -> Result<Sample, Failure> {
        Body::read(request).await.map(|Body(sample)| sample)
    }

    #[test]
    fn values_are_counted_outside_of_strings() {
        for (json, values) in [
            ("[0,0,0]", 3),
            (r#"{"a": [1], "b": ",[{", "c": "\\", "d": "\",[{", "e": 1}"#, 6),
            (r#"{"a": "no end, [[["#, 1),
            (r#"["\"#, 1),
            ("", 0),
        ] {
            // long enough that the quick look does not decide
            let json = format!("{json}{}", " ".repeat(100));
            assert!(!has_more_values(json.as_bytes(), values), "{json}");
            assert!(values == 0 || has_more_values(json.as_bytes(), values - 1), "{json}");
        }
    }

    #[test]
    fn a_name_with_an_address_and_a_form_are_recognised() {
        let error = refused(parse::<Sample>(br#"{"to": "Ann <ann@example.com>"}"#));
        assert!(
            error["errors"][0]["message"].as_str().unwrap().contains(r#"{"name": "Ada", "email":"#),
            "{error}"
        );
        let error = refused(parse::<Sample>(br#"{"to": "nope"}"#));
        assert_eq!(error["errors"][0]["message"], "Must be an email address.");
        for (body, is_form) in [
            ("to=ann%40example.com&subject=Hi", true),
            ("--boundary\r\nContent-Disposition: form-data", true),
            ("{to: 1}", false),
            ("nope", false),
            ("=", false),
        ] {
            let error = refused(parse::<Sample>(body.as_bytes()));
            assert_eq!(error["message"].as_str().unwrap().contains("form"), is_form, "{error}");
        }
    }

    #[test]
    fn a_body_of_countless_values_is_refused() {
        let body = format!(r#"{{"to": [{}0]}}"#, "0,".repeat(MAX_VALUES));
        let error = refused(parse::<Sample>(body.as_bytes()));
        assert_eq!((&error["statusCode"], &error["errors"][0]["code"]), (&422.into(), &"too_big".into()));
    }

    #[tokio::test]
    async fn a_body_is_as_long_as_its_payload_says() {
        let body = |length: usize| {
            let json = r#"{"to": "a@b.co"}"#;
            format!("{json}{}", " ".repeat(length - json.len()))
        };
        let limit = Sample::MAX_BODY;
        let told =
            Request::builder().header(CONTENT_LENGTH, limit + 1).body(axum::body::Body::empty()).unwrap();
        for request in [told, Request::new(body(limit + 1).into())] {
            let error = refused(read(request).await);
            assert_eq!(error["statusCode"], 413);
            assert_eq!(error["message"], "The request body is larger than 1 MB.");
        }
        assert!(read(Request::new(body(limit).into())).await.is_ok());
    }

    #[test]
    fn a_key_that_comes_twice_counts_once() {
        let body = br#"{"to": "nope", "to": "a@b.co", "subject": "a", "subject": "b"}"#;
        let sample: Sample = parse(body).unwrap();
        assert_eq!(sample.subject, Some(Subject("b".into())));
        let error = refused(parse::<Sample>(br#"{"to": "a@b.co", "to": "nope"}"#));
        assert_eq!(error["errors"][0]["field"], "to");
    }

    #[test]
    fn the_number_of_issues_is_bounded() {
        let body =
            serde_json::json!({"to": vec!["nope"; 10_000], "files": vec![""; 10_000], "subscribed": 1});
        let error = refused(parse::<Sample>(body.to_string().as_bytes()));
        assert_eq!(error["errors"].as_array().unwrap().len(), MAX_ISSUES);
    }

    #[test]
    fn every_failing_field_is_named() {
        use serde_json::json;
        let table = [
            (json!({"to": "a@b.co"}), vec![]),
            (json!({"to": {"email": "a@b.co", "name": null}}), vec![]),
            (json!({"to": ["a@b.co", {"email": "c@d.ee"}]}), vec![]),
            (json!({}), vec![("to", "invalid_union")]),
            (json!({"to": 5}), vec![("to", "invalid_union")]),
            (json!({"to": {"name": "x"}}), vec![("to", "invalid_union")]),
            (json!({"to": "nope"}), vec![("to", "invalid_string")]),
            (json!({"to": {"email": "nope"}}), vec![("to.email", "invalid_string")]),
            (
                json!({"to": ["a@b.co", "nope", {"email": "x"}]}),
                vec![("to.1", "invalid_string"), ("to.2.email", "invalid_string")],
            ),
            (
                json!({"to": "a@b.co", "subject": "a\nb", "subscribed": "yes", "files": ["", "b"]}),
                vec![
                    ("files", "too_big"),
                    ("files.0", "too_small"),
                    ("subject", "invalid_string"),
                    ("subscribed", "invalid_type"),
                ],
            ),
            (json!([]), vec![("", "invalid_type")]),
            (json!(["a@b.co", "subject"]), vec![("", "invalid_type")]),
            (json!({"to": ["a@b.co", ["c@d.ee", "x"]]}), vec![("to.1", "invalid_union")]),
            (json!({"to": "a@b.co", "subscribed": 1, "subject": null}), vec![("subscribed", "invalid_type")]),
        ];
        for (body, wanted) in table {
            let mut found = issues(&body);
            found.sort();
            let wanted: Vec<_> = wanted.into_iter().map(|(f, c)| (f.to_owned(), c.to_owned())).collect();
            assert_eq!(found, wanted, "{body}");
        }
    }
}
