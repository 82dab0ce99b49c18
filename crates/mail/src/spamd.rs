//! A client of SpamAssassin's `spamd`: asks it what it makes of a mail, and by which rules (SPAMC/1.5, command
//! `REPORT`).
//!
//! The protocol is described in `spamd/PROTOCOL` of SpamAssassin. A connection is for one mail. Of the report only the
//! table of rules is read, behind the last ruler that begins a line: what comes before repeats words of the mail, which
//! its sender may have written like a table, but is indented there.
//!
//! Invariants: every wait is bounded, and so is what is read and what is returned.

#[cfg(test)]
mod tests;

use std::time::Duration;

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::report::fields::one_line;

/// The largest mail that is sent, in bytes. SpamAssassin's own client has this bound: rules take long for larger ones.
pub const MAX_MAIL: usize = 512 * 1024;
/// The longest answer that is read, in bytes. A report has some kilobytes.
const MAX_ANSWER: usize = 256 * 1024;
/// The most rules that are returned.
pub const MAX_RULES: usize = 300;
/// The longest name of a rule, in bytes. A line with a longer one is no rule.
const MAX_NAME: usize = 100;
/// The longest description, in bytes. What is longer is cut.
pub const MAX_DESCRIPTION: usize = 500;
/// Lines of the table that begin with as many spaces go on with the description before.
const INDENT: &str = "        ";

/// How long finding the host and connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long sending the mail and the whole answer may take. Rules ask DNS, for 15 seconds unless it is configured
/// otherwise, and a mail may wait for a free child.
const ANSWER: Duration = Duration::from_mins(1);

/// What SpamAssassin makes of a mail.
#[derive(Debug, Clone, PartialEq)]
pub struct SpamReport {
    /// Points of all rules; less than zero when it looks wanted.
    pub score: f64,
    /// From how many points on a mail is spam there.
    pub threshold: f64,
    /// Whether it is spam there.
    pub is_spam: bool,
    /// The rules that hit, in the server's order; at most [`MAX_RULES`]. Empty when the server's report has another
    /// form.
    pub rules: Vec<SpamRule>,
}

/// A rule that hit.
#[derive(Debug, Clone, PartialEq)]
pub struct SpamRule {
    /// Its name, such as `MISSING_DATE`.
    pub name: String,
    /// Its points, rounded by the server to a tenth.
    pub points: f64,
    /// What it is about, in the server's language; one line of at most [`MAX_DESCRIPTION`] bytes. It may repeat words of
    /// the mail.
    pub description: String,
}

/// Why there is no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpamdError {
    /// The mail has more than [`MAX_MAIL`] bytes; nothing was asked.
    #[error("the mail is larger than {MAX_MAIL} bytes")]
    TooLarge,
    /// The server cannot be found or connected to, or the connection broke. With the system's words.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// The server took too long.
    #[error("the server did not answer in time")]
    TimedOut,
    /// The answer is cut, too long, an error of the server, or from something else than `spamd`.
    #[error("the server's answer cannot be read: {0}")]
    BadAnswer(&'static str),
}

/// Has a mail judged by the `spamd` at `address`, which is a host and a port. `mail` is as it is sent: header, empty
/// line, body. Takes at most 70 seconds.
pub async fn check(address: &str, mail: &[u8]) -> Result<SpamReport, SpamdError> {
    check_within(address, mail, CONNECT, ANSWER).await
}

/// Whether a `spamd` answers at `address` (command `PING`). Takes at most 20 seconds.
pub async fn ping(address: &str) -> Result<(), SpamdError> {
    let answer = ask_within(address, "PING SPAMC/1.5\r\n\r\n", &[], CONNECT, CONNECT).await?;
    let line = String::from_utf8_lossy(answer.split(|byte| *byte == b'\n').next().unwrap_or_default());
    if line.starts_with("SPAMD/") && line.split_ascii_whitespace().nth(2) == Some("PONG") {
        return Ok(());
    }
    Err(SpamdError::BadAnswer("it is not from spamd"))
}

async fn check_within(
    address: &str,
    mail: &[u8],
    connect: Duration,
    answer: Duration,
) -> Result<SpamReport, SpamdError> {
    if mail.len() > MAX_MAIL {
        return Err(SpamdError::TooLarge);
    }
    let head = format!("REPORT SPAMC/1.5\r\nContent-length: {}\r\n\r\n", mail.len());
    parse(&ask_within(address, &head, mail, connect, answer).await?)
}

