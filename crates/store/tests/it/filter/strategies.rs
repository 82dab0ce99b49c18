//! What contacts and filters are made of.

use mailwright_core::address::EmailAddress;
use mailwright_core::contact::Contact;
use mailwright_core::custom_data::Data;
use mailwright_core::filter::Activity;
use mailwright_core::ids::ContactId;
use mailwright_core::time::Timestamp;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{DAY, MINUTE, NOW, Person, STORED, segment};

const KEYS: [&str; 18] = [
    "a",
    "b",
    "c",
    "a.b",
    "a.b.c",
    "0",
    "x y",
    "it's",
    "q\"uote",
    "back\\slash",
    "%",
    "_",
    "$",
    "[0]",
    "*",
    "ключ",
    "😀",
    "#-1",
];
pub(super) const EVENTS: [&str; 6] = ["signup", "a.b", "email.open", "it's %_", "ключ", "never"];
const TEXTS: [&str; 29] = [
    "",
    "pro",
    "Pro",
    "pr",
    "%",
    "_",
    "50%",
    "p_o",
    "a'b",
    "\"",
    "\\",
    "é",
    "e\u{301}",
    "😀",
    "ß",
    "true",
    "null",
    "5",
    "5.0",
    "1",
    "-1",
    "60",
    "{\"a\":1}",
    "[1]",
    "2025-02-30",
    "2025-03-1",
    "2025-03-09 12:00:00",
    "2025-03-09T12:00:00+02:00",
    "2025-03-09x",
];
const NUMBERS: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    5.0,
    60.0,
    60.000_000_000_000_01,
    1e300,
    -1e300,
    5e-324,
    1e-7,
    9_007_199_254_740_992.0,
    18_446_744_073_709_551_615.0,
];

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => prop::sample::select(NUMBERS.to_vec()).prop_map(Value::from),
        2 => (prop::sample::select(NUMBERS.to_vec()), any::<bool>())
            .prop_map(|(number, up)| Value::from(if up { number.next_up() } else { number.next_down() })),
        3 => (-2i64..3).prop_map(Value::from),
        2 => prop::sample::select(vec![
            9_007_199_254_740_991, 9_007_199_254_740_992, 9_007_199_254_740_993, 9_007_199_254_740_995, i64::MAX, i64::MIN, 60,
        ])
        .prop_map(Value::from),
        1 => Just(Value::from(u64::MAX)),
        1 => prop::num::f64::NORMAL.prop_map(Value::from),
    ]
}

/// Times at and beside the borders of days and windows.
fn time() -> impl Strategy<Value = Timestamp> {
    let distance = prop::sample::select(vec![
        0,
        MINUTE,
        60 * MINUTE,
        DAY / 2,
        DAY,
        3 * DAY / 2,
        2 * DAY,
        7 * DAY,
        -DAY / 2,
        -DAY,
        -30 * DAY,
        400 * DAY,
    ]);
    (distance, -1i64..2).prop_map(|(distance, beside)| Timestamp(NOW.0 - distance + beside))
}

/// The forms in which a date is written.
fn date() -> impl Strategy<Value = String> {
    (time(), 0usize..5).prop_map(|(time, form)| {
        let full = time.to_string();
        match form {
            0 => full[..10].to_owned(),
            1 => full[..19].to_owned(),
            2 => format!("{}Z", &full[..19]),
            3 => full[..23].to_owned(),
            _ => full,
        }
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(TEXTS.to_vec()).prop_map(str::to_owned),
        3 => date(),
        1 => "[^\0]{0,6}",
    ]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        2 => any::<bool>().prop_map(Value::from),
        4 => number(),
        6 => text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(key(), inner, 0..3).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        3 => prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned),
        2 => prop::sample::select(KEYS.to_vec()).prop_map(str::to_owned),
    ]
}

/// Nothing happens to a contact before it is created, but that clocks differ. Moves the creation to before all else, or
/// all else to after the creation; `early` is how much earlier it then still may seem.
fn put_in_order(person: &mut Person, move_creation: bool, early: i64) {
    let contact = &mut person.contact;
    let events = person.events.iter_mut().map(|(_, at)| at);
    let activities = person.mails.iter_mut().flatten().flatten();
    let first = Timestamp(contact.created_at.0 - early);
    for at in events.chain(activities) {
        if move_creation {
            contact.created_at = contact.created_at.min(Timestamp(at.0 + early));
        } else {
            *at = first.max(*at);
        }
    }
    contact.id = ContactId::new(contact.created_at, rand::random());
}

