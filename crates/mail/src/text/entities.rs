//! Character references of HTML.

/// The longest name in [`NAMED`].
const LONGEST_NAME: usize = 7;

/// Decodes the reference that `text` begins with (`text` begins with `&`): the character, and the reference's length.
///
/// `None` when it is not one that we know; then the `&` stands for itself. The final `;` is required, so that the
/// parameters of an address (`?a=1&copy=2`) are left alone.
pub(super) fn decode(text: &str) -> Option<(char, usize)> {
    let inside = text.strip_prefix('&')?;
    let number = inside.strip_prefix('#');
    let limit = if number.is_some() { 10 } else { LONGEST_NAME + 1 };
    let end = inside.bytes().take(limit).position(|byte| byte == b';')?;
    let c = match number {
        Some(_) => numeric(&inside[1..end])?,
        None => NAMED[NAMED.binary_search_by_key(&&inside[..end], |(name, _)| name).ok()?].1,
    };
    Some((c, end + 2))
}

fn numeric(digits: &str) -> Option<char> {
    let code = match digits.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    // 128 to 159 are controls, but written by hand they mean Windows-1252, and browsers read them so.
    let code = match code {
        0x80..=0x9f => WINDOWS_1252[(code - 0x80) as usize],
        code => code,
    };
    Some(char::from_u32(code).filter(|c| *c != '\0').unwrap_or(char::REPLACEMENT_CHARACTER))
}

#[rustfmt::skip]
const WINDOWS_1252: [u32; 32] = [
    0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d, 0x8f,
    0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178,
];

