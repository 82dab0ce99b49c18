//! What takes the processor alone: the tracked links of a campaign's mail, and the class of a bounce.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mailwright_app::feedback::Specimen;
use mailwright_core::bounce::classify;

use super::super::Bench;
use super::{CASE, LINKS, html};
use crate::people;
use crate::report::{Bar, Unit};
use crate::stats::median;

/// Microseconds that tracked links may add to a mail.
const LINKS_BAR: f64 = 10.0;
/// Microseconds that the class of a bounce may take.
const BOUNCE_BAR: f64 = 20.0;
/// Bytes of the HTML.
const HTML: usize = 10 * 1024;
/// Mails that are timed together.
const MAILS: u32 = 20;
/// Replies of real servers: class, codes, text.
const REPLIES: &str = include_str!("../../../../crates/core/src/bounce/corpus.tsv");

/// What mails took, in microseconds.
struct Rendering {
    plain: f64,
    tracked: f64,
    difference: f64,
}

/// What the classes of replies took, in microseconds.
struct Classes {
    replies: usize,
    mean: f64,
    slowest: f64,
}

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let measured = bench.options.measured();
    let rendering = tokio::task::spawn_blocking(move || render(measured)).await??;
    let what = format!("a campaign's mail with {LINKS} links rendered, not tracked");
    bench.add(CASE, what, rendering.plain, Unit::Microseconds, |line| line);
    bench.add(CASE, "the same, tracked", rendering.tracked, Unit::Microseconds, |line| line);
    bench.add(CASE, "what tracking adds", rendering.difference, Unit::Microseconds, |line| {
        line.bar(Bar::AtMost(LINKS_BAR))
    });
    let classes = tokio::task::spawn_blocking(move || classes(measured)).await??;
    let what = format!("class of a bounce, mean of {} replies", classes.replies);
    bench.add(CASE, what, classes.mean, Unit::Microseconds, |line| line.bar(Bar::AtMost(BOUNCE_BAR)));
    bench.add(CASE, "class of a bounce, slowest reply", classes.slowest, Unit::Microseconds, |line| line);
    Ok(())
}

/// Renders the same mail with and without tracking, by turns, so that both meet the same disturbances.
fn render(measured: Duration) -> Result<Rendering> {
    let specimen = Specimen::new("https://mail.example.com", "Orders", &html(HTML), people::data(123))?;
    ensure!(specimen.links() == LINKS, "the mail has {} links", specimen.links());
    let (mut plain, mut tracked, mut difference) = (Vec::new(), Vec::new(), Vec::new());
    let begin = Instant::now();
    while begin.elapsed() < measured {
        let mut took = [0.0; 2];
        for (is_tracked, took) in [false, true].into_iter().zip(&mut took) {
            let since = Instant::now();
            for _ in 0..MAILS {
                black_box(specimen.render(black_box(is_tracked)).context("the mail outgrows its room")?);
            }
            *took = micros(since.elapsed()) / f64::from(MAILS);
        }
        plain.push(took[0]);
        tracked.push(took[1]);
        difference.push(took[1] - took[0]);
    }
    Ok(Rendering { plain: median(plain), tracked: median(tracked), difference: median(difference) })
}

/// Finds the classes of all replies again and again.
fn classes(measured: Duration) -> Result<Classes> {
    let mut replies = Vec::new();
    for line in REPLIES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [_, code, enhanced, text] = columns[..] else { anyhow::bail!("no reply: {line}") };
        let numbers: Vec<u16> = enhanced.split('.').filter_map(|number| number.parse().ok()).collect();
        let enhanced = match numbers[..] {
            [class, subject, detail] => Some((u8::try_from(class)?, subject, detail)),
            _ => None,
        };
        replies.push((code.parse::<u16>().ok(), enhanced, text.replace("\\n", "\n")));
    }
    let mut took = vec![Vec::new(); replies.len()];
    let begin = Instant::now();
    while begin.elapsed() < measured || took.iter().any(Vec::is_empty) {
        for ((code, enhanced, text), took) in replies.iter().zip(&mut took) {
            let since = Instant::now();
            black_box(classify(*code, *enhanced, black_box(text)));
            took.push(micros(since.elapsed()));
        }
    }
    let (sum, count) = took.iter().flatten().fold((0.0, 0_u32), |(sum, count), one| (sum + one, count + 1));
    let slowest = took.into_iter().map(median).fold(0.0, f64::max);
    Ok(Classes { replies: replies.len(), mean: sum / f64::from(count), slowest })
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
