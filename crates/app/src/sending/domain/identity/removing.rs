//! Removing from accounts what this service registered there, once nobody has the domain here any more.
//!
//! Before a domain is removed it is looked at: only one that SES signs for as we told it is removed. What the operator
//! has changed by hand meanwhile is theirs, and so is what another account has under the same name, where the transport
//! leads to another one now.

use std::time::Duration;

use mailwright_mail::ses::config::SesConfig;
use mailwright_mail::ses::identity::{Hindrance, IdentityAnswer, answered, removed};
use mailwright_mail::ses::request::Said;
use mailwright_store::body;
use mailwright_store::sending::ses_identity::{self, Left};

use crate::App;
use crate::error::Result;

/// How long a process that removes a domain has until another one may. Two requests take 40 seconds at most, and have
/// to wait for those of others.
const LEASE: Duration = Duration::from_mins(5);
/// The pause after a removal that came to nothing. It doubles with each that comes to nothing after it.
const FIRST_PAUSE: Duration = Duration::from_mins(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_hours(24);

/// What became of a domain that somebody gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Somebody has it.
    Wanted,
    /// SES does not have it any more.
    Removed,
    /// SES signs with something that we did not give it.
    NotOurs,
    /// Nothing: later. `denied`: the key may not.
    Later { denied: bool },
}

impl App {
    /// Removes from the accounts what is due, one after the other.
    pub(super) async fn remove_given_up(&self) -> Result<()> {
        loop {
            let now = self.0.clock.now();
            if !self.read(body!(async |rx| ses_identity::is_due(rx, now).await)).await? {
                return Ok(());
            }
            self.remove_next_given_up().await?;
        }
    }

    /// Removes the next one, if another process has not.
    async fn remove_next_given_up(&self) -> Result<()> {
        let now = self.0.clock.now();
        let until = now.plus(LEASE);
        let claimed =
            self.0.db.write_in_background(body!(async |tx| ses_identity::claim(tx, now, until).await));
        let Some(left) = claimed.await? else { return Ok(()) };
        let outcome = if self.is_wanted(&left).await? {
            Outcome::Wanted
        } else {
            match self.ses_account(&left.transport) {
                Some(account) => self.remove_from_account(account.config, &left).await?,
                None => Outcome::Later { denied: false },
            }
        };
        if outcome != Outcome::Wanted {
            tracing::info!(
                domain = left.name,
                transport = left.transport,
                ?outcome,
                "nobody has a domain any more that was registered with Amazon SES"
            );
        }
        self.write(body!(async |tx| {
            match outcome {
                Outcome::Wanted => ses_identity::keep(tx, &left).await?,
                Outcome::Removed | Outcome::NotOurs => ses_identity::forget(tx, &left).await?,
                Outcome::Later { denied } => {
                    let again = now.plus(pause(left.attempts));
                    ses_identity::put_off(tx, &left, again, denied).await?;
                }
            }
            Ok(())
        }))
        .await
    }

    async fn remove_from_account(&self, config: &SesConfig, left: &Left) -> Result<Outcome> {
        let (registrar, clock) = (&self.0.sending.registrar, &self.0.clock);
        let later = Outcome::Later { denied: false };
        let found = {
            let Some(_turn) = registrar.turn().await else { return Ok(later) };
            registrar.ask(config.get_identity(&left.name, clock.now()), answered).await
        };
        match looked(left, found) {
            Looked::Ends(outcome) => Ok(outcome),
            Looked::Ours => {
                let Some(_turn) = registrar.turn().await else { return Ok(later) };
                // the turns may have taken minutes, in which somebody can have added it
                if self.is_wanted(left).await? {
                    return Ok(Outcome::Wanted);
                }
                Ok(ended(registrar.ask(config.delete_identity(&left.name, clock.now()), removed).await))
            }
        }
    }

