//! What the doctor finds of continuous copies.

use std::time::Duration;

use mailwright_app::copies::{self, Destination};

use super::Fine;
use crate::config::Config;
use crate::setup;

/// How old the last copy may be: a service that writes nothing says so every minute.
const LATE: Duration = Duration::from_mins(5);

/// When the last copy was shipped, and what is wrong.
pub(super) async fn finding(config: &Config) -> Option<Result<Fine, String>> {
    let (settings, dns) = match (config.copies(), config.dns()) {
        (Ok(Some(settings)), Ok(dns)) => (settings, dns),
        (Err(error), _) => return Some(Err(format!("{error:#}"))),
        _ => return None,
    };
    let listed = match Destination::open(&settings.to, &dns, false) {
        Ok(destination) => copies::spans(&destination).await.map(|spans| (destination, spans)),
        Err(fault) => Err(fault),
    };
    let (destination, spans) = match listed {
        Ok(listed) => listed,
        Err(fault) => {
            return Some(Err(format!(
                "the destination cannot be read: {fault}; look at MAILWRIGHT_BACKUP_COPY_TO and the settings beside it"
            )));
        }
    };
    let name = destination.name();
    Some(match spans.last() {
        None => {
            Ok(Fine::Better(format!("there are no complete copies in {name} yet; the service makes them")))
        }
        Some(span) => {
            let age = setup::clock().now().since(span.until);
            let text = format!(
                "the last one in {name} is of {}, {} seconds ago; moments since {} can be restored",
                span.until,
                age.as_secs(),
                spans.first().map_or(span.from, |first| first.from)
            );
            if age > LATE || span.is_broken {
                Ok(Fine::Better(format!(
                    "{text}; if the service runs, its log says why nothing was shipped since"
                )))
            } else {
                Ok(Fine::Ok(text))
            }
        }
    })
}
