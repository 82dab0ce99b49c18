//! Mails to the members of a project: that a limit is nearly reached, or reached, and that an invoice could not be paid.
//!
//! The transaction that accepts mails only leaves a row. Here the row is taken and the mails are written in one transaction,
//! so each member gets one however often a transaction is tried.

use std::time::Duration;

use mailwright_core::billing::Category;
use mailwright_store::body;
use mailwright_store::project as store;
use mailwright_store::project::billing::notice::{self, Notice};

use crate::App;
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::error::{Error, Result};
use crate::sending::system_mail::{Letter, SystemSender};

/// How often it is looked for mails that are to be sent.
const SWEEP: Duration = Duration::from_secs(3);
/// Mails that are looked at together.
const TOGETHER: i64 = 100;

struct Notices(App);

pub(super) fn start(app: &App, tasks: &Tasks) {
    let runner = Runner::new(app, "mails about limits", SWEEP).woken_by(&app.0.project.billing.notices);
    runner.start(tasks, Notices(app.clone()));
}

impl Work for Notices {
    async fn round(&mut self) -> Result<Next> {
        let Self(app) = self;
        let waiting = app.read(body!(async |rx| notice::waiting(rx, TOGETHER).await)).await?;
        if waiting.is_empty() {
            return Ok(Next::Woken);
        }
        let sender = app.system_sender().await?;
        let more = waiting.len() as i64 == TOGETHER;
        for notice in waiting {
            app.send_notice(notice, sender.clone()).await?;
        }
        if let Some(sender) = &sender {
            app.wake_system_mail(sender);
        }
        Ok(if more { Next::Now } else { Next::Woken })
    }
}

impl App {
    /// Sends a mail about a limit to all members, if the instance has a sender.
    async fn send_notice(&self, notice: Notice, sender: Option<SystemSender>) -> Result<()> {
        let sent = self.write_notice(notice.clone(), sender).await;
        match sent {
            Err(error @ Error::NoOwnSender) => {
                tracing::error!(%error, "members are not told of a limit");
                self.write_notice(notice, None).await
            }
            sent => sent,
        }
    }

    async fn write_notice(&self, notice: Notice, sender: Option<SystemSender>) -> Result<()> {
        let app = self.clone();
        self.write_in_background(body!(async |tx| {
            if !notice::take(tx, notice.project, notice.id).await? {
                return Ok(());
            }
            let project = store::get(tx, notice.project).await?;
            let (Some(project), Some(sender)) = (project, sender) else { return Ok(()) };
            let letter = limit_letter(&notice);
            app.write_to_members(tx, &sender, &project, &letter).await
        }))
        .await
    }
}

fn limit_letter(notice: &Notice) -> Letter {
    let what = notice.category.map_or("mails", |category| match category {
        Category::Workflows => "mails of workflows",
        Category::Campaigns => "mails of campaigns",
        Category::Transactional => "transactional mails",
        Category::Inbound => "mails that come in",
    });
    let (used, most, month) = (notice.used, notice.most, notice.month);
    let text = if notice.reached {
        format!(
            "The project {{{{project}}}} at {{{{instance}}}} has had {used} {what} in {month}, and its limit is {most}. \
             Until the limit is raised or the month ends, there are no more of them."
        )
    } else {
        format!(
            "The project {{{{project}}}} at {{{{instance}}}} has had {used} {what} in {month}, and its limit is {most}. \
             Once it is reached, there are no more of them until the month ends."
        )
    };
    Letter {
        subject: if notice.reached {
            "{{project}} has reached a limit"
        } else {
            "{{project}} has nearly reached a limit"
        },
        text,
        after: "An administrator or the owner of the project can change its limits, or subscribe it, in its settings.",
    }
}

/// The mail that tells a member that an invoice could not be paid.
pub(super) fn payment_letter() -> Letter {
    Letter {
        subject: "{{project}} was disabled: an invoice could not be paid",
        text: "An invoice for the project {{project}} at {{instance}} could not be paid, and the project was disabled. \
               Nothing is sent until the invoice is paid; the data of the project can still be read."
            .to_owned(),
        after: "An administrator or the owner of the project can pay the invoice, or change how it is paid, in the settings \
                of the project. It is enabled again as soon as the invoice is paid.",
    }
}
