//! What may happen to a mail after it left, and what follows from it.

use mailwright_core::bounce::{BounceClass, BounceKind, Suppression};
use mailwright_core::event::Activity;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::suppression::Cause;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::intake::{Intake, Learnt};
use crate::delivery::bookkeeping::Suppress;
use mailwright_core::ids::EmailId;

/// What may happen to a mail after it left, as others tell it. Opens and clicks come another way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Happening {
    /// The recipient's host took it.
    Delivered,
    /// It did not arrive.
    Bounced(Bounce),
    /// The recipient called it spam.
    Complained {
        /// What the report calls it, such as `abuse`.
        feedback: Option<String>,
    },
}

/// Why a mail did not arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounce {
    /// Whether it is for good, as clients are told.
    pub kind: BounceKind,
    /// What kind of reason it was.
    pub class: BounceClass,
    /// Whether the address gets nothing more.
    pub suppresses: Suppression,
    /// The words of the report.
    pub text: String,
}

impl Happening {
    /// Whether the project's reputation depends on it.
    pub(super) fn is_judged(&self) -> bool {
        match self {
            Self::Bounced(bounce) => bounce.is_final(),
            Self::Complained { .. } => true,
            Self::Delivered => false,
        }
    }

    /// Notes it of a mail that left.
    pub(super) fn note(&self, intake: &mut Intake, id: EmailId, at: Timestamp) {
        let learnt = |activity, data, suppress| Learnt { activity, at, id: None, data, suppress };
        match self {
            Self::Delivered => intake.learn(id, learnt(Activity::Delivered, Vec::new(), Suppress::Never)),
            Self::Complained { feedback } => {
                let data = feedback.iter().map(|kind| ("feedbackType", kind.as_str().into())).collect();
                intake.learn(id, learnt(Activity::Complained, data, Suppress::AtOnce(Cause::Complaint)));
            }
            Self::Bounced(bounce) => {
                if let Some(mail) = intake.mail(id) {
                    mail.undelivered = Some((bounce.class, bounce.text.clone()));
                }
                let suppress = bounce.suppress();
                if bounce.is_final() {
                    intake.learn(id, learnt(Activity::Bounced, bounce.data(), suppress));
                } else {
                    let mut data = bounce.data();
                    data.push(("transientBounce", true.into()));
                    intake.tell(id, Activity::Bounced, data, suppress, at);
                }
            }
        }
    }
}

impl Bounce {
    /// Whether the mail counts as bounced (reference 4.1): for good, or for a reason that nobody knows.
    fn is_final(&self) -> bool {
        match self.kind {
            BounceKind::Permanent | BounceKind::Undetermined => true,
            BounceKind::Transient => false,
        }
    }

    fn suppress(&self) -> Suppress {
        match self.suppresses {
            Suppression::AtOnce => Suppress::AtOnce(Cause::Bounce),
            Suppression::AfterRepetition => Suppress::AfterRepetition,
            Suppression::Never => Suppress::Never,
        }
    }

    fn data(&self) -> Vec<(&'static str, Value)> {
        vec![("bounceType", self.kind.as_str().into()), ("bounceClass", self.class.as_str().into())]
    }
}
