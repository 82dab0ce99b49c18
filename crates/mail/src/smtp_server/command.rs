//! Commands (RFC 5321 section 4.1.1) and their lines.

use super::address::{self, Kind, Path, PathError};
use super::envelope::Body;
use super::reply::Refusal;

/// The longest command, with CRLF, in bytes: 512 of RFC 5321 section 4.5.3.1.4, and what extensions add to it.
pub(super) const MOST_LINE: usize = 2048;

const BARE: Refusal =
    Refusal::fixed(500, (5, 2), "Lines end with CRLF; bare CR, bare LF and NUL are refused");
const LINE_TOO_LONG: Refusal = Refusal::fixed(500, (5, 2), "The line is too long");
const NO_TEXT: Refusal = Refusal::fixed(500, (5, 2), "Commands are printable text");
const NO_SMTP: Refusal = Refusal::fixed(554, (5, 1), "This is a mail server");
const NO_BDAT: Refusal = Refusal::fixed(502, (5, 1), "CHUNKING is not offered");
const SYNTAX: Refusal = Refusal::fixed(501, (5, 4), "Syntax error in the arguments");
const NO_ARGUMENTS: Refusal = Refusal::fixed(501, (5, 4), "The command has no arguments");
const NAME: Refusal = Refusal::fixed(501, (5, 4), "Give your domain or an address literal");
const SENDER: Refusal = Refusal::fixed(501, (1, 7), "Syntax: MAIL FROM:<address>");
const RECIPIENT: Refusal = Refusal::fixed(501, (1, 3), "Syntax: RCPT TO:<address>");
const SENDER_TOO_LONG: Refusal = Refusal::fixed(501, (1, 7), "The address is too long");
const RECIPIENT_TOO_LONG: Refusal = Refusal::fixed(501, (1, 3), "The address is too long");
const UNKNOWN_PARAMETER: Refusal = Refusal::fixed(555, (5, 4), "The parameter is not known");
const NOT_IMPLEMENTED: Refusal = Refusal::fixed(502, (5, 1), "The command is not implemented");

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command<'a> {
    Hello { name: &'a str, extended: bool },
    Mail(Mail),
    Rcpt(Path),
    Data,
    Rset,
    Noop,
    Quit,
    Help,
    Vrfy,
    StartTls,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mail {
    pub(super) from: Option<Path>,
    pub(super) size: Option<u64>,
    pub(super) body: Option<Body>,
    pub(super) smtputf8: bool,
}

/// Why a line is no command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Refused(Refusal),
    /// A verb that nobody knows.
    Unknown,
    /// The client does not mean to speak SMTP with us: nothing more is read.
    Broken(Refusal),
}

/// The length of the first line of `input`, without its CRLF; `None` when it is not complete. What is no line is a
/// reason to close, and the reason does not depend on how much of it is there.
pub(super) fn line_length(input: &[u8]) -> Result<Option<usize>, Refusal> {
    let end = memchr::memchr3(b'\r', b'\n', 0, input);
    if end.unwrap_or(input.len()) > MOST_LINE - 2 {
        return Err(LINE_TOO_LONG);
    }
    let Some(end) = end else { return Ok(None) };
    match &input[end..] {
        [b'\r'] => Ok(None),
        [b'\r', b'\n', ..] => Ok(Some(end)),
        _ => Err(BARE),
    }
}

/// Reads a line without its CRLF.
pub(super) fn parse(line: &[u8]) -> Result<Command<'_>, Failure> {
    let line = std::str::from_utf8(line).ok().filter(|line| !line.contains(char::is_control));
    let line = line.ok_or(Failure::Refused(NO_TEXT))?.trim_end_matches(' ');
    let (verb, arguments) = line.split_once(' ').unwrap_or((line, ""));
    let alone = |command| {
        if arguments.is_empty() { Ok(command) } else { Err(Failure::Refused(NO_ARGUMENTS)) }
    };
    match verb.to_ascii_uppercase().as_str() {
        "EHLO" => hello(arguments, true),
        "HELO" => hello(arguments, false),
        "MAIL" => mail(arguments).map(Command::Mail).map_err(Failure::Refused),
        "RCPT" => rcpt(arguments).map(Command::Rcpt).map_err(Failure::Refused),
        "DATA" => alone(Command::Data),
        "RSET" => alone(Command::Rset),
        "NOOP" => Ok(Command::Noop),
        "QUIT" => alone(Command::Quit),
        "HELP" => Ok(Command::Help),
        "VRFY" => Ok(Command::Vrfy),
        "STARTTLS" => alone(Command::StartTls),
        "EXPN" | "AUTH" | "ETRN" | "TURN" | "ATRN" | "SEND" | "SOML" | "SAML" => {
            Err(Failure::Refused(NOT_IMPLEMENTED))
        }
        // content follows that must not be taken for commands
        "BDAT" => Err(Failure::Broken(NO_BDAT)),
        // a browser that was made to send commands in a request
        "GET" | "HEAD" | "POST" | "PUT" | "DELETE" | "OPTIONS" | "PATCH" | "CONNECT" | "TRACE" => {
            Err(Failure::Broken(NO_SMTP))
        }
        _ => Err(Failure::Unknown),
    }
}

