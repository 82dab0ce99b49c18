//! Small and large letters as one.

use std::sync::LazyLock;

/// Where letters have a small and a large form, within the first plane of Unicode. Texts in Chinese and Japanese lie
/// between these ranges.
const CASED: [(u32, u32); 3] = [(0x80, 0x2e80), (0xa640, 0xac00), (0xfb00, 0xffff)];

/// The forms of the characters in these ranges. Looking them up in Unicode's tables takes several times as long.
static FOLDED: LazyLock<Vec<[char; 3]>> = LazyLock::new(|| {
    let numbers = CASED.into_iter().flat_map(|(from, to)| from..to);
    numbers.map(|number| char::from_u32(number).map_or(['\0'; 3], folded)).collect()
});

/// Small, large, small: some letters have no large form, and of some it is two letters. What remains of the three is NUL.
fn folded(c: char) -> [char; 3] {
    let mut folded = ['\0'; 3];
    let letters = c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    for (place, letter) in folded.iter_mut().zip(letters) {
        *place = letter;
    }
    folded
}

/// Appends a text, in one form for all its forms in small and large letters, while `into` is shorter than `max`. White
/// space that is not ASCII becomes a space.
pub(super) fn fold(text: &str, into: &mut String, max: usize) {
    for c in text.chars() {
        if into.len() >= max {
            return;
        }
        match c {
            '\0'..='\x7f' => into.push(c.to_ascii_lowercase()),
            c if c.is_whitespace() || c.is_control() => into.push(' '),
            '\u{2018}' | '\u{2019}' | '\u{b4}' => into.push('\''),
            // no rule has any, and looking at their case would take too long
            '\u{10000}'.. => into.push(char::REPLACEMENT_CHARACTER),
            c => match place(c) {
                Some(place) => into.extend(FOLDED[place].into_iter().take_while(|letter| *letter != '\0')),
                None => into.push(c),
            },
        }
    }
}

fn place(c: char) -> Option<usize> {
    let number = u32::from(c);
    let mut before = 0;
    for (from, to) in CASED {
        if (from..to).contains(&number) {
            return Some((before + number - from) as usize);
        }
        before += to - from;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(word: &str) -> String {
        let mut into = String::new();
        fold(word, &mut into, usize::MAX);
        into
    }

    #[test]
    fn every_character_is_the_same_in_small_and_large_letters() {
        for c in (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| *c != '\0') {
            let word = c.to_string();
            assert_eq!(of(&word.to_uppercase()), of(&word), "{c} {:x}", u32::from(c));
            assert_eq!(of(&word.to_lowercase()), of(&word), "{c} {:x}", u32::from(c));
        }
        assert_eq!(of("GRÖSSE Größe\u{a0}用户 Ж’"), "grösse grösse 用户 ж'");
    }
}