pub(super) fn person() -> impl Strategy<Value = Person> {
    let order = (any::<bool>(), prop::sample::select(vec![0, 1, 60 * MINUTE - 1, 60 * MINUTE]));
    (unordered_person(), order).prop_map(|(mut person, (move_creation, early))| {
        put_in_order(&mut person, move_creation, early);
        person
    })
}

fn unordered_person() -> impl Strategy<Value = Person> {
    let contact =
        (prop::sample::select(vec!["ada", "bob+%", "c_d", "o'neil"]), any::<bool>(), time(), time());
    let mail = vec(prop::option::of(time()), Activity::ALL.len());
    let stored = prop::sample::select(STORED.map(segment).to_vec());
    (
        contact,
        btree_map(key(), json_value(), 0..5),
        vec((prop::sample::select(EVENTS[..5].to_vec()), time()), 0..4),
        vec(mail, 0..3),
        btree_map(stored, any::<bool>(), 0..3),
    )
        .prop_map(|((local, subscribed, created_at, updated_at), data, events, mails, memberships)| {
            let id = ContactId::new(created_at, rand::random());
            let email = format!("{local}.{:06x}@example.com", id.as_uuid().as_u128() & 0xff_ffff);
            let email = EmailAddress::from_stored(&email);
            let data: Data = data.into_iter().collect();
            Person {
                contact: Contact { id, email, subscribed, data, created_at, updated_at },
                events: events.into_iter().map(|(name, at)| (name.to_owned(), at)).collect(),
                mails,
                memberships,
            }
        })
}

/// Many who differ in one value alone, for conditions on that: here the borders between types and numbers are dense.
pub(super) fn dense() -> impl Strategy<Value = (Vec<Person>, Vec<Value>)> {
    let value = prop_oneof![4 => number(), 3 => text().prop_map(Value::from), 2 => json_value()];
    let data = value.prop_flat_map(|value| {
        let nested = json!({ "y": value });
        prop::sample::select(vec![
            json!({ "x": value }),
            json!({ "x": value, "x.y": value }),
            json!({ "x": nested }),
            json!({ "x": nested, "x.y": null }),
            json!({ "x": nested, "x.y": 1 }),
        ])
    });
    let person = (person(), data).prop_map(|(mut person, data)| {
        person.contact.data = data.as_object().cloned().unwrap_or_default();
        person
    });
    let path = prop::sample::select(vec!["x".to_owned(), "x.y".to_owned()]);
    let tree =
        on_data(path).prop_map(|filter| json!({ "logic": "AND", "groups": [{ "filters": [filter] }] }));
    (vec(person, 1..40), vec(tree, 1..12))
}

fn path() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        4 => key(),
        2 => (key(), key()).prop_map(|(a, b)| format!("{a}.{b}")),
        1 => (key(), key(), key()).prop_map(|(a, b, c)| format!("{a}.{b}.{c}")),
        1 => prop::sample::select(vec!["a.0", "a..b", ".a", "a.", "missing"]).prop_map(str::to_owned),
    ]
}

fn length() -> impl Strategy<Value = (Value, &'static str)> {
    let count =
        prop::sample::select(vec![json!(0), json!(1), json!(1.5), json!(7), json!(1e9), json!(1e300)]);
    (count, prop::sample::select(vec!["days", "hours", "minutes"]))
}

fn filter(field: String, operator: &str, value: Value) -> Value {
    json!({ "field": field, "operator": operator, "value": value })
}

const COMPARISONS: [&str; 4] = ["greaterThan", "lessThan", "greaterThanOrEqual", "lessThanOrEqual"];

