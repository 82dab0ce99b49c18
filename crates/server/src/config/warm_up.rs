//! How much mail a new source address or sender domain sends at first.

use anyhow::{Result, anyhow};
use mailwright_app::settings::WarmUpSettings;
use mailwright_core::pacing::warm_up::Plan;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WarmUp {
    plan: String,
    domains: bool,
}

impl WarmUp {
    pub(super) fn settings(&self) -> Result<WarmUpSettings> {
        Ok(WarmUpSettings { plan: self.plan()?, domains: self.domains })
    }

    fn plan(&self) -> Result<Plan> {
        let days = self.plan.split(',').map(str::trim).filter(|day| !day.is_empty());
        let days: Result<Vec<u32>> = days
            .map(|day| {
                day.parse().map_err(|_| {
                    anyhow!(
                        "MAILWRIGHT_WARMUP_PLAN must be the mails of each day, separated by commas, not {day:?}"
                    )
                })
            })
            .collect();
        Plan::try_from(days?).map_err(|error| anyhow!("MAILWRIGHT_WARMUP_PLAN cannot be used: {error}"))
    }
}
