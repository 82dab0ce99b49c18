//! Why mail waits, as mails and the log say it.

use mailwright_core::pacing::PaceReason;

use super::site::Slow;

/// Why mail waits of whose domain nothing is known yet.
pub(super) const LOOKED_UP: &str =
    "The mail waits, because the name servers of its domain take long to answer.";

/// What all mail says that waits for a site which blocks us; the codes of its reply may follow.
pub(in crate::delivery) fn waits_for_block(site: &str) -> String {
    format!("The mail waits, because {site} blocks the address that we send from.")
}

/// Why mail for a site waits, in a sentence.
pub(super) fn explained(site: &str, why: &Slow) -> String {
    let said = |reply: &str| if reply.is_empty() { String::new() } else { format!(" Last: {reply}") };
    match why {
        Slow::Unreachable(error) => {
            format!("The mail waits, because {site} cannot be reached. Last: {error}")
        }
        Slow::Refused(reply) => {
            format!("The mail waits, because servers of {site} refuse us for now. Last: {reply}")
        }
        Slow::Pace(PaceReason::Resting, reply) => {
            format!("The mail waits, because {site} asks us to send less.{}", said(reply))
        }
        Slow::Pace(PaceReason::Blocked, reply) => {
            format!("{}{}", waits_for_block(site), said(reply))
        }
        Slow::Pace(PaceReason::Rate, reply) => {
            format!("The mail waits, because of how many mails a minute {site} takes.{}", said(reply))
        }
        Slow::Pace(PaceReason::Connections, reply) => {
            format!("The mail waits for one of the connections that {site} takes.{}", said(reply))
        }
        Slow::Crowded => format!(
            "The mail waits, because much other mail waits for servers that take long to answer, and {site} has not \
             proven yet that it answers."
        ),
        Slow::Hangs => format!("The mail waits, because {site} takes minutes to answer."),
        Slow::Unheard => format!("The mail waits, because {site} has not answered yet."),
        Slow::Busy => format!("The mail waits, because {site} takes mail more slowly than it comes."),
    }
}
