//! What holds for all sessions: limits, and that packets change nothing.

use proptest::prelude::*;

use super::player::{Player, config};
use crate::smtp_server::{Config, Session};

/// Small limits, so that sessions come to them.
fn small() -> Config {
    let mut config = config();
    config.limits.message_size = 300;
    config.limits.discarded = 300;
    config.limits.content_line = 60;
    config.limits.recipients = 3;
    config.limits.messages = 4;
    config.limits.commands = 60;
    config.limits.errors = 8;
    config
}

/// What clients say, well and badly. The first three end a group.
const SAYINGS: [&[u8]; 40] = [
    b"DATA\r\n",
    b"data\r\n",
    b"STARTTLS\r\n",
    b"EHLO client.test\r\n",
    b"HELO [192.0.2.9]\r\n",
    b"EHLO\r\n",
    b"MAIL FROM:<a@example.com>\r\n",
    b"MAIL FROM:<a@example.com>\r\n",
    b"MAIL FROM:<> SIZE=300 BODY=8BITMIME\r\n",
    b"mail from: <\xc3\xa4@example.com> SMTPUTF8\r\n",
    b"MAIL FROM:<a@example.com> SIZE=301\r\n",
    b"MAIL FROM:<a@example.com> X\r\n",
    b"RCPT TO:<b@example.net>\r\n",
    b"RCPT TO:<b@example.net>\r\n",
    b"RCPT TO:<@x:c@example.net>\r\n",
    b"RCPT TO:<\"d d\"@example.net>\r\n",
    b"RCPT TO:<unknown@example.net>\r\n",
    b"RCPT TO:<later@example.net>\r\n",
    b"RCPT TO:<gone@example.net>\r\n",
    b"RCPT TO:<\xc3\xa4@example.net>\r\n",
    b"RSET\r\n",
    b"NOOP\r\n",
    b"HELP\r\n",
    b"VRFY x\r\n",
    b"QUIT\r\n",
    b"FOO\r\n",
    b"BDAT 3\r\n",
    b"text\r\n",
    b"refuse\r\n",
    b"later\r\n",
    b"a line of some length, more than others\r\n",
    b"\r\n",
    b"..\r\n",
    b".\r\n",
    b".\r\n",
    b".x",
    b"\xff\x01",
    b"\n",
    b"\r",
    b"\0",
];

/// How many of [`SAYINGS`] end a group.
const ENDS: usize = 3;
/// How many of them, at the end, end most sessions.
const FATAL: usize = 3;

/// The packets of sayings: a group ends where the client has to wait.
fn groups(sayings: &[usize]) -> Vec<Vec<u8>> {
    let mut groups = vec![Vec::new()];
    for saying in sayings {
        groups.last_mut().unwrap().extend_from_slice(SAYINGS[*saying]);
        if *saying < ENDS {
            groups.push(Vec::new());
        }
    }
    groups
}

/// Plays groups, each cut into packets by `cut`, which gets the length of the rest and says that of a packet.
fn play(config: Config, groups: &[Vec<u8>], mut cut: impl FnMut(usize) -> usize) -> Player {
    let most = size_of::<Session>() + config.limits.message_size + 8 * 1024;
    let mut player = Player::new(config, true);
    player.play();
    for group in groups {
        let mut rest = &group[..];
        while !rest.is_empty() && !player.is_closed() {
            let (packet, after) = rest.split_at(cut(rest.len()).clamp(1, rest.len()));
            player.send(packet);
            rest = after;
            assert!(player.session.memory() <= most + packet.len(), "{} bytes", player.session.memory());
        }
    }
    check(&player);
    player
}

fn check(player: &Player) {
    for (envelope, content) in &player.messages {
        assert!(!envelope.recipients.is_empty() && envelope.recipients.len() <= 3);
        assert!(content.len() <= 300);
        assert!(content.is_empty() || content.ends_with(b"\r\n"));
        assert!(content.split(|byte| *byte == b'\n').all(|line| line.len() <= 61));
        let ends = content.windows(2).filter(|pair| pair == b"\r\n").count();
        let bare = content.iter().filter(|byte| b"\r\n\0".contains(byte)).count();
        assert_eq!(bare, 2 * ends, "{}", content.escape_ascii());
    }
    assert!(player.messages.len() <= 4);
    let ends = player.events.iter().filter(|event| event.starts_with("X:")).count();
    assert_eq!(ends, usize::from(player.is_closed()));
}