/// Those that occur in mails: all of Latin-1, typography, arrows and a few symbols. Sorted by name, as bytes.
#[rustfmt::skip]
const NAMED: &[(&str, char)] = &[
    ("AElig", '\u{c6}'), ("Aacute", '\u{c1}'), ("Acirc", '\u{c2}'), ("Agrave", '\u{c0}'),
    ("Alpha", '\u{391}'), ("Aring", '\u{c5}'), ("Atilde", '\u{c3}'), ("Auml", '\u{c4}'),
    ("Beta", '\u{392}'), ("Ccedil", '\u{c7}'), ("Dagger", '\u{2021}'), ("Delta", '\u{394}'),
    ("ETH", '\u{d0}'), ("Eacute", '\u{c9}'), ("Ecirc", '\u{ca}'), ("Egrave", '\u{c8}'), ("Euml", '\u{cb}'),
    ("Gamma", '\u{393}'), ("Iacute", '\u{cd}'), ("Icirc", '\u{ce}'), ("Igrave", '\u{cc}'),
    ("Iuml", '\u{cf}'), ("Ntilde", '\u{d1}'), ("OElig", '\u{152}'), ("Oacute", '\u{d3}'),
    ("Ocirc", '\u{d4}'), ("Ograve", '\u{d2}'), ("Omega", '\u{3a9}'), ("Oslash", '\u{d8}'),
    ("Otilde", '\u{d5}'), ("Ouml", '\u{d6}'), ("Prime", '\u{2033}'), ("Scaron", '\u{160}'),
    ("THORN", '\u{de}'), ("Uacute", '\u{da}'), ("Ucirc", '\u{db}'), ("Ugrave", '\u{d9}'),
    ("Uuml", '\u{dc}'), ("Yacute", '\u{dd}'), ("Yuml", '\u{178}'), ("aacute", '\u{e1}'),
    ("acirc", '\u{e2}'), ("acute", '\u{b4}'), ("aelig", '\u{e6}'), ("agrave", '\u{e0}'),
    ("alpha", '\u{3b1}'), ("amp", '\u{26}'), ("apos", '\u{27}'), ("aring", '\u{e5}'), ("asymp", '\u{2248}'),
    ("atilde", '\u{e3}'), ("auml", '\u{e4}'), ("bdquo", '\u{201e}'), ("beta", '\u{3b2}'),
    ("brvbar", '\u{a6}'), ("bull", '\u{2022}'), ("ccedil", '\u{e7}'), ("cedil", '\u{b8}'),
    ("cent", '\u{a2}'), ("check", '\u{2713}'), ("circ", '\u{2c6}'), ("clubs", '\u{2663}'),
    ("copy", '\u{a9}'), ("curren", '\u{a4}'), ("dagger", '\u{2020}'), ("darr", '\u{2193}'),
    ("deg", '\u{b0}'), ("delta", '\u{3b4}'), ("diams", '\u{2666}'), ("divide", '\u{f7}'),
    ("eacute", '\u{e9}'), ("ecirc", '\u{ea}'), ("egrave", '\u{e8}'), ("emsp", '\u{2003}'),
    ("ensp", '\u{2002}'), ("epsilon", '\u{3b5}'), ("eth", '\u{f0}'), ("euml", '\u{eb}'),
    ("euro", '\u{20ac}'), ("fnof", '\u{192}'), ("frac12", '\u{bd}'), ("frac14", '\u{bc}'),
    ("frac34", '\u{be}'), ("frasl", '\u{2044}'), ("gamma", '\u{3b3}'), ("ge", '\u{2265}'), ("gt", '\u{3e}'),
    ("harr", '\u{2194}'), ("hearts", '\u{2665}'), ("hellip", '\u{2026}'), ("iacute", '\u{ed}'),
    ("icirc", '\u{ee}'), ("iexcl", '\u{a1}'), ("igrave", '\u{ec}'), ("infin", '\u{221e}'),
    ("iquest", '\u{bf}'), ("iuml", '\u{ef}'), ("lArr", '\u{21d0}'), ("lambda", '\u{3bb}'),
    ("laquo", '\u{ab}'), ("larr", '\u{2190}'), ("ldquo", '\u{201c}'), ("le", '\u{2264}'),
    ("loz", '\u{25ca}'), ("lrm", '\u{200e}'), ("lsaquo", '\u{2039}'), ("lsquo", '\u{2018}'),
    ("lt", '\u{3c}'), ("macr", '\u{af}'), ("mdash", '\u{2014}'), ("micro", '\u{b5}'), ("middot", '\u{b7}'),
    ("minus", '\u{2212}'), ("mu", '\u{3bc}'), ("nbsp", '\u{a0}'), ("ndash", '\u{2013}'), ("ne", '\u{2260}'),
    ("not", '\u{ac}'), ("ntilde", '\u{f1}'), ("oacute", '\u{f3}'), ("ocirc", '\u{f4}'),
    ("oelig", '\u{153}'), ("ograve", '\u{f2}'), ("oline", '\u{203e}'), ("omega", '\u{3c9}'),
    ("ordf", '\u{aa}'), ("ordm", '\u{ba}'), ("oslash", '\u{f8}'), ("otilde", '\u{f5}'), ("ouml", '\u{f6}'),
    ("para", '\u{b6}'), ("permil", '\u{2030}'), ("phone", '\u{260e}'), ("pi", '\u{3c0}'),
    ("plusmn", '\u{b1}'), ("pound", '\u{a3}'), ("prime", '\u{2032}'), ("quot", '\u{22}'),
    ("rArr", '\u{21d2}'), ("radic", '\u{221a}'), ("raquo", '\u{bb}'), ("rarr", '\u{2192}'),
    ("rdquo", '\u{201d}'), ("reg", '\u{ae}'), ("rlm", '\u{200f}'), ("rsaquo", '\u{203a}'),
    ("rsquo", '\u{2019}'), ("sbquo", '\u{201a}'), ("scaron", '\u{161}'), ("sect", '\u{a7}'),
    ("shy", '\u{ad}'), ("sigma", '\u{3c3}'), ("spades", '\u{2660}'), ("star", '\u{2606}'),
    ("sum", '\u{2211}'), ("sup1", '\u{b9}'), ("sup2", '\u{b2}'), ("sup3", '\u{b3}'), ("szlig", '\u{df}'),
    ("thinsp", '\u{2009}'), ("thorn", '\u{fe}'), ("tilde", '\u{2dc}'), ("times", '\u{d7}'),
    ("trade", '\u{2122}'), ("uacute", '\u{fa}'), ("uarr", '\u{2191}'), ("ucirc", '\u{fb}'),
    ("ugrave", '\u{f9}'), ("uml", '\u{a8}'), ("uuml", '\u{fc}'), ("yacute", '\u{fd}'), ("yen", '\u{a5}'),
    ("yuml", '\u{ff}'), ("zwj", '\u{200d}'), ("zwnj", '\u{200c}'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_no_name_is_longer_than_stated() {
        assert!(NAMED.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(NAMED.iter().map(|(name, _)| name.len()).max(), Some(LONGEST_NAME));
    }

    #[test]
    fn references_decode() {
        for (text, expected) in [
            ("&amp;x", Some(('&', 5))),
            ("&nbsp;", Some(('\u{a0}', 6))),
            ("&euro;", Some(('\u{20ac}', 6))),
            ("&#8364;", Some(('\u{20ac}', 7))),
            ("&#x20AC;", Some(('\u{20ac}', 8))),
            ("&#128;", Some(('\u{20ac}', 6))),
            ("&#0;", Some(('\u{fffd}', 4))),
            ("&#xD800;", Some(('\u{fffd}', 8))),
            ("&#99999999;", Some(('\u{fffd}', 11))),
            ("&#999999999999;", None),
            ("&#;", None),
            ("&#x;", None),
            ("&#-1;", None),
            ("&", None),
            ("&;", None),
            ("&copy=2", None),
            ("&unknown;", None),
            ("&\u{fc};", None),
        ] {
            assert_eq!(decode(text), expected, "{text}");
        }
    }
}
