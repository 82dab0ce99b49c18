//! The same call in a small and in a large project.

use anyhow::{Result, ensure};

use super::Bench;
use crate::http::Endpoint;
use crate::load::Requests;
use crate::people;
use crate::report::{Bar, Unit};
use crate::seed::{self, Site};
use crate::server::Server;
use crate::stats::Summary;

const CASE: &str = "scale";
/// Contacts of the small project.
const SMALL: usize = 1_000;
const CONNECTIONS: usize = 16;
/// How often each is measured, in turns, so that a disturbance hits both.
const ROUNDS: usize = 2;
/// The part of the small project's rate that the large one has to reach.
const BAR: f64 = 0.8;

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let small = seed::site(bench.program, bench.host, &bench.home, "small", SMALL).await?;
    let (in_small, _) = bench.start_on(&small.database, &[]).await?;
    let (in_large, _) = bench.start(&[]).await?;
    let mut rates = [0.0; 2];
    let mut latencies: [Option<Summary>; 2] = [None; 2];
    for _ in 0..ROUNDS {
        for (index, (server, site)) in [(&in_small, &small), (&in_large, &bench.site)].into_iter().enumerate()
        {
            site.database.settle().await?;
            let measured = one_contact(bench, server, site).await?;
            ensure!(measured.errors == 0, "{}", measured.first_error.unwrap_or_default());
            rates[index] += measured.per_second / ROUNDS as f64;
            latencies[index] = Some(measured.latency);
        }
    }
    for ((site, rate), latency) in
        [&small, &bench.site].map(|site| site.people.len()).into_iter().zip(rates).zip(latencies)
    {
        let what = format!("track one contact beside {site} others, {CONNECTIONS} connections");
        bench.add(CASE, what, rate, Unit::PerSecond, |line| match latency {
            Some(latency) => line.latency(latency),
            None => line,
        });
    }
    bench.add(
        CASE,
        "rate in the large project / in the small one",
        rates[1] / rates[0],
        Unit::Ratio,
        |line| line.bar(Bar::AtLeast(BAR)),
    );
    in_small.stop().await?;
    bench.stop(in_large, CASE).await
}

async fn one_contact(bench: &Bench<'_>, server: &Server, site: &Site) -> Result<crate::load::Measured> {
    let endpoint = Endpoint::post("/v1/track", &site.public_key);
    let body = format!(r#"{{"email":"{}","event":"page.viewed"}}"#, people::email(site.people.len() / 2));
    let requests = move |_| -> Requests {
        let (endpoint, body) = (endpoint.clone(), body.clone());
        Box::new(move |out| endpoint.write(body.as_bytes(), out))
    };
    bench.load(server, CONNECTIONS, requests).await
}
