//! What the counters should be, by the rows that they count.

use std::collections::BTreeMap;

use mailwright_testkit::Rows;
use serde_json::Value;

/// Counters by kind and name.
pub(super) type Counters = BTreeMap<(String, String), i64>;

/// The kinds of counters that are counted again.
const KINDS: [&str; 10] = [
    "campaign",
    "contacts",
    "delivery_stats",
    "email",
    "event",
    "link",
    "subscribed",
    "template",
    "template_figure",
    "workflow",
];
/// Of the counters of workflows those that count mails; the others count executions.
const MAIL_FIGURES: [&str; 8] =
    ["emails", "sent", "delivered", "opened", "clicked", "unsent", "bounced", "complained"];
/// What a number of a link is divided by: the rest is its place, or a number of its own.
const OWN: i64 = 1_000;
/// The number of the link that nobody sees.
const TRAP: i64 = 999;
const HOUR: i64 = 60 * 60 * 1_000;
const DAY: i64 = 24 * HOUR;
/// Events by name are counted by each of these, of which the counters of the shortest are folded into the others.
const UNITS: [(&str, i64); 3] = [("hour", 1), ("day", 24), ("block", 32 * 24)];

/// The rows of a table.
pub(super) fn table(rows: &Rows, name: &str) -> Vec<Value> {
    rows[name].iter().map(|row| serde_json::from_str(row).expect("JSON")).collect()
}

/// An id with hyphens, whatever the engine shows; `None` for null.
pub(super) fn id(value: &Value) -> Option<String> {
    let digits: String = value.as_str()?.chars().filter(char::is_ascii_hexdigit).collect();
    assert_eq!(digits.len(), 32, "{value}");
    let part = |from: usize, to: usize| &digits[from..to];
    Some([part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-"))
}

pub(super) fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("no number: {value}"))
}

pub(super) fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

pub(super) fn is_true(value: &Value) -> bool {
    *value == true || *value == 1
}

/// Whether a mail left, as far as is known.
pub(super) fn has_left(status: &str) -> bool {
    ["SENT", "DELIVERED", "OPENED", "CLICKED", "BOUNCED", "COMPLAINED"].contains(&status)
}

/// The counters as they are stored, but for those that are zero.
pub(super) fn stored(rows: &Rows) -> Counters {
    let mut counters = Counters::new();
    for row in table(rows, "counters") {
        let (kind, name) = (string(&row["kind"]), string(&row["name"]));
        let is_figure = || MAIL_FIGURES.iter().any(|figure| name.ends_with(&format!(":{figure}")));
        let is_counted = match kind {
            "workflow" => is_figure(),
            // hours are those of days
            "delivery_stats" => !name.starts_with("hour "),
            kind => KINDS.contains(&kind),
        };
        if kind == "event_hour" {
            let (hour, event) = name.split_once(' ').expect("an hour and a name");
            add_event(&mut counters, event, hour.parse().expect("an hour"), number(&row["value"]));
        } else if is_counted {
            *counters.entry((kind.to_owned(), name.to_owned())).or_default() += number(&row["value"]);
        }
    }
    // those of hours that are over are folded
    for (unit, _) in UNITS {
        for row in table(rows, &format!("event_{unit}_sums")) {
            let name = format!("{} {}", number(&row[unit]), string(&row["name"]));
            *counters.entry((format!("event_{unit}"), name)).or_default() += number(&row["value"]);
        }
    }
    counters.retain(|_, value| *value != 0);
    counters
}

/// Counts events of an hour by hour, day and block.
fn add_event(counters: &mut Counters, name: &str, hour: i64, by: i64) {
    for (unit, hours) in UNITS {
        let name = format!("{} {name}", hour.div_euclid(hours));
        *counters.entry((format!("event_{unit}"), name)).or_default() += by;
    }
}

/// Counts again what is stored.
pub(super) fn recounted(rows: &Rows) -> Counters {
    let mut counted = Recount::default();
    for contact in table(rows, "contacts") {
        counted.add("contacts", "", 1);
        counted.add("subscribed", "", i64::from(is_true(&contact["subscribed"])));
    }
    for event in table(rows, "events") {
        let (name, hour) = (string(&event["name"]), number(&event["created_at"]).div_euclid(HOUR));
        counted.add("event", name, 1);
        add_event(&mut counted.0, name, hour, 1);
    }
    let mut campaigns = BTreeMap::new();
    for mail in table(rows, "emails") {
        counted.mail(&mail);
        campaigns.insert(id(&mail["id"]), id(&mail["campaign_id"]));
    }
    counted.links(&table(rows, "hits"), &campaigns);
    counted.0.retain(|_, value| *value != 0);
    counted.0
}

