//! Which names belong to one registered domain, and which look like another one.
//!
//! A domain is registered right below a public suffix (publicsuffix.org), such as `example.co.uk`. Two of them look alike
//! when people read the same: letters of other alphabets, digits for letters, and `rn` for `m`; or when a long name differs
//! by one mistake of the hand. Only domains below the same suffix are compared so: firms often have one name below several.

use mailwright_core::address::DomainName;
use psl::Type;

/// Fewest letters of a name that is compared up to one mistake: short ones differ by no more as it is.
const LONG: usize = 6;

/// Letters, and what people read as them: Latin with marks, Cyrillic, Greek, digits.
const ALIKE: [(char, &str); 24] = [
    ('a', "аαàáâãäåāăąạ"),
    ('b', "ьƅ"),
    ('c', "сϲçćĉċč"),
    ('d', "ԁďđ"),
    ('e', "еєёεèéêëēĕėęěẹ"),
    ('g', "ɡĝğġģ"),
    ('h', "һĥħ"),
    ('j', "јĵ"),
    ('k', "кκķ"),
    // lower case i, digit 1 and l are one letter here
    ('l', "1iіїıìíîïĩīĭįǐιӏĺļľł"),
    ('m', "м"),
    ('n', "ոηñńņň"),
    ('o', "0оοσòóôõöøōŏőơọ"),
    ('p', "рρ"),
    ('q', "ԛ"),
    ('r', "гŕŗř"),
    ('s', "ѕśŝşšș"),
    ('t', "тτţťŧț"),
    ('u', "υùúûüũūŭůűų"),
    ('v', "ѵν"),
    ('w', "ԝωŵ"),
    ('x', "хχ"),
    ('y', "уγýÿŷ"),
    ('z', "źżž"),
];

/// Whether everybody may register names right below a name, as below `co.uk`. Names below which an owner lets others have
/// theirs, such as `github.io`, are no such suffix: the owner controls them.
pub fn is_public_suffix(name: &DomainName) -> bool {
    psl::suffix(name.as_str().as_bytes())
        .is_some_and(|suffix| suffix.typ() == Some(Type::Icann) && suffix == name.as_str())
}

/// Whether the names right below a name are others' own: it is a public suffix, or a private one such as `github.io`.
pub fn is_shared_suffix(name: &DomainName) -> bool {
    psl::suffix_str(name.as_str()) == Some(name.as_str())
}

/// A registered domain, as it is compared with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likeness {
    registered: String,
    /// What people read of its first label, and of the rest.
    label: String,
    suffix: String,
}

impl Likeness {
    /// That of the registered domain that a name belongs to.
    pub fn of(name: &DomainName) -> Self {
        let registered = psl::domain_str(name.as_str()).unwrap_or(name.as_str());
        let below = name.as_str().split('.').count() - registered.split('.').count();
        let read = skeleton(&name.unicode());
        let read = read.splitn(below + 1, '.').last().unwrap_or_default();
        let (label, suffix) = read.split_once('.').unwrap_or((read, ""));
        Self { registered: registered.to_owned(), label: label.to_owned(), suffix: suffix.to_owned() }
    }

    /// Whether they are of different registered domains that look alike.
    pub fn looks_like(&self, other: &Self) -> bool {
        self.registered != other.registered
            && self.suffix == other.suffix
            && (self.label == other.label || is_one_mistake(&self.label, &other.label))
    }
}

/// A name with one letter for all that look like it.
fn skeleton(name: &str) -> String {
    let letters: String = name.chars().map(letter).collect();
    letters.replace("rn", "m").replace("vv", "w")
}

fn letter(c: char) -> char {
    match c {
        // most names have nothing else
        '0' => 'o',
        '1' | 'i' => 'l',
        c if c.is_ascii() => c,
        c => ALIKE.iter().find(|(_, alike)| alike.contains(c)).map_or(c, |(letter, _)| *letter),
    }
}

