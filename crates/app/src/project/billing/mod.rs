//! Billing: what projects pay for their mail, and the limits on how much they may have in a month
//! (`docs/adr/0063-billing.md`).
//!
//! Where mails are accepted, `store/project/billing/allowance.rs` says how many more there may be. Here are the use cases of
//! members ([`portal`], [`limits`]), what the payment service tells ([`event`]), what is reported to it ([`meter`]), the mails
//! to members ([`notices`]) and the report for those who bill by other means ([`report`]).

mod client;
mod event;
mod invoice;
mod limits;
mod meter;
mod notices;
mod portal;
pub(crate) mod refusal;
mod report;
mod signature;

use mailwright_core::ids::ProjectNumber;
use mailwright_store::body;
use mailwright_store::project::billing::allowance::Allowances;

pub use self::event::PaymentAnswer;
pub use self::invoice::{Invoice, Invoices};
pub use self::limits::{CategoryLimit, LimitsView};
pub use self::portal::{Consumption, Credits, Upcoming};
pub use self::report::UsageLine;

use crate::App;
use crate::background::runner::Waker;
use crate::background::tasks::Tasks;
use crate::error::{Error, Result};
use crate::http_client::HttpClient;
use crate::settings::BillingSettings;

/// What this process keeps for billing.
pub(crate) struct State {
    http: HttpClient,
    /// Asks for the mails about limits.
    pub(crate) notices: Waker,
}

impl State {
    pub(crate) fn new(http: HttpClient) -> Self {
        Self { http, notices: Waker::default() }
    }
}

pub(crate) fn start(app: &App, tasks: &Tasks) {
    if app.bills() {
        meter::start(app, tasks);
        notices::start(app, tasks);
    }
}

impl App {
    /// Whether the instance bills.
    pub fn bills(&self) -> bool {
        self.settings().billing.is_some()
    }

    /// How many mails a month a project may have without a subscription; `None` where nothing is billed, and nothing limited.
    pub(crate) fn free_allowance(&self) -> Option<i64> {
        self.settings().billing.as_ref().map(|billing| billing.free_allowance)
    }

    fn billing(&self) -> Result<&BillingSettings> {
        self.settings().billing.as_ref().ok_or(Error::NoBilling)
    }

    /// Has the members told that a limit is reached, after a mail was refused in a transaction that left nothing behind.
    pub(crate) async fn tell_of_refusal(&self, project: ProjectNumber) -> Result<()> {
        let (free, now) = (self.free_allowance(), self.0.clock.now());
        self.write(body!(async |tx| {
            let mut allowances = Allowances::of_project(tx, free, project, now).await?;
            allowances.refuse(project, now);
            Ok(allowances.save(tx, now).await?)
        }))
        .await?;
        self.0.project.billing.notices.wake();
        Ok(())
    }
}
