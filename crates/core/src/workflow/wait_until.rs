//! `WAIT_UNTIL`: until when an execution waits.

use jiff::civil::{DateTime, Time, Weekday};
use jiff::{SignedDuration, Span};
use serde_json::Value;

use crate::filter::date::Moment;
use crate::time::Timestamp;
use crate::time_zone::Zone;
use crate::workflow::scope::{Field, Scope};

/// The custom field that holds the time zone of a contact.
pub const ZONE_FIELD: &str = "timezone";

/// Until when.
#[derive(Debug, Clone, PartialEq)]
pub enum Until {
    /// A date.
    Date(Date),
    /// The date in a field of the contact or of the context.
    Field {
        /// The field.
        field: Field,
        /// How much later; earlier when it is negative.
        offset: SignedDuration,
    },
    /// The next time at which a window of local time is open.
    Window(Window),
}

/// A date that is given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Date {
    /// An instant.
    Instant(Timestamp),
    /// What clocks show in the zone of the contact.
    Local(DateTime),
}

impl Date {
    /// Reads `2026-01-31T09:00:00Z`, or `2026-01-31` and `2026-01-31T09:00:00`, which are local.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(instant) = text.parse::<jiff::Timestamp>() {
            return Timestamp::from_millis(instant.as_millisecond()).map(Self::Instant);
        }
        text.parse().ok().map(Self::Local)
    }

    fn instant(self, zone: &Zone) -> Option<Timestamp> {
        match self {
            Self::Instant(instant) => Some(instant),
            Self::Local(local) => zone.instant(local),
        }
    }
}

/// A window of local time that is open on some days of the week.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// When it opens.
    pub opens: Time,
    /// When it closes. A window that closes before it opens, or when it opens, closes on the next day.
    pub closes: Time,
    /// The days on which it opens; one at least.
    pub days: Vec<Weekday>,
}

impl Window {
    /// The first instant, not before `now`, at which the window is open.
    fn next(&self, zone: &Zone, now: Timestamp) -> Option<Timestamp> {
        let today = zone.local(now).date();
        // from yesterday, whose window may still be open
        (-1..=8).find_map(|days| {
            let date = today.checked_add(Span::new().days(days)).ok()?;
            if !self.days.contains(&date.weekday()) {
                return None;
            }
            let closing = if self.closes > self.opens { date } else { date.tomorrow().ok()? };
            let opens = zone.instant(date.to_datetime(self.opens))?;
            let closes = zone.instant(closing.to_datetime(self.closes))?;
            (closes > now).then(|| opens.max(now))
        })
    }
}

/// Until when an execution waits, and what decided it.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    /// Until when; `None` when there is nothing to wait for.
    pub until: Option<Timestamp>,
    /// The zone that local times were taken in.
    pub zone: Zone,
    /// The value of the field that was looked at.
    pub seen: Option<Value>,
}

impl Until {
    /// Until when an execution waits that comes here at `now`.
    pub fn wait(&self, scope: &Scope<'_>, project_zone: &Zone, now: Timestamp) -> Wait {
        let own = scope.contact.data.get(ZONE_FIELD).and_then(Value::as_str).and_then(Zone::parse);
        let zone = own.unwrap_or_else(|| project_zone.clone());
        let (until, seen) = match self {
            Self::Date(date) => (date.instant(&zone), None),
            Self::Field { field, offset } => {
                let seen = scope.value(field);
                let date = seen.as_ref().and_then(|value| date_in(value, &zone));
                (date.map(|date| shifted(date, *offset)), seen)
            }
            Self::Window(window) => (window.next(&zone, now), None),
        };
        Wait { until, zone, seen }
    }
}

/// The date in a custom field. One with a time in it is an instant, in UTC without an offset, as custom data has it
/// (contract, Custom data rule 8); one without a time begins when the day does in the zone.
fn date_in(value: &Value, zone: &Zone) -> Option<Timestamp> {
    let text = value.as_str()?;
    // custom data knows fewer forms than people write
    let Some(moment) = Moment::parse(text) else { return Date::parse(text)?.instant(&Zone::UTC) };
    if text.len() == 10 { zone.instant(moment.as_str().parse().ok()?) } else { moment.instant() }
}