#[derive(Default)]
struct Recount(Counters);

impl Recount {
    fn add(&mut self, kind: &str, name: &str, by: i64) {
        *self.0.entry((kind.to_owned(), name.to_owned())).or_default() += by;
    }

    fn mail(&mut self, mail: &Value) {
        let status = string(&mail["status"]);
        let has_left = has_left(status);
        self.add("email", status, 1);
        let learnt: Vec<&str> = ["delivered", "opened", "clicked", "bounced", "complained"]
            .into_iter()
            .filter(|activity| !mail[format!("{activity}_at")].is_null())
            .collect();
        let at = |time: &str| number(&mail[time]);
        if has_left {
            self.add("delivery_stats", "sent", 1);
            self.add("delivery_stats", &format!("day {:06} sent", at("sent_at").div_euclid(DAY)), 1);
        }
        for activity in ["bounced", "complained"].into_iter().filter(|activity| learnt.contains(activity)) {
            let day = at(&format!("{activity}_at")).div_euclid(DAY);
            self.add("delivery_stats", activity, 1);
            self.add("delivery_stats", &format!("day {day:06} {activity}"), 1);
        }
        if let Some(template) = id(&mail["template_id"]) {
            self.add("template", &template, 1);
            for activity in &learnt {
                self.add("template_figure", &format!("{template}:{activity}"), 1);
            }
        }
        if let Some(campaign) = id(&mail["campaign_id"]) {
            self.mail_of_campaign(mail, &campaign, &learnt);
        }
        if let Some((workflow, step)) = id(&mail["workflow_id"]).zip(id(&mail["step_id"])) {
            let sent = if has_left { "sent" } else { "unsent" };
            for figure in ["emails", sent].iter().chain(&learnt) {
                self.add("workflow", &format!("{workflow}:{figure}"), 1);
                self.add("workflow", &format!("{workflow}:{step}:{figure}"), 1);
            }
        }
    }

    fn mail_of_campaign(&mut self, mail: &Value, campaign: &str, learnt: &[&str]) {
        let mut add = |name: &str| self.add("campaign", &format!("{campaign}:{name}"), 1);
        add("AUDIENCE");
        add("RECIPIENTS");
        let state = string(&mail["recipient_state"]);
        match mail["reason"].as_str() {
            Some(reason) => add(&format!("{state}:{reason}")),
            None => add(state),
        }
        for activity in learnt {
            add(&activity.to_uppercase());
        }
        for (count, figure) in [("machine_opens", "MACHINE_OPENED"), ("machine_clicks", "MACHINE_CLICKED")] {
            if number(&mail[count]) > 0 {
                add(figure);
            }
        }
    }

    /// Clicks on the links of campaigns.
    fn links(&mut self, hits: &[Value], campaigns: &BTreeMap<Option<String>, Option<String>>) {
        let mut people = std::collections::BTreeSet::new();
        for hit in hits {
            let mail = id(&hit["email_id"]);
            let (Some(Some(campaign)), Some(link)) = (campaigns.get(&mail), hit["link"].as_i64()) else {
                continue;
            };
            // the link that nobody sees is no link of the campaign
            if link == TRAP {
                continue;
            }
            let link = format!("{campaign}:{}", link % OWN);
            if hit["class"] == "human" {
                self.add("link", &format!("{link}:clicks"), 1);
                people.insert((link, mail));
            } else {
                self.add("link", &format!("{link}:machines"), 1);
            }
        }
        for (link, _) in people {
            self.add("link", &format!("{link}:people"), 1);
        }
    }
}

/// How two sets of counters differ: name, stored, counted again.
pub(super) fn difference(stored: &Counters, counted: &Counters) -> Vec<String> {
    let names: std::collections::BTreeSet<_> = stored.keys().chain(counted.keys()).collect();
    let value = |of: &Counters, name| of.get(name).copied().unwrap_or_default();
    let differing = names.into_iter().filter(|name| value(stored, name) != value(counted, name));
    differing
        .map(|name| {
            format!("{} {}: stored {}, counted {}", name.0, name.1, value(stored, name), value(counted, name))
        })
        .collect()
}
