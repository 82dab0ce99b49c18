//! What is stored encrypted with the instance's secret: one piece of it shows whether a secret is the right one.

use mailwright_core::ids::UserId;

use crate::error::Result;
use crate::tx::Rx;

/// Something that only the right secret opens.
#[derive(Debug, Clone)]
pub enum Sealed {
    /// The private DKIM key of a domain.
    Dkim(Vec<u8>),
    /// The seed of an account's second factor.
    Seed(UserId, Vec<u8>),
}

/// What was encrypted last, of any project: a DKIM key, or else a seed. `None` when nothing is encrypted yet.
pub async fn newest(rx: &mut Rx<'_>) -> Result<Option<Sealed>> {
    let key = rx
        .optional(
            "select private_key from domains where project_id in (select number from projects) \
             order by created_at desc, id desc limit 1",
            &[],
            |r| Ok(Sealed::Dkim(r.get(0)?)),
        )
        .await?;
    if key.is_some() {
        return Ok(key);
    }
    rx.optional("select user_id, seed from totp order by created_at desc limit 1", &[], |r| {
        Ok(Sealed::Seed(r.get(0)?, r.get(1)?))
    })
    .await
}