fn hello(arguments: &str, extended: bool) -> Result<Command<'_>, Failure> {
    let name = arguments.trim_start_matches(' ');
    if address::is_client_name(name) {
        return Ok(Command::Hello { name, extended });
    }
    Err(Failure::Refused(NAME))
}

fn mail(arguments: &str) -> Result<Mail, Refusal> {
    let rest = after_keyword(arguments, "FROM:").ok_or(SENDER)?;
    let (from, rest) = address::parse(rest, Kind::Reverse).map_err(|error| match error {
        PathError::Syntax => SENDER,
        PathError::TooLong => SENDER_TOO_LONG,
    })?;
    let mut mail = Mail { from, ..Mail::default() };
    for parameter in parameters(rest)? {
        let (keyword, value) = match parameter.split_once('=') {
            Some((keyword, value)) => (keyword, Some(value)),
            None => (parameter, None),
        };
        let is_again = match (keyword.to_ascii_uppercase().as_str(), value) {
            ("SIZE", Some(value)) => mail.size.replace(size(value).ok_or(SYNTAX)?).is_some(),
            ("BODY", Some(value)) => mail.body.replace(body(value).ok_or(SYNTAX)?).is_some(),
            ("SMTPUTF8", None) => std::mem::replace(&mut mail.smtputf8, true),
            ("SIZE" | "BODY" | "SMTPUTF8", _) => return Err(SYNTAX),
            _ => return Err(UNKNOWN_PARAMETER),
        };
        if is_again {
            return Err(SYNTAX);
        }
    }
    Ok(mail)
}

fn rcpt(arguments: &str) -> Result<Path, Refusal> {
    let rest = after_keyword(arguments, "TO:").ok_or(RECIPIENT)?;
    let (to, rest) = address::parse(rest, Kind::Forward).map_err(|error| match error {
        PathError::Syntax => RECIPIENT,
        PathError::TooLong => RECIPIENT_TOO_LONG,
    })?;
    if parameters(rest)?.next().is_some() {
        return Err(UNKNOWN_PARAMETER);
    }
    to.ok_or(RECIPIENT)
}

/// What follows `FROM:` or `TO:`. Spaces after the colon are against RFC 5321 section 3.3, and common.
fn after_keyword<'a>(arguments: &'a str, keyword: &str) -> Option<&'a str> {
    let begin = arguments.get(..keyword.len())?;
    begin.eq_ignore_ascii_case(keyword).then(|| arguments[keyword.len()..].trim_start_matches(' '))
}

/// The parameters after a path, from which a space divides them.
fn parameters(rest: &str) -> Result<impl Iterator<Item = &str>, Refusal> {
    if !rest.is_empty() && !rest.starts_with(' ') {
        return Err(SYNTAX);
    }
    Ok(rest.split(' ').filter(|parameter| !parameter.is_empty()))
}

/// The value of SIZE: up to 20 digits (RFC 1870 section 4), of which more than a number holds are the largest number.
fn size(value: &str) -> Option<u64> {
    let is_number = (1..=20).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| value.parse().unwrap_or(u64::MAX))
}

fn body(value: &str) -> Option<Body> {
    match value.to_ascii_uppercase().as_str() {
        "7BIT" => Some(Body::SevenBit),
        "8BITMIME" => Some(Body::EightBitMime),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_end_with_crlf() {
        let long = [b'x'; MOST_LINE];
        for (input, length) in [
            (&b""[..], Ok(None)),
            (b"NOOP", Ok(None)),
            (b"NOOP\r", Ok(None)),
            (b"NOOP\r\nQUIT\n", Ok(Some(4))),
            (b"\r\n", Ok(Some(0))),
            (b"NOOP\n", Err(BARE)),
            (b"NOOP\r\r\n", Err(BARE)),
            (b"NO\0OP", Err(BARE)),
            (&long[..MOST_LINE - 2], Ok(None)),
            (&long[..MOST_LINE - 1], Err(LINE_TOO_LONG)),
        ] {
            assert_eq!(line_length(input), length, "{}", input.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn any_line_is_a_command_or_none(
            line in prop::collection::vec(any::<u8>(), 0..60),
            text in "(MAIL FROM:|rcpt to: |EHLO |[A-Z]{4} )[<>@a:\\[\\]1. =\"\\\\\u{e4}]{0,20}",
        ) {
            let _ = parse(&line);
            let _ = parse(text.as_bytes());
        }
    }
}
