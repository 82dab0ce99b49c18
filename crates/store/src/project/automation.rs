//! The settings of a project that its workflows need.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::project::MarketingCap;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};

/// The settings of a project that its workflows need.
#[derive(Debug, Clone, Default)]
pub struct Automation {
    /// The zone of dates without an offset; `None` for UTC.
    pub timezone: Option<String>,
    /// How many marketing mails a contact gets.
    pub marketing_cap: Option<MarketingCap>,
}

const COLUMNS: &str = "p.timezone, p.marketing_cap, p.marketing_cap_hours";

/// Reads [`COLUMNS`] that begin at a column.
pub(super) fn read(row: &Row<'_>, first: usize) -> Result<Automation> {
    let (emails, hours): (Option<i64>, Option<i64>) = (row.get(first + 1)?, row.get(first + 2)?);
    let number = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok());
    let cap = number(emails).zip(number(hours)).map(|(emails, hours)| MarketingCap { emails, hours });
    Ok(Automation { timezone: row.get(first)?, marketing_cap: cap })
}

/// The settings of a project that its workflows need.
pub async fn get(rx: &Rx<'_>, number: ProjectNumber) -> Result<Automation> {
    let sql = format!("select {COLUMNS} from projects p where p.number = $1");
    let found = rx.all(sql, args![number], |r| read(r, 0)).await?;
    Ok(found.into_iter().next().unwrap_or_default())
}

/// What the secret of a project's webhooks is derived with; empty at first.
pub async fn webhook_salt(rx: &Rx<'_>, number: ProjectNumber) -> Result<Vec<u8>> {
    let found = rx
        .all("select webhook_secret from projects where number = $1", args![number], |r| {
            r.get::<Option<Vec<u8>>>(0)
        })
        .await?;
    Ok(found.into_iter().flatten().next().unwrap_or_default())
}

/// Changes what the secret of a project's webhooks is derived with.
pub async fn set_webhook_salt(tx: &Tx<'_>, number: ProjectNumber, salt: &[u8]) -> Result<()> {
    tx.execute_one("update projects set webhook_secret = $2 where number = $1", args![number, salt]).await
}
