//! Dialogues, one for each rule. The head of each file says how they are written.

use super::player::{Player, config};
use crate::smtp_server::Config;

const FILES: [(&str, &str); 4] = [
    ("commands", include_str!("dialogues/commands.txt")),
    ("content", include_str!("dialogues/content.txt")),
    ("groups", include_str!("dialogues/groups.txt")),
    ("limits", include_str!("dialogues/limits.txt")),
];

#[derive(Default)]
struct Dialogue<'a> {
    title: &'a str,
    options: Vec<&'a str>,
    /// What is sent in one packet, and what follows.
    exchanges: Vec<(Vec<u8>, Vec<&'a str>)>,
}

fn dialogues(text: &str) -> Vec<Dialogue<'_>> {
    let mut found: Vec<Dialogue<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("//")) {
        if let Some(title) = line.strip_prefix("# ") {
            found.push(Dialogue { title, ..Dialogue::default() });
            continue;
        }
        let dialogue = found.last_mut().expect("a title first");
        let exchanges = &mut dialogue.exchanges;
        if let Some(options) = line.strip_prefix("with ") {
            dialogue.options = options.split(' ').collect();
        } else if let Some(sent) = sent(line) {
            if exchanges.last().is_none_or(|(_, events)| !events.is_empty()) {
                exchanges.push((Vec::new(), Vec::new()));
            }
            exchanges.last_mut().unwrap().0.extend(unescaped(&sent));
        } else {
            exchanges.last_mut().expect("something is sent first").1.push(line);
        }
    }
    found
}

/// What a line has the client send, with escapes.
fn sent(line: &str) -> Option<String> {
    let command =
        line.strip_prefix("C:").map(|rest| format!("{}\\r\\n", rest.strip_prefix(' ').unwrap_or(rest)));
    command.or_else(|| line.strip_prefix("R: ").map(str::to_owned))
}

/// `\r`, `\n`, `\0`, `\xNN`, and `\{N*text}` for N times the text.
fn unescaped(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let (escape, after) = rest[at + 1..].split_at(1);
        rest = after;
        match escape {
            "r" => out.push(b'\r'),
            "n" => out.push(b'\n'),
            "0" => out.push(0),
            "\\" => out.push(b'\\'),
            "x" => {
                out.push(u8::from_str_radix(&rest[..2], 16).unwrap());
                rest = &rest[2..];
            }
            "{" => {
                let (times, after) = rest.split_once('*').unwrap();
                let (repeated, after) = after.split_once('}').unwrap();
                out.extend(unescaped(repeated).repeat(times.parse().unwrap()));
                rest = after;
            }
            other => panic!("unknown escape {other}"),
        }
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

fn configured(options: &[&str]) -> Config {
    let mut config = config();
    config.limits.message_size = 1000;
    for option in options {
        let (name, value) = option.split_once('=').unwrap_or((option, "0"));
        let value: u32 = value.parse().unwrap();
        let limits = &mut config.limits;
        match name {
            "ehlo" | "tls" | "whole" | "silent" => {}
            "early" => config.refuse_early_talkers = false,
            "size" => limits.message_size = value as usize,
            "discarded" => limits.discarded = value as usize,
            "line" => limits.content_line = value as usize,
            "recipients" => limits.recipients = value as usize,
            "messages" => limits.messages = value,
            "commands" => limits.commands = value,
            "errors" => limits.errors = value,
            "unknown" => limits.unknown_commands = value,
            other => panic!("unknown option {other}"),
        }
    }
    config
}

fn play(dialogue: &Dialogue<'_>, most: usize) {
    let has = |option| dialogue.options.contains(&option);
    let mut player = Player::new(configured(&dialogue.options), has("tls"));
    if !has("silent") {
        player.play();
        assert_eq!(player.events, ["S: 220 mx.test ESMTP"]);
    }
    if has("ehlo") {
        player.send(b"EHLO client.test\r\n");
    }
    player.events.clear();
    for (sent, expected) in &dialogue.exchanges {
        for packet in sent.chunks(most) {
            player.send(packet);
        }
        let expected: Vec<_> = expected.iter().filter(|line| **line != "-").collect();
        let sent = sent.escape_ascii();
        assert_eq!(player.events.iter().collect::<Vec<_>>(), expected, "{}: after {sent}", dialogue.title);
        player.events.clear();
    }
}

#[test]
fn the_server_keeps_to_the_dialogues() {
    for (file, text) in FILES {
        let dialogues = dialogues(text);
        assert!(!dialogues.is_empty(), "{file}");
        for dialogue in &dialogues {
            assert!(!dialogue.exchanges.is_empty(), "{file}: {}", dialogue.title);
            play(dialogue, usize::MAX);
            if !dialogue.options.contains(&"whole") {
                for most in [1, 2, 3, 7] {
                    play(dialogue, most);
                }
            }
        }
    }
}

#[test]
fn every_dialogue_is_told_apart() {
    let mut titles: Vec<_> =
        FILES.iter().flat_map(|(_, text)| dialogues(text)).map(|one| one.title).collect();
    titles.sort_unstable();
    let count = titles.len();
    titles.dedup();
    assert_eq!(titles.len(), count);
}