fn on_data(path: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = Value> {
    let equality = prop::sample::select(vec!["equals", "notEquals"]);
    let operand = prop_oneof![any::<bool>().prop_map(Value::from), number(), text().prop_map(Value::from)];
    let order = prop::sample::select(COMPARISONS.to_vec());
    let ordered = prop_oneof![number(), text().prop_map(Value::from)];
    let part = prop::sample::select(vec!["contains", "notContains"]);
    let existence = prop::sample::select(vec!["exists", "notExists"]);
    let window = prop::sample::select(vec!["within", "olderThan"]);
    let field = || path.clone().prop_map(|path| format!("data.{path}"));
    prop_oneof![
        4 => (field(), equality, operand).prop_map(|(f, o, v)| filter(f, o, v)),
        4 => (field(), order, ordered).prop_map(|(f, o, v)| filter(f, o, v)),
        2 => (field(), part, text()).prop_map(|(f, o, v)| filter(f, o, v.into())),
        1 => (field(), existence).prop_map(|(f, o)| filter(f, o, Value::Null)),
        2 => (field(), window, length()).prop_map(|(field, operator, (value, unit))| {
            json!({ "field": field, "operator": operator, "value": value, "unit": unit })
        }),
    ]
}

fn on_contact() -> impl Strategy<Value = Value> {
    let address =
        prop::sample::select(vec!["ada", "ADA", "%", "_", "'", "", "example", "ada.000000@example.com"]);
    let test = prop::sample::select(vec!["equals", "notEquals", "contains", "notContains"]);
    let equality = prop::sample::select(vec!["equals", "notEquals"]);
    let field = || prop::sample::select(vec!["createdAt", "updatedAt"]).prop_map(str::to_owned);
    let order = prop::sample::select([COMPARISONS.to_vec(), vec!["equals", "notEquals"]].concat());
    let instant = prop_oneof![
        date().prop_map(Value::from),
        time().prop_map(|time| time.0.into()),
        time().prop_map(|time| (time.0 as f64 + 0.5).into()),
    ];
    prop_oneof![
        (test, address).prop_map(|(o, v)| filter("email".into(), o, v.into())),
        (equality, any::<bool>()).prop_map(|(o, v)| filter("subscribed".into(), o, v.into())),
        (field(), order, instant).prop_map(|(f, o, v)| filter(f, o, v)),
        (field(), prop::sample::select(vec!["within", "olderThan"]), length()).prop_map(
            |(field, operator, (value, unit))| {
                json!({ "field": field, "operator": operator, "value": value, "unit": unit })
            }
        ),
    ]
}

fn on_history() -> impl Strategy<Value = Value> {
    let field = prop_oneof![
        prop::sample::select(EVENTS.to_vec()).prop_map(|name| format!("event.{name}")),
        prop::sample::select(Activity::ALL.to_vec()).prop_map(|kind| format!("email.{}", kind.as_str())),
    ];
    let test = prop::sample::select(vec![
        "triggered",
        "notTriggered",
        "triggeredWithin",
        "triggeredOlderThan",
        "notTriggeredWithin",
    ]);
    (field, test, length()).prop_map(
        |(field, operator, (value, unit))| json!({ "field": field, "operator": operator, "value": value, "unit": unit }),
    )
}

fn on_segment(most: u128) -> impl Strategy<Value = Value> {
    (1..=most, prop::sample::select(vec!["memberOfSegment", "notMemberOfSegment"]))
        .prop_map(|(index, operator)| filter(format!("segment.{}", segment(index)), operator, Value::Null))
}

/// A tree that names segments up to `most`.
pub(super) fn tree(most: u128) -> impl Strategy<Value = Value> {
    let one = prop_oneof![5 => on_data(path()), 2 => on_contact(), 2 => on_history(), 1 => on_segment(most)];
    tree_of(one.boxed())
}

/// People and what is asked of their events.
pub(super) fn eventful() -> impl Strategy<Value = (Vec<Person>, Vec<Value>)> {
    let of_an_event = |filter: &Value| filter["field"].as_str().is_some_and(|f| f.starts_with("event."));
    let event = on_history().prop_filter("it is on a mail", of_an_event).boxed();
    let mixed = prop_oneof![4 => event.clone(), 1 => on_contact()].boxed();
    (vec(person(), 1..20), vec(prop_oneof![3 => tree_of(event), 1 => tree_of(mixed)], 1..12))
}

/// A tree of such conditions.
fn tree_of(one: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    let filters = move |least| vec(one.clone(), least..3);
    let logic = || prop::sample::select(vec!["AND", "OR"]);
    let some = filters(1);
    let group = move || some.clone().prop_map(|filters| json!({ "filters": filters }));
    let flat =
        (logic(), vec(group(), 1..3)).prop_map(|(logic, groups)| json!({ "logic": logic, "groups": groups }));
    flat.prop_recursive(3, 8, 2, move |inner| {
        let nesting = (filters(0), inner)
            .prop_map(|(filters, conditions)| json!({ "filters": filters, "conditions": conditions }));
        (logic(), vec(prop_oneof![group(), nesting], 1..3))
            .prop_map(|(logic, groups)| json!({ "logic": logic, "groups": groups }))
    })
}