/// Whether two long labels differ by one letter that is more, less or another one, or by two that changed places.
fn is_one_mistake(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let (short, long) = if one.len() <= other.len() { (&one, &other) } else { (&other, &one) };
    if short.len() < LONG {
        return false;
    }
    let same = short.iter().zip(long.iter()).take_while(|(a, b)| a == b).count();
    match (&short[same..], &long[same..]) {
        ([], rest) => rest.len() <= 1,
        (rest, [_, longer @ ..]) if rest == longer => true,
        ([_, rest @ ..], [_, other @ ..]) if rest == other => true,
        ([a, b, rest @ ..], [c, d, other @ ..]) => (a, b) == (d, c) && rest == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }

    fn is_near(one: &str, other: &str) -> bool {
        let (one, other) = (Likeness::of(&name(one)), Likeness::of(&name(other)));
        assert_eq!(one.looks_like(&other), other.looks_like(&one));
        one.looks_like(&other)
    }

    #[test]
    fn suffixes_that_everybody_registers_below_are_known() {
        for (text, is_suffix) in [
            ("co.uk", true),
            ("com.br", true),
            ("example.co.uk", false),
            ("example.com", false),
            ("github.io", false),
            ("shop.example", false),
        ] {
            assert_eq!(is_public_suffix(&name(text)), is_suffix, "{text}");
        }
    }

    #[test]
    fn suffixes_below_which_names_are_others_own_are_known() {
        for (text, is_suffix) in [
            ("co.uk", true),
            ("github.io", true),
            ("s3.amazonaws.com", true),
            ("shop.github.io", false),
            ("amazonaws.com", false),
            ("example.com", false),
            ("shop.example", false),
        ] {
            assert_eq!(is_shared_suffix(&name(text)), is_suffix, "{text}");
        }
    }

    #[test]
    fn names_that_look_like_a_registered_domain_are_near() {
        for other in [
            "r0ckets.co.uk",
            "mail.r0ckets.co.uk",
            "rоckets.co.uk",
            "rôckets.co.uk",
            "rocket.co.uk",
            "rocketss.co.uk",
            "rokcets.co.uk",
            "rackets.co.uk",
            "xrockets.co.uk",
        ] {
            assert!(is_near(other, "a.b.rockets.co.uk"), "{other}");
        }
        for other in [
            "co.uk",
            "news.rockets.co.uk",
            "other.co.uk",
            "rockets.com",
            "rockets.org.uk",
            "rocketships.co.uk",
            "rock.co.uk",
            "rokcest.co.uk",
            "rockets.example.co.uk",
        ] {
            assert!(!is_near(other, "rockets.co.uk"), "{other}");
        }
    }

    #[test]
    fn what_people_read_is_compared() {
        for (one, other) in [
            ("paypa1.com", "paypal.com"),
            ("paypai.com", "paypal.com"),
            ("аррӏе.com", "apple.com"),
            ("modem.com", "modern.com"),
            ("vvatch.com", "watch.com"),
            ("γουτυβε.com", "youtuβe.com"),
        ] {
            assert_eq!(Likeness::of(&name(one)).label, Likeness::of(&name(other)).label, "{one}, {other}");
        }
    }

    #[test]
    fn short_names_are_not_compared_up_to_a_mistake() {
        assert!(!is_near("shops.com", "shop.com"));
        assert!(!is_near("apples.com", "apple.com"), "the shorter one has five letters");
        assert!(is_near("applets.com", "apples.com"));
    }

    #[test]
    fn every_letter_is_there_once() {
        let all: Vec<char> =
            ALIKE.iter().flat_map(|(letter, alike)| alike.chars().chain([*letter])).collect();
        for c in &all {
            assert_eq!(all.iter().filter(|other| *other == c).count(), 1, "{c}");
        }
        for (same, alike) in ALIKE {
            assert!(alike.chars().all(|c| letter(c) == same), "{same}");
        }
    }
}