/// The answer to a command, with what is sent below its header.
async fn ask_within(
    address: &str,
    head: &str,
    mail: &[u8],
    connect: Duration,
    answer: Duration,
) -> Result<Vec<u8>, SpamdError> {
    let unreachable = |error: std::io::Error| SpamdError::Unreachable(error.to_string());
    let connected = timeout(connect, TcpStream::connect(address)).await;
    let stream = connected.map_err(|_| SpamdError::TimedOut)?.map_err(unreachable)?;
    let answered = timeout(answer, exchange(stream, head, mail)).await;
    answered.map_err(|_| SpamdError::TimedOut)?.map_err(unreachable)
}

/// Sends a command and reads all that comes back, at most one byte more than [`MAX_ANSWER`].
async fn exchange(mut stream: TcpStream, head: &str, mail: &[u8]) -> std::io::Result<Vec<u8>> {
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(mail).await?;
    stream.shutdown().await?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER as u64 + 1).read_to_end(&mut answer).await?;
    Ok(answer)
}

fn parse(answer: &[u8]) -> Result<SpamReport, SpamdError> {
    let bad = SpamdError::BadAnswer;
    if answer.is_empty() {
        return Err(bad("it is empty"));
    }
    if answer.len() > MAX_ANSWER {
        return Err(bad("it is too long"));
    }
    if !answer.starts_with(b"SPAMD/") {
        return Err(bad("it is not from spamd"));
    }
    let line = String::from_utf8_lossy(answer.split(|byte| *byte == b'\n').next().unwrap_or_default());
    if line.split_ascii_whitespace().nth(1) != Some("0") {
        return Err(bad("the server reports an error"));
    }
    let end = memmem::find(answer, b"\r\n\r\n").ok_or(bad("it is cut"))?;
    let head = String::from_utf8_lossy(&answer[..end]);
    let field = |wanted: &str| {
        let mut fields = head.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(name, _)| name.trim().eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim())
    };
    let mut body = &answer[end + 4..];
    if let Some(length) = field("content-length") {
        let length: usize = length.parse().map_err(|_| bad("its length is no number"))?;
        body = body.get(..length).ok_or(bad("it is cut"))?;
    }
    let verdict = field("spam").and_then(verdict).ok_or(bad("there is no score"))?;
    let (is_spam, score, threshold) = verdict;
    Ok(SpamReport { score, threshold, is_spam, rules: rules(&String::from_utf8_lossy(body)) })
}

/// Reads `True ; 26.3 / 5.0`.
fn verdict(value: &str) -> Option<(bool, f64, f64)> {
    let (word, numbers) = value.split_once(';')?;
    let (score, threshold) = numbers.split_once('/')?;
    let is_spam = match word.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" => true,
        "false" | "no" => false,
        _ => return None,
    };
    Some((is_spam, number(score)?, number(threshold)?))
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// The table of rules: points, name and description, below a ruler.
fn rules(report: &str) -> Vec<SpamRule> {
    let lines: Vec<&str> = report.lines().collect();
    let Some(ruler) = lines.iter().rposition(|line| is_ruler(line)) else { return Vec::new() };
    let mut found: Vec<SpamRule> = Vec::new();
    for line in &lines[ruler + 1..] {
        if line.trim().is_empty() {
            break;
        }
        if let (Some(more), Some(last)) = (line.strip_prefix(INDENT), found.last_mut()) {
            if last.description.len() < MAX_DESCRIPTION {
                last.description = description(&format!("{} {more}", last.description));
            }
        } else if let Some(rule) = rule(line) {
            if found.len() >= MAX_RULES {
                break;
            }
            found.push(rule);
        }
    }
    found
}

fn is_ruler(line: &str) -> bool {
    let columns: Vec<&str> = line.trim_end().split(' ').collect();
    columns.len() == 3 && columns.iter().all(|column| column.len() >= 3 && column.bytes().all(|b| b == b'-'))
}

/// Reads ` 2.7 MISSING_DATE           Missing Date: header`.
fn rule(line: &str) -> Option<SpamRule> {
    let (points, rest) = line.trim_start().split_once(' ')?;
    let rest = rest.trim_start();
    let (name, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_rule = (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_name);
    let points = number(points).filter(|_| is_rule)?;
    Some(SpamRule { name: name.to_owned(), points, description: description(text) })
}

fn description(text: &str) -> String {
    let mut line = one_line(text);
    line.truncate(line.floor_char_boundary(MAX_DESCRIPTION));
    line
}
