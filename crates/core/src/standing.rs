//! Where a mail stands, by all that is known of it: a pure function of what happened, in whatever order it was learnt.
//!
//! The status only moves up (reference 4.1): `SENT`, `DELIVERED`, `OPENED`, `CLICKED`, `BOUNCED`, `COMPLAINED`. Times and
//! counts are kept in any case. There is one way down: an open or a click that was taken for a person's and turns out to
//! be a machine's.

use crate::email::EmailStatus;
use crate::event::Activity;
use crate::time::Timestamp;

/// What is known of a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// State of the job.
    pub status: EmailStatus,
    /// When the next hop took it.
    pub sent_at: Option<Timestamp>,
    /// When the recipient's host took it.
    pub delivered_at: Option<Timestamp>,
    /// When a person opened it first.
    pub opened_at: Option<Timestamp>,
    /// When a person opened it last.
    pub last_opened_at: Option<Timestamp>,
    /// When a person followed a link in it first.
    pub clicked_at: Option<Timestamp>,
    /// When a person followed a link in it last.
    pub last_clicked_at: Option<Timestamp>,
    /// When it was refused for good.
    pub bounced_at: Option<Timestamp>,
    /// When the recipient called it spam.
    pub complained_at: Option<Timestamp>,
    /// How often people opened it.
    pub opens: i64,
    /// How often people followed a link in it.
    pub clicks: i64,
    /// How often machines fetched its picture.
    pub machine_opens: i64,
    /// How often machines followed a link in it.
    pub machine_clicks: i64,
}

impl Standing {
    /// Whether it is known that the mail left, or was refused when it was handed over.
    pub fn has_left(&self) -> bool {
        height(self.status) > 0
    }

    /// Notes what was learnt of the mail. Whatever it is, the mail left.
    pub fn learn(&mut self, activity: Activity, at: Timestamp) {
        let first = |time: &mut Option<Timestamp>| *time = Some(time.map_or(at, |known| known.min(at)));
        let last = |time: &mut Option<Timestamp>| *time = (*time).max(Some(at));
        match activity {
            Activity::Sent => {}
            Activity::Delivered => first(&mut self.delivered_at),
            Activity::Opened => {
                self.opens += 1;
                first(&mut self.opened_at);
                last(&mut self.last_opened_at);
            }
            Activity::Clicked => {
                self.clicks += 1;
                first(&mut self.clicked_at);
                last(&mut self.last_clicked_at);
            }
            Activity::Bounced => first(&mut self.bounced_at),
            Activity::Complained => first(&mut self.complained_at),
        }
        self.settle(at);
    }

    /// Sets the status that follows from the times. `at` is when the mail was sent at the latest, if nothing else is
    /// known.
    pub fn settle(&mut self, at: Timestamp) {
        self.sent_at = self.sent_at.or(Some(at));
        self.status = if self.complained_at.is_some() {
            EmailStatus::Complained
        } else if self.bounced_at.is_some() || self.status == EmailStatus::Bounced {
            EmailStatus::Bounced
        } else if self.clicked_at.is_some() {
            EmailStatus::Clicked
        } else if self.opened_at.is_some() {
            EmailStatus::Opened
        } else if self.delivered_at.is_some() {
            EmailStatus::Delivered
        } else {
            EmailStatus::Sent
        };
    }
}

/// The place of a status in the order that a mail climbs; zero for a mail of which nobody knows that it left.
fn height(status: EmailStatus) -> u8 {
    match status {
        EmailStatus::Pending
        | EmailStatus::Sending
        | EmailStatus::Failed
        | EmailStatus::Skipped
        | EmailStatus::Suppressed
        | EmailStatus::InDoubt
        | EmailStatus::Received => 0,
        EmailStatus::Sent => 1,
        EmailStatus::Delivered => 2,
        EmailStatus::Opened => 3,
        EmailStatus::Clicked => 4,
        EmailStatus::Bounced => 5,
        EmailStatus::Complained => 6,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    fn waiting(status: EmailStatus) -> Standing {
        Standing {
            status,
            sent_at: None,
            delivered_at: None,
            opened_at: None,
            last_opened_at: None,
            clicked_at: None,
            last_clicked_at: None,
            bounced_at: None,
            complained_at: None,
            opens: 0,
            clicks: 0,
            machine_opens: 0,
            machine_clicks: 0,
        }
    }

    proptest! {
        #[test]
        fn the_status_only_moves_up_and_the_order_does_not_matter(
            learnt in prop::collection::vec(select(&Activity::ALL[..]), 1..12),
            status in select(&[EmailStatus::Sent, EmailStatus::Failed, EmailStatus::InDoubt][..]),
        ) {
            let (mut forth, mut back) = (waiting(status), waiting(status));
            for activity in &learnt {
                let before = height(forth.status);
                forth.learn(*activity, Timestamp(5));
                prop_assert!(height(forth.status) >= before.max(1));
            }
            for activity in learnt.iter().rev() {
                back.learn(*activity, Timestamp(5));
            }
            prop_assert_eq!(&forth, &back);
            let highest = learnt.iter().map(|activity| match activity {
                Activity::Sent => 1,
                Activity::Delivered => 2,
                Activity::Opened => 3,
                Activity::Clicked => 4,
                Activity::Bounced => 5,
                Activity::Complained => 6,
            });
            prop_assert_eq!(Some(height(forth.status)), highest.max());
            prop_assert_eq!(forth.opens, learnt.iter().filter(|a| **a == Activity::Opened).count() as i64);
        }
    }

    #[test]
    fn first_and_last_times_are_kept() {
        let mut standing = waiting(EmailStatus::Sent);
        standing.learn(Activity::Opened, Timestamp(5));
        standing.learn(Activity::Complained, Timestamp(6));
        standing.learn(Activity::Opened, Timestamp(4));
        assert_eq!((standing.opened_at, standing.opens), (Some(Timestamp(4)), 2));
        assert_eq!(standing.last_opened_at, Some(Timestamp(5)));
        assert_eq!((standing.status, standing.sent_at), (EmailStatus::Complained, Some(Timestamp(5))));
    }
}