proptest! {
    #[test]
    fn any_bytes_are_borne(packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..6)) {
        play(small(), &packets, |length| length);
    }

    #[test]
    fn packets_change_nothing(
        sayings in prop::collection::vec(0..SAYINGS.len(), 0..40),
        cuts in prop::collection::vec(1usize..50, 1..20),
    ) {
        let groups = groups(&sayings);
        let whole = play(small(), &groups, |length| length);
        let mut cuts = cuts.iter().cycle();
        let pieced = play(small(), &groups, |_| *cuts.next().unwrap());
        prop_assert_eq!(&whole.events, &pieced.events);
        let single = play(small(), &groups, |_| 1);
        prop_assert_eq!(&whole.events, &single.events);
    }

    #[test]
    fn a_message_is_what_was_sent(
        lines in prop::collection::vec("[.a\u{e4}\u{1}]{0,8}", 0..20),
        cuts in prop::collection::vec(1usize..20, 1..8),
    ) {
        let content = lines.iter().flat_map(|line| [line, "\r\n"]).collect::<String>();
        let stuffed = lines.iter().map(|line| {
            if line.starts_with('.') { format!(".{line}\r\n") } else { format!("{line}\r\n") }
        });
        let sent: String = stuffed.chain([".\r\n".to_owned()]).collect();
        let groups = [
            b"EHLO client.test\r\nMAIL FROM:<>\r\nRCPT TO:<b@example.net>\r\nDATA\r\n".to_vec(),
            sent.into_bytes(),
        ];
        let mut cuts = cuts.iter().cycle();
        let player = play(small(), &groups, |_| *cuts.next().unwrap());
        prop_assert_eq!(player.messages.len(), 1);
        prop_assert_eq!(&player.messages[0].1, content.as_bytes());
    }
}

/// A generator of numbers (splitmix64), the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    /// Mostly what leads to messages, sometimes anything.
    fn sayings(&mut self) -> Vec<usize> {
        let mut sayings = vec![3];
        for _ in 0..self.below(6) {
            if self.below(3) > 0 {
                sayings.extend([6 + self.below(4), 12 + self.below(4), self.below(2)]);
                sayings.extend((0..self.below(8)).map(|_| 27 + self.below(6)));
                sayings.push(33);
            }
            let known = if self.below(4) == 0 { SAYINGS.len() } else { SAYINGS.len() - FATAL };
            sayings.extend((0..self.below(4)).map(|_| self.below(known)));
        }
        sayings
    }
}

/// The number of sessions: `MAILWRIGHT_TEST_LARGE` asks for a million.
fn sessions() -> u64 {
    let large = std::env::var_os("MAILWRIGHT_TEST_LARGE").is_some_and(|set| !set.is_empty());
    if large { 1_000_000 } else { 20_000 }
}

#[test]
fn random_sessions_stay_within_the_limits() {
    let (mut messages, mut closed) = (0, 0);
    for session in 0..sessions() {
        let mut numbers = Numbers(session);
        let mut groups = groups(&numbers.sayings());
        // some of them with a byte that is wrong
        if numbers.below(4) == 0 {
            let group = numbers.below(groups.len());
            if !groups[group].is_empty() {
                let at = numbers.below(groups[group].len());
                groups[group][at] = numbers.below(256) as u8;
            }
        }
        let most = [1, 10, 1000][numbers.below(3)];
        let player = play(small(), &groups, |_| 1 + numbers.below(most));
        messages += player.messages.len() as u64;
        closed += u64::from(player.is_closed());
    }
    // they are worth something only when many get far
    assert!(messages > sessions() / 2, "{messages} messages");
    assert!(closed > sessions() / 10 && closed < sessions() * 9 / 10, "{closed} closed");
}

#[test]
fn a_session_that_waits_is_small() {
    let mut player = Player::new(config(), true);
    let limits = |player: &Player| assert!(player.session.memory() < 1024, "{}", player.session.memory());
    player.play();
    limits(&player);
    player.send(b"EHLO client.test\r\nMAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.net>\r\n");
    limits(&player);
    player.send(b"DATA\r\n");
    player.send(&b"a line\r\n".repeat(1000));
    player.send(b".\r\n");
    limits(&player);
    assert_eq!(player.messages[0].1.len(), 8000);
}
