//! `POST /v1/track` beside workflows that listen to other events.

use anyhow::{Result, ensure};

use super::super::{Bench, JUDGED, track_requests};
use super::CASE;
use super::flow::Flow;
use crate::http::Caller;
use crate::report::{Bar, Unit};
use crate::seed::Site;
use crate::server::Server;

/// Enabled workflows.
const WORKFLOWS: usize = 50;
/// How often each is measured, in turns, so that a disturbance hits both.
const ROUNDS: usize = 3;
/// The part of the rate without them that has to be reached.
const BAR: f64 = 0.9;

pub(super) async fn run(bench: &mut Bench<'_>, server: &Server, site: &Site) -> Result<()> {
    let mut caller = Caller::open(server.port(), &site.secret_key).await?;
    let mut flows = Vec::new();
    for number in 0..WORKFLOWS {
        flows.push(Flow::idle(&mut caller, number).await?);
    }
    let mut rates = [0.0; 2];
    for _ in 0..ROUNDS {
        for (index, enabled) in [false, true].into_iter().enumerate() {
            // a connection that does nothing for a while is closed
            let mut caller = Caller::open(server.port(), &site.secret_key).await?;
            for flow in &flows {
                flow.enable(&mut caller, enabled).await?;
            }
            site.database.settle().await?;
            let measured = bench.load(server, JUDGED, track_requests(site)).await?;
            ensure!(measured.errors == 0, "{}", measured.first_error.unwrap_or_default());
            rates[index] += measured.per_second / ROUNDS as f64;
        }
    }
    let what = format!("track beside {WORKFLOWS} workflows for other events");
    bench.add(CASE, what, rates[1], Unit::PerSecond, |line| {
        line.limit("none enabled", rates[0]).bar(Bar::OfLimit(BAR))
    });
    Ok(())
}
