//! How long things of a project are kept.

use mailwright_core::issue::Issue;
use mailwright_core::retention::{Kind, MAX_DAYS, Periods};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema::{WholeNumber, check_range};

/// For how many days things of a project are kept.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RetentionView {
    /// Events; null: for ever.
    events: Option<u32>,
    /// The contents of mails, after they were used for the last time; null: for ever.
    bodies: Option<u32>,
    /// Captured mail; null: for ever.
    captured_mail: Option<u32>,
    /// Mail that came in, as it came, with its files; null: for ever.
    raw_inbound: Option<u32>,
    /// Opens and clicks one by one; null: for ever.
    hits: Option<u32>,
    /// The log of requests; null: for ever.
    request_log: Option<u32>,
    /// The audit log; null: for ever.
    audit_log: Option<u32>,
    /// Executions of workflows that are over; null: for ever.
    executions: Option<u32>,
    /// Mails that are settled, and mails that came in; null: for ever.
    mails: Option<u32>,
}

impl RetentionView {
    pub(super) fn new(periods: Periods) -> Self {
        Self {
            events: periods.days(Kind::Events),
            bodies: periods.days(Kind::Bodies),
            captured_mail: periods.days(Kind::CapturedMail),
            raw_inbound: periods.days(Kind::RawInbound),
            hits: periods.days(Kind::Hits),
            request_log: periods.days(Kind::RequestLog),
            audit_log: periods.days(Kind::AuditLog),
            executions: periods.days(Kind::Executions),
            mails: periods.days(Kind::Mails),
        }
    }
}

/// A project's own periods, in days, up to 3,650. One that is left out or null is the instance's, and one that is longer
/// than the instance's has no effect. A period of another name is refused: a misspelt one would keep things for longer.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RetentionChange {
    /// Events: at least 1.
    #[schema(value_type = Option<i64>)]
    events: Option<WholeNumber>,
    /// The contents of mails, after they were used for the last time: at least 7.
    #[schema(value_type = Option<i64>)]
    bodies: Option<WholeNumber>,
    /// Captured mail: at least 1.
    #[schema(value_type = Option<i64>)]
    captured_mail: Option<WholeNumber>,
    /// Mail that came in, as it came: at least 1.
    #[schema(value_type = Option<i64>)]
    raw_inbound: Option<WholeNumber>,
    /// Opens and clicks one by one: at least 1.
    #[schema(value_type = Option<i64>)]
    hits: Option<WholeNumber>,
    /// The log of requests: at least 1.
    #[schema(value_type = Option<i64>)]
    request_log: Option<WholeNumber>,
    /// The audit log: at least 31.
    #[schema(value_type = Option<i64>)]
    audit_log: Option<WholeNumber>,
    /// Executions of workflows that are over: at least 1.
    #[schema(value_type = Option<i64>)]
    executions: Option<WholeNumber>,
    /// Mails that are settled, and mails that came in: at least 31.
    #[schema(value_type = Option<i64>)]
    mails: Option<WholeNumber>,
}

impl RetentionChange {
    fn given(&self) -> [(Kind, Option<WholeNumber>); Kind::ALL.len()] {
        [
            (Kind::Events, self.events),
            (Kind::Bodies, self.bodies),
            (Kind::CapturedMail, self.captured_mail),
            (Kind::RawInbound, self.raw_inbound),
            (Kind::Hits, self.hits),
            (Kind::RequestLog, self.request_log),
            (Kind::AuditLog, self.audit_log),
            (Kind::Executions, self.executions),
            (Kind::Mails, self.mails),
        ]
    }

    pub(super) fn periods(self) -> Periods {
        let days = |number: WholeNumber| u32::try_from(number.0).ok();
        let set = |periods: Periods, (kind, given): (Kind, Option<WholeNumber>)| {
            periods.with(kind, given.and_then(days))
        };
        self.given().into_iter().fold(Periods::default(), set)
    }

    /// What is wrong with it.
    pub(super) fn issues(&self) -> impl Iterator<Item = Issue> {
        self.given().into_iter().filter_map(|(kind, given)| {
            check_range(&format!("retention.{kind}"), given?, kind.least_days().into(), MAX_DAYS.into())
        })
    }
}