fn shifted(date: Timestamp, offset: SignedDuration) -> Timestamp {
    let millis = i64::try_from(offset.as_millis()).unwrap_or(0);
    Timestamp(date.0.saturating_add(millis).clamp(Timestamp::FIRST.0, Timestamp::LAST.0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::address::EmailAddress;
    use crate::contact::Contact;
    use crate::custom_data::Data;
    use crate::ids::ContactId;

    const NOW: &str = "2026-03-27T12:00:00Z"; // a Friday; clocks in Berlin are set forward on Sunday

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn wait(until: &Until, data: Value, now: &str) -> Option<Timestamp> {
        let contact = Contact {
            id: ContactId::first_of(Timestamp(1)),
            email: EmailAddress::parse("ada@example.com").unwrap(),
            subscribed: true,
            data: data.as_object().cloned().unwrap(),
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
        };
        let context = Data::new();
        let scope = Scope { contact: &contact, context: &context };
        until.wait(&scope, &Zone::parse("America/New_York").unwrap(), at(now)).until
    }

    fn window(opens: &str, closes: &str, days: &[Weekday]) -> Until {
        let (opens, closes) = (opens.parse().unwrap(), closes.parse().unwrap());
        Until::Window(Window { opens, closes, days: days.to_vec() })
    }

    #[test]
    fn dates_without_an_offset_are_the_contacts_own() {
        let berlin = json!({ "timezone": "Europe/Berlin" });
        for (date, data, expected) in [
            ("2026-04-01T09:00:00Z", berlin.clone(), "2026-04-01T09:00:00Z"),
            ("2026-04-01T09:00:00", berlin.clone(), "2026-04-01T07:00:00Z"),
            ("2026-04-01", berlin, "2026-03-31T22:00:00Z"),
            ("2026-04-01T09:00:00", json!({}), "2026-04-01T13:00:00Z"),
            ("2026-04-01T09:00:00", json!({ "timezone": "Nowhere" }), "2026-04-01T13:00:00Z"),
        ] {
            let until = Until::Date(Date::parse(date).unwrap());
            assert_eq!(wait(&until, data, NOW), Some(at(expected)), "{date}");
        }
    }

    #[test]
    fn fields_hold_dates_or_there_is_nothing_to_wait_for() {
        let until = |days: i64| Until::Field {
            field: Field::parse("data.renewal").unwrap(),
            offset: SignedDuration::from_hours(24 * days),
        };
        let zone = "Europe/Berlin";
        for (days, renewal, expected) in [
            (0, json!("2026-04-10"), Some("2026-04-09T22:00:00Z")),
            (-3, json!("2026-04-10T08:00:00Z"), Some("2026-04-07T08:00:00Z")),
            (1, json!("2026-04-10T08:00:00"), Some("2026-04-11T08:00:00Z")),
            (0, json!("2026-04-10T08:00"), Some("2026-04-10T08:00:00Z")),
            (0, json!("2026-04-10T08:00:00+02:00"), Some("2026-04-10T06:00:00Z")),
            (0, json!("soon"), None),
            (0, json!(5), None),
            (0, json!(null), None),
        ] {
            let data = json!({ "timezone": zone, "renewal": renewal });
            assert_eq!(wait(&until(days), data, NOW), expected.map(at), "{renewal} {days}");
        }
    }

    #[test]
    fn windows_open_on_their_days_in_local_time() {
        use Weekday::{Friday, Monday, Sunday};
        let every = [Monday, Weekday::Tuesday, Weekday::Wednesday, Weekday::Thursday, Friday];
        for (opens, closes, days, now, expected) in [
            // open: at once (NOW is 13:00 in Berlin)
            ("09:00", "17:00", &every[..], NOW, NOW),
            ("14:00", "17:00", &every[..], NOW, "2026-03-27T13:00:00Z"),
            // over the weekend, over which clocks are set
            ("09:00", "12:00", &every[..], NOW, "2026-03-30T07:00:00Z"),
            ("09:00", "17:00", &[Friday][..], "2026-03-27T17:00:00Z", "2026-04-03T07:00:00Z"),
            // over midnight
            ("22:00", "06:00", &[Sunday][..], "2026-03-30T03:00:00Z", "2026-03-30T03:00:00Z"),
            ("22:00", "06:00", &[Sunday][..], "2026-03-30T04:00:00Z", "2026-04-05T20:00:00Z"),
            // all day
            ("00:00", "00:00", &[Monday][..], NOW, "2026-03-29T22:00:00Z"),
        ] {
            let found = wait(&window(opens, closes, days), json!({ "timezone": "Europe/Berlin" }), now);
            assert_eq!(found, Some(at(expected)), "{opens} to {closes} at {now}");
        }
    }
}
