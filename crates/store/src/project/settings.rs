//! Changing the settings of a project.

use mailwright_core::ids::{ProjectNumber, TemplateId};
use mailwright_core::patch::Patch;
use mailwright_core::project::{MarketingCap, Tracking, Utm};
use mailwright_core::retention::Periods;
use mailwright_core::time::Timestamp;

use serde_json::Value as Json;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;

/// Changes of settings; a setting that is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Name.
    pub name: Option<String>,
    /// Which mails are tracked.
    pub tracking: Option<Tracking>,
    /// Language of public pages and footers.
    pub language: Option<String>,
    /// Most mails a second; null for the instance's setting.
    pub sending_per_second: Patch<i64>,
    /// Whether an event with the public key may subscribe a contact again.
    pub public_key_may_resubscribe: Option<bool>,
    /// The zone of dates without an offset; null for UTC.
    pub timezone: Patch<String>,
    /// How many marketing mails a contact gets; null for as many as there are.
    pub marketing_cap: Patch<MarketingCap>,
    /// What is added to the targets of tracked links; null for nothing.
    pub utm: Patch<Utm>,
    /// Whether contacts whom somebody else subscribes have to confirm.
    pub double_opt_in: Option<bool>,
    /// The template of the mails that ask to confirm; null for the service's own text.
    pub confirmation_template: Patch<TemplateId>,
    /// Whether the evidence of consent keeps the address of the client.
    pub consent_keeps_address: Option<bool>,
    /// Whether answers come back to an address that names the mail.
    pub reply_tracking: Option<bool>,
    /// How long things are kept, where that is shorter than in the instance; null for as long as there.
    pub retention: Patch<Periods>,
}

/// Changes settings.
pub async fn change(tx: &mut Tx<'_>, number: ProjectNumber, change: &Change, now: Timestamp) -> Result<()> {
    let (mut rate, mut zone, mut cap, mut utm, mut template) = (None, None, None, None, None);
    let mut retention = None;
    change.sending_per_second.apply(&mut rate);
    change.timezone.clone().apply(&mut zone);
    change.marketing_cap.apply(&mut cap);
    change.utm.clone().apply(&mut utm);
    change.confirmation_template.apply(&mut template);
    change.retention.apply(&mut retention);
    let retention =
        retention.map_or(Arg::Null, |own| Arg::Json(Json::from(own.to_json()).to_string().into()));
    let utm = utm.map_or(Arg::Null, |utm| Arg::Json(utm.to_json().to_string().into()));
    tx.execute_one(
        "update projects set name = coalesce($2, name), tracking = coalesce($3, tracking), \
         language = coalesce($4, language), updated_at = $5, \
         sending_per_second = case when $6 then $7 else sending_per_second end, \
         public_key_may_resubscribe = coalesce($8, public_key_may_resubscribe), \
         timezone = case when $9 then $10 else timezone end, \
         marketing_cap = case when $11 then $12 else marketing_cap end, \
         marketing_cap_hours = case when $11 then $13 else marketing_cap_hours end, \
         utm = case when $14 then {json $15} else utm end, \
         double_opt_in = coalesce($16, double_opt_in), \
         consent_keeps_address = coalesce($17, consent_keeps_address), \
         confirmation_template_id = case when $18 then $19 else confirmation_template_id end, \
         reply_tracking = coalesce($20, reply_tracking), \
         retention = case when $21 then {json $22} else retention end \
         where number = $1 and retired_at is null",
        args![
            number,
            change.name.as_deref(),
            change.tracking.map(Tracking::as_str),
            change.language.as_deref(),
            now,
            change.sending_per_second != Patch::Absent,
            rate,
            change.public_key_may_resubscribe,
            change.timezone != Patch::Absent,
            zone,
            change.marketing_cap != Patch::Absent,
            cap.map(|cap| i64::from(cap.emails)),
            cap.map(|cap| i64::from(cap.hours)),
            change.utm != Patch::Absent,
            utm,
            change.double_opt_in,
            change.consent_keeps_address,
            change.confirmation_template != Patch::Absent,
            template,
            change.reply_tracking,
            change.retention != Patch::Absent,
            retention,
        ],
    )
    .await
}
