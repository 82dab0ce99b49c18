//! The limits of a project, as members see and set them.

use mailwright_core::audit::{Action, Actor};
use mailwright_core::billing::{Category, is_warning, percent};
use mailwright_core::campaign::Campaign;
use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::month::Month;
use mailwright_core::project::Project;
use mailwright_core::role::Capability;
use mailwright_store::body;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::project::billing::account::{self, Account};
use mailwright_store::project::billing::allowance;
use mailwright_store::project::billing::usage::{self, Used};
use mailwright_store::project::lock;
use mailwright_store::sending::campaign::run;
use serde_json::json;

use crate::App;
use crate::error::{Error, Resource, Result};
use crate::project::member::still_may;

/// A limit, and how much of it is used in this month.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CategoryLimit {
    /// What it is for.
    pub category: Category,
    /// The most mails; `None` for any number.
    pub limit: Option<i64>,
    /// Mails that count for it.
    pub usage: i64,
    /// The share that is used, in percent; 0 without a limit.
    pub percentage: f64,
    /// Whether so much is used that members are warned.
    pub is_warning: bool,
    /// Whether there is room for no more.
    pub is_blocked: bool,
}

/// The limits of a project.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitsView {
    /// Each category.
    pub categories: [CategoryLimit; Category::ALL.len()],
    /// The currency that is paid in.
    pub currency: Option<String>,
}

impl App {
    /// The limits of a project, and how much of them is used in this month. Where nothing is billed there are none.
    pub async fn billing_limits(&self, project: &Project) -> Result<LimitsView> {
        let (number, month) = (project.number, Month::of(self.0.clock.now()));
        let (account, used) = self
            .read(body!(async |rx| {
                let account = account::get(rx, number).await?;
                let used = usage::of_months(rx, number, [month]).await?.remove(&month);
                Ok((account, used.unwrap_or_default()))
            }))
            .await?;
        Ok(self.shown(account, &used))
    }

    fn shown(&self, account: Account, used: &Used) -> LimitsView {
        let limits = self.free_allowance().map(|free| account.limits(free)).unwrap_or_default();
        let categories = Category::ALL.map(|category| {
            let (limit, usage) = limits.shown(category, &used.mails);
            CategoryLimit {
                category,
                limit,
                usage,
                percentage: percent(limit, usage),
                is_warning: limit.is_some_and(|limit| is_warning(limit, usage)),
                is_blocked: limits.room(category, &used.mails) == Some(0),
            }
        });
        LimitsView { categories, currency: account.currency }
    }

    /// Sets the limits of a project with a subscription. Campaigns that wait because of one go on if there is room.
    pub async fn set_billing_limits(
        &self,
        project: &Project,
        actor: &Actor,
        limits: [Option<i64>; Category::ALL.len()],
    ) -> Result<LimitsView> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        let (id, bills) = (project.id, self.bills());
        let number = self
            .write(body!(async |tx| {
                let number =
                    lock(tx, number).await?.ok_or_else(|| Error::not_found(Resource::Project, id))?;
                still_may(tx, number, &actor, Capability::ManageProject).await?;
                let account = account::hold(tx, number, now).await?;
                if !bills || account.subscription.is_none() {
                    return Err(Error::BadRequest("The project has no active subscription.".into()));
                }
                account::set_limits(tx, number, &account, limits, now).await?;
                let told: serde_json::Map<_, _> = Category::ALL
                    .into_iter()
                    .map(|category| (category.as_str().to_owned(), json!(limits[category.place()])))
                    .collect();
                let entry = Entry::of_project(Action::BillingLimitsChanged).with(told.into());
                audit::record(tx, number, &actor, &entry, now).await?;
                Ok(number)
            }))
            .await?;
        self.let_campaigns_go_on(number).await?;
        self.billing_limits(&Project { number, ..project.clone() }).await
    }

    /// Has campaigns looked at again that wait because of a limit. It is a transaction of its own: a step of a campaign locks
    /// its row before the account.
    pub(super) async fn let_campaigns_go_on(&self, number: ProjectNumber) -> Result<()> {
        let now = self.0.clock.now();
        self.write(body!(async |tx| Ok(run::go_on(tx, number, now).await?))).await?;
        self.campaign_hints().wake();
        Ok(())
    }

    /// Refuses a campaign that has more recipients than the limits leave room for in this month.
    pub(crate) async fn check_campaign_fits(
        &self,
        project: &Project,
        id: CampaignId,
        recipients: i64,
    ) -> Result<()> {
        let Some(free) = self.free_allowance() else { return Ok(()) };
        let kind = self.campaign(project, id).await?.campaign.kind;
        let category = Category::of(Campaign::source(kind), kind);
        let (number, now) = (project.number, self.0.clock.now());
        let room =
            self.read(body!(async |rx| allowance::room_now(rx, Some(free), number, category, now).await));
        match room.await? {
            Some(room) if recipients > room => Err(Error::OverLimit(format!(
                "The campaign has {recipients} recipients, and the project may have {room} more {category} mails this \
                 month. Raise the limit, send to fewer people, or schedule the campaign for next month."
            ))),
            _ => Ok(()),
        }
    }
}
