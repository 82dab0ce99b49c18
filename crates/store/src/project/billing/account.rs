//! The account of a project at the payment service, and its limits. A project without a row has neither.

use mailwright_core::billing::{Category, Limits};
use mailwright_core::ids::ProjectNumber;
use mailwright_core::project;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;

/// The account of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// The customer at the payment service.
    pub customer: Option<String>,
    /// The subscription, if there is one that has not ended.
    pub subscription: Option<String>,
    /// The currency that is paid in.
    pub currency: Option<String>,
    /// The limits of its own.
    pub own: [Option<i64>; Category::ALL.len()],
    /// Months since the year 0, and the bits of the limits of which members were told in that month.
    pub(super) noticed: (i64, i64),
}

impl Account {
    /// The limits that hold: those of its own with a subscription, and `free` mails a month without one.
    pub fn limits(&self, free: i64) -> Limits {
        if self.subscription.is_some() {
            Limits { of_category: self.own, shared: None }
        } else {
            Limits { of_category: [None; Category::ALL.len()], shared: Some(free) }
        }
    }
}

const COLUMNS: &str = "customer, subscription, currency, limit_workflows, limit_campaigns, limit_transactional, \
                       limit_inbound, notice_month, notices";

fn read_at(row: &Row<'_>, first: usize) -> Result<Account> {
    Ok(Account {
        customer: row.get(first)?,
        subscription: row.get(first + 1)?,
        currency: row.get(first + 2)?,
        own: [row.get(first + 3)?, row.get(first + 4)?, row.get(first + 5)?, row.get(first + 6)?],
        noticed: (row.get(first + 7)?, row.get(first + 8)?),
    })
}

/// The account of a project.
pub async fn get(rx: &Rx<'_>, project: ProjectNumber) -> Result<Account> {
    let sql = format!("select {COLUMNS} from billing_accounts where project_id = $1");
    Ok(rx.optional(sql, args![project], |r| read_at(r, 0)).await?.unwrap_or_default())
}

/// The accounts of those of some projects that are no project of the instance itself, in order. Nothing is locked.
pub(super) async fn some(rx: &Rx<'_>, projects: &[ProjectNumber]) -> Result<Vec<(ProjectNumber, Account)>> {
    let set = Arg::Ints(projects.iter().map(|number| Some(number.0)).collect());
    rx.all(
        "select p.number, b.customer, b.subscription, b.currency, b.limit_workflows, b.limit_campaigns, \
         b.limit_transactional, b.limit_inbound, coalesce(b.notice_month, 0), coalesce(b.notices, 0) \
         from projects p left join billing_accounts b on b.project_id = p.number \
         where p.number {in $1} and p.id <> $2 order by p.number",
        &[set, project::system().into()],
        |r| Ok((r.get(0)?, read_at(r, 1)?)),
    )
    .await
}

/// Locks the accounts of some projects, in order: whoever asks for one that is locked waits until the transaction ends.
/// Returns them as they are then.
pub(super) async fn lock(
    tx: &Tx<'_>,
    projects: &[ProjectNumber],
    now: Timestamp,
) -> Result<Vec<(ProjectNumber, Account)>> {
    let mut projects = projects.to_vec();
    projects.sort_unstable();
    let numbers = || Arg::Ints(projects.iter().map(|number| Some(number.0)).collect());
    tx.each(
        "insert into billing_accounts (project_id, updated_at) select r.project_id, $2 \
         from {rows r: project_id int} where true on conflict (project_id) do nothing",
        &[numbers(), now.into()],
    )
    .await?;
    tx.all(
        format!(
            "select project_id, {COLUMNS} from billing_accounts where project_id {{in $1}} \
             order by project_id {{for_update}}"
        ),
        &[numbers()],
        |r| Ok((r.get(0)?, read_at(r, 1)?)),
    )
    .await
}

/// Locks the account of a project; see [`get`].
pub async fn hold(tx: &Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<Account> {
    Ok(lock(tx, &[project], now).await?.pop().map(|(_, account)| account).unwrap_or_default())
}

/// Sets the limits of a project. The caller has locked its account. Members are told again of those that change.
pub async fn set_limits(
    tx: &Tx<'_>,
    project: ProjectNumber,
    before: &Account,
    limits: [Option<i64>; Category::ALL.len()],
    now: Timestamp,
) -> Result<()> {
    let (month, mut bits) = before.noticed;
    for category in Category::ALL {
        if before.own[category.place()] != limits[category.place()] {
            bits &= !super::notice::bits(Some(category));
        }
    }
    let [workflows, campaigns, transactional, inbound] = limits;
    tx.execute_one(
        "update billing_accounts set limit_workflows = $2, limit_campaigns = $3, limit_transactional = $4, \
         limit_inbound = $5, notice_month = $6, notices = $7, updated_at = $8 where project_id = $1",
        args![project, workflows, campaigns, transactional, inbound, month, bits, now],
    )
    .await
}

/// Notes of which limits members were told.
pub(super) async fn set_noticed(
    tx: &Tx<'_>,
    project: ProjectNumber,
    (month, bits): (i64, i64),
) -> Result<()> {
    tx.execute_one(
        "update billing_accounts set notice_month = $2, notices = $3 where project_id = $1",
        args![project, month, bits],
    )
    .await
}

/// A checkout that was completed.
#[derive(Debug, Clone, Copy)]
pub struct Checkout<'c> {
    /// Its id, and when it was made, in seconds since 1970.
    pub place: (i64, &'c str),
    /// The customer.
    pub customer: &'c str,
    /// The subscription; `None` for one that ended meanwhile.
    pub subscription: Option<&'c str>,
    /// The currency.
    pub currency: Option<&'c str>,
}

/// Stores what a checkout of a project led to, unless it knows that of a later one. The caller has locked its account.
pub async fn set_checkout(
    tx: &Tx<'_>,
    project: ProjectNumber,
    checkout: Checkout<'_>,
    now: Timestamp,
) -> Result<bool> {
    let (at, id) = checkout.place;
    let changed = tx
        .execute(
            "update billing_accounts set customer = $2, subscription = $3, currency = $4, checkout_at = $5, \
             checkout_id = $6, updated_at = $7 where project_id = $1 and (checkout_at is null or checkout_at < $5 \
             or (checkout_at = $5 and checkout_id < $6))",
            args![project, checkout.customer, checkout.subscription, checkout.currency, at, id, now],
        )
        .await?;
    Ok(changed == 1)
}

/// Takes the subscription of a project away.
pub async fn end_subscription(tx: &Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<()> {
    tx.execute_one(
        "update billing_accounts set subscription = null, updated_at = $2 where project_id = $1",
        args![project, now],
    )
    .await
}

/// The projects of a customer with their subscriptions, in order.
pub async fn of_customer(rx: &Rx<'_>, customer: &str) -> Result<Vec<(ProjectNumber, Option<String>)>> {
    rx.all(
        "select project_id, subscription from billing_accounts where customer = $1 order by project_id",
        args![customer],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// The next `limit` projects with a subscription after `after`, in order.
pub async fn subscribed(rx: &Rx<'_>, after: ProjectNumber, limit: i64) -> Result<Vec<ProjectNumber>> {
    rx.all(
        "select project_id from billing_accounts where subscription is not null and project_id > $1 \
         order by project_id limit $2",
        args![after, limit],
        |r| r.get(0),
    )
    .await
}