    /// Whether any project has a domain that another one gave up.
    async fn is_wanted(&self, left: &Left) -> Result<bool> {
        let name = left.name.clone();
        self.read(body!(async |rx| ses_identity::is_wanted(rx, &name).await)).await
    }
}

/// What a look at a domain says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looked {
    /// SES signs as we told it.
    Ours,
    /// There is nothing to remove, or nothing can be said.
    Ends(Outcome),
}

fn looked(left: &Left, found: Result<IdentityAnswer, String>) -> Looked {
    match found {
        Ok(IdentityAnswer::Known(found)) => {
            let is_ours = found.tokens.iter().any(|token| left.signs_with.contains(token));
            if is_ours { Looked::Ours } else { Looked::Ends(Outcome::NotOurs) }
        }
        other => Looked::Ends(ended(other)),
    }
}

/// What an answer says that has nothing of the domain.
fn ended(answer: Result<IdentityAnswer, String>) -> Outcome {
    match answer {
        Ok(IdentityAnswer::Missing) => Outcome::Removed,
        Ok(IdentityAnswer::Hindered(why, Said { status, text })) => {
            tracing::warn!(status, text, "Amazon SES did not remove a domain");
            Outcome::Later { denied: why == Hindrance::Denied }
        }
        Ok(IdentityAnswer::Known(_) | IdentityAnswer::Exists) => Outcome::Later { denied: false },
        Err(error) => {
            tracing::warn!(error, "Amazon SES could not be asked to remove a domain");
            Outcome::Later { denied: false }
        }
    }
}

/// The pause before the next attempt, after so many that came to nothing.
fn pause(attempts: i64) -> Duration {
    let doublings = u32::try_from(attempts).unwrap_or(u32::MAX).min(31);
    FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use mailwright_core::domain::IdentityWay;
    use mailwright_core::time::Timestamp;
    use mailwright_mail::ses::identity::{DkimStatus, Identity};

    use super::*;

    fn left(signs_with: &[&str]) -> Left {
        Left {
            transport: "ses".into(),
            name: "shop.example".into(),
            signs_with: signs_with.iter().map(|token| (*token).to_owned()).collect(),
            attempts: 0,
            until: Timestamp(0),
        }
    }

    fn found(tokens: &[&str]) -> IdentityAnswer {
        IdentityAnswer::Known(Identity {
            is_verified: true,
            dkim: DkimStatus::Success,
            way: Some(IdentityWay::EasyDkim),
            tokens: tokens.iter().map(|token| (*token).to_owned()).collect(),
            hosted_zone: None,
        })
    }

    #[test]
    fn only_what_signs_as_we_told_it_is_removed() {
        assert_eq!(looked(&left(&["a", "b"]), Ok(found(&["b", "a"]))), Looked::Ours);
        for (ours, theirs) in [(&["mw1"][..], &["mw9"][..]), (&[], &["mw1"]), (&["mw1"], &[])] {
            assert_eq!(looked(&left(ours), Ok(found(theirs))), Looked::Ends(Outcome::NotOurs), "{theirs:?}");
        }
        assert_eq!(looked(&left(&["a"]), Ok(IdentityAnswer::Missing)), Looked::Ends(Outcome::Removed));
        let later = |denied| Looked::Ends(Outcome::Later { denied });
        assert_eq!(looked(&left(&["a"]), Err("no answer".into())), later(false));
        for (why, denied) in [(Hindrance::Denied, true), (Hindrance::Throttled, false)] {
            let said = Said { status: 400, text: "x".into() };
            assert_eq!(looked(&left(&["a"]), Ok(IdentityAnswer::Hindered(why, said))), later(denied));
        }
    }

    #[test]
    fn pauses_become_longer_up_to_a_day() {
        let minutes = |attempts| pause(attempts).as_secs() / 60;
        assert_eq!((minutes(0), minutes(1), minutes(5)), (1, 2, 32));
        assert_eq!((pause(11), pause(i64::MAX), pause(-1)), (LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE));
    }
}
