//! The rules of a project that keep mail from addresses.

use mailwright_core::ids::{ProjectNumber, SuppressionRuleId};
use mailwright_core::suppression::{MAX_RULES, Rule, RuleKind, Rules};

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};

const COLUMNS: &str = "id, name, kind, pattern, enabled, created_at, updated_at";

fn read(row: &Row<'_>) -> Result<Rule> {
    Ok(Rule {
        id: row.get(0)?,
        name: row.get(1)?,
        kind: row.named(2, "suppression_rules.kind", RuleKind::from_name)?,
        pattern: row.get(3)?,
        enabled: row.get(4)?,
        created_at: row.get(5)?,
        updated_at: row.get(6)?,
    })
}

/// Every rule, in the order in which they were created.
pub async fn list(rx: &Rx<'_>, project: ProjectNumber) -> Result<Vec<Rule>> {
    rx.all(
        format!("select {COLUMNS} from suppression_rules where project_id = $1 order by id limit $2"),
        args![project, MAX_RULES],
        read,
    )
    .await
}

/// The rules that are applied.
pub(super) async fn enabled(rx: &Rx<'_>, project: ProjectNumber) -> Result<Rules> {
    list(rx, project).await.map(Rules::new)
}

/// One rule, which nobody else changes before the transaction ends.
pub async fn get_for_update(
    tx: &Tx<'_>,
    project: ProjectNumber,
    id: SuppressionRuleId,
) -> Result<Option<Rule>> {
    tx.optional(
        format!("select {COLUMNS} from suppression_rules where project_id = $1 and id = $2 {{for_update}}"),
        args![project, id],
        read,
    )
    .await
}

/// How many rules there are.
pub async fn count(rx: &Rx<'_>, project: ProjectNumber) -> Result<i64> {
    rx.one("select count(*) from suppression_rules where project_id = $1", args![project], |r| r.get(0)).await
}

/// Stores a new rule.
pub async fn insert(tx: &Tx<'_>, project: ProjectNumber, rule: &Rule) -> Result<()> {
    tx.execute_one(
        "insert into suppression_rules (project_id, id, name, kind, pattern, enabled, created_at, updated_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        args![
            project,
            rule.id,
            rule.name.as_str(),
            rule.kind.as_str(),
            rule.pattern.as_str(),
            rule.enabled,
            rule.created_at,
            rule.updated_at
        ],
    )
    .await
}

/// Stores a rule that has changed.
pub async fn update(tx: &Tx<'_>, project: ProjectNumber, rule: &Rule) -> Result<()> {
    tx.execute_one(
        "update suppression_rules set name = $3, kind = $4, pattern = $5, enabled = $6, updated_at = $7 \
         where project_id = $1 and id = $2",
        args![
            project,
            rule.id,
            rule.name.as_str(),
            rule.kind.as_str(),
            rule.pattern.as_str(),
            rule.enabled,
            rule.updated_at
        ],
    )
    .await
}

/// Removes a rule; whether it was there.
pub async fn remove(tx: &Tx<'_>, project: ProjectNumber, id: SuppressionRuleId) -> Result<bool> {
    let sql = "delete from suppression_rules where project_id = $1 and id = $2";
    Ok(tx.execute(sql, args![project, id]).await? > 0)
}
