//! The payment service.

use anyhow::{Result, bail};
use mailwright_app::settings::{BillingSettings, ClientSecret};
use serde::Deserialize;

use super::checks::base_url;
use super::sections::Hidden;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Billing {
    api_base: String,
    secret_key: Hidden,
    webhook_secret: Hidden,
    price_usage: String,
    price_onboarding: String,
    meter_event: String,
    free_mails: i64,
}

impl Billing {
    pub(super) fn settings(&self) -> Result<Option<BillingSettings>> {
        let api_base = base_url("MAILWRIGHT_BILLING_API_BASE", "https://api.stripe.com", &self.api_base)?;
        match (self.secret_key.0.is_empty(), self.webhook_secret.0.is_empty()) {
            (true, true) => return Ok(None),
            (false, false) => {}
            _ => bail!("MAILWRIGHT_BILLING_SECRET_KEY and MAILWRIGHT_BILLING_WEBHOOK_SECRET belong together"),
        }
        if self.meter_event.is_empty() {
            bail!("MAILWRIGHT_BILLING_METER_EVENT must be the event name of a meter, such as emails");
        }
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        Ok(Some(BillingSettings {
            api_base,
            secret_key: ClientSecret::new(&self.secret_key.0),
            webhook_secret: ClientSecret::new(&self.webhook_secret.0),
            price_usage: given(&self.price_usage),
            price_onboarding: given(&self.price_onboarding),
            meter_event: self.meter_event.clone(),
            free_allowance: self.free_mails,
        }))
    }
}
