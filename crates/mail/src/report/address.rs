//! Addresses, as reports and notices have them.

use mailwright_core::name::is_hidden;

/// The longest address that is kept; RFC 5321 section 4.5.3.1.3 allows 254 bytes, and some beyond ASCII are longer.
const MAX_ADDRESS: usize = 320;
/// The longest local part that is found in a text. That of VERP addresses may be longer than the 64 bytes of RFC 5321.
const MAX_LOCAL: usize = 128;
const MAX_DOMAIN: usize = 255;

/// An address after its type, as in `rfc822;ada@example.com` (RFC 3464 section 2.1.2). The type may be missing.
pub(super) fn typed(value: &str) -> Option<String> {
    let (kind, address) = value.split_once(';').unwrap_or(("", value));
    let is_kind =
        kind.trim().bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    let address = if is_kind { address } else { value };
    let address =
        if kind.trim().eq_ignore_ascii_case("utf-8") { unicode(address) } else { address.to_owned() };
    kept(bare(&address))
}

/// The same for an address that is in xtext (RFC 3461 section 4), which only some hosts decode.
pub(super) fn typed_xtext(value: &str) -> Option<String> {
    typed(value).map(|address| xtext(&address))
}

/// Decodes xtext. Only `+2B` and `+3D` are decoded: nothing else in an address has to be encoded, and
/// `ada+2024@example.com` is an address that does not want decoding.
pub(super) fn xtext(text: &str) -> String {
    let is_xtext = text.split('+').skip(1).all(|rest| rest.starts_with("2B") || rest.starts_with("3D"));
    if is_xtext { text.replace("+3D", "=").replace("+2B", "+") } else { text.to_owned() }
}

/// Decodes the escapes `\x{e9}` of an internationalised address (RFC 6533 section 3).
fn unicode(text: &str) -> String {
    let mut pieces = text.split("\\x{");
    let mut decoded = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let escape = piece.split_once('}').filter(|(hex, _)| hex.len() <= 6);
        let character =
            escape.and_then(|(hex, rest)| Some((char::from_u32(u32::from_str_radix(hex, 16).ok()?)?, rest)));
        if let Some((character, rest)) = character {
            decoded.push(character);
            decoded.push_str(rest);
        } else {
            decoded.push_str("\\x{");
            decoded.push_str(piece);
        }
    }
    decoded
}

/// An address without the angle brackets around it, or without the name before it.
fn bare(text: &str) -> &str {
    let text = text.trim();
    match text.rsplit_once('<') {
        Some((_, rest)) => rest.split('>').next().unwrap_or_default().trim(),
        None => text,
    }
}

/// What can be an address, or a local part alone.
fn kept(text: &str) -> Option<String> {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || is_hidden(c);
    let is_kept = !text.is_empty() && text.len() <= MAX_ADDRESS && !text.contains(is_odd);
    is_kept.then(|| text.to_owned())
}

/// The address of a field that holds one, such as `From` or `Return-Path`; none when that is `<>`.
pub(crate) fn first(field: &str) -> Option<String> {
    // what stands in angle brackets, since a name may hold an address too
    let bracketed = field.split('<').skip(1).find_map(|rest| found(rest.split('>').next()?).next());
    bracketed.or_else(|| found(field).next()).map(|found| found.address.to_owned())
}

/// An address in a text, and where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found<'a> {
    pub(super) at: usize,
    pub(super) address: &'a str,
}

impl Found<'_> {
    pub(super) fn end(&self) -> usize {
        self.at + self.address.len()
    }
}

/// The addresses in a text, in their order. Quoted local parts and address literals are not found.
pub(super) fn found(text: &str) -> impl Iterator<Item = Found<'_>> {
    let mut after = 0;
    memchr::memchr_iter(b'@', text.as_bytes()).filter_map(move |sign| {
        let bytes = text.as_bytes();
        let local = bytes[after.max(sign.saturating_sub(MAX_LOCAL))..sign].iter().rev();
        let local = local.take_while(|byte| is_local(**byte)).count();
        let domain = bytes[sign + 1..].iter().take(MAX_DOMAIN).take_while(|byte| is_domain(**byte)).count();
        let local = end_of_words(text.get(text.ceil_char_boundary(sign - local)..sign)?);
        let domain = begin_of_words(text.get(sign + 1..text.floor_char_boundary(sign + 1 + domain))?);
        if local.is_empty() || domain.is_empty() {
            return None;
        }
        let found =
            Found { at: sign - local.len(), address: &text[sign - local.len()..=sign + domain.len()] };
        after = found.end();
        Some(found)
    })
}

/// What of the letters before the sign belongs to an address: languages without spaces write other words before it, and
/// some systems what kind of address it is, as in `SMTP=ada@example.com`.
fn end_of_words(text: &str) -> &str {
    let is_ascii_last = text.ends_with(|c: char| c.is_ascii());
    let ends = |c: char| is_separator(c) || (is_ascii_last && is_of_east_asia(c));
    let local = text.rfind(ends).map_or(text, |at| {
        let width = text[at..].chars().next().map_or(0, char::len_utf8);
        &text[at + width..]
    });
    let kind = local.get(..5).filter(|kind| kind.eq_ignore_ascii_case("smtp="));
    kind.map_or(local, |kind| &local[kind.len()..]).trim_start_matches(['.', '\'', '-', '='])
}

/// What of the letters after the sign belongs to an address: not the end of a sentence, nor words that follow an ASCII
/// domain without a space.
fn begin_of_words(text: &str) -> &str {
    let end = text.find(is_separator).unwrap_or(text.len());
    let domain = &text[..end];
    let last = domain.rfind('.').map_or(0, |dot| dot + 1);
    let is_ascii_first = domain[last..].starts_with(|c: char| c.is_ascii());
    let cut = domain[last..].find(|c: char| is_ascii_first && is_of_east_asia(c));
    domain[..cut.map_or(domain.len(), |at| last + at)].trim_end_matches(['.', '-', '_'])
}

/// Beyond ASCII: what separates words, or is not seen.
fn is_separator(c: char) -> bool {
    !c.is_ascii() && (c.is_whitespace() || c.is_control() || is_hidden(c) || is_sign(c))
}

/// Quotation marks and other signs that stand around words in prose.
fn is_sign(c: char) -> bool {
    matches!(c, '\u{a1}'..='\u{bf}' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{303f}'
        | '\u{ff00}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{fffd}')
}

fn is_of_east_asia(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

fn is_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-_.='~%".contains(&byte) || !byte.is_ascii()
}

fn is_domain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._".contains(&byte) || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::{first, found, typed, typed_xtext, xtext};

    #[test]
    fn types_are_stripped() {
        for (value, address) in [
            ("rfc822;ada@example.com", Some("ada@example.com")),
            ("RFC822; <ada@example.com>", Some("ada@example.com")),
            ("ada@example.com", Some("ada@example.com")),
            ("X-LOCAL; ada", Some("ada")),
            ("system;|/usr/bin/procmail", Some("|/usr/bin/procmail")),
            ("utf-8; josé@example.com", Some("josé@example.com")),
            (r"utf-8; jos\x{E9}@ex\x{}ample.com", Some(r"josé@ex\x{}ample.com")),
            (r"utf-8; \x{110000}@a.example", Some(r"\x{110000}@a.example")),
            ("rfc822; Ada <ada@example.com>", Some("ada@example.com")),
            ("rfc822;", None),
            ("rfc822;<>", None),
            ("", None),
            ("rfc822; two words", None),
        ] {
            assert_eq!(typed(value).as_deref(), address, "{value}");
        }
        assert_eq!(typed("rfc822;a\u{202e}b@example.com"), None);
        assert_eq!(typed(&format!("rfc822;{}@example.com", "a".repeat(400))), None);
    }

    #[test]
    fn xtext_is_decoded_where_it_is_xtext() {
        for (text, decoded) in [
            ("ada+2Btag@example.com", "ada+tag@example.com"),
            ("a+3Db@example.com", "a=b@example.com"),
            ("a+2B3D@example.com", "a+3D@example.com"),
            ("ada+tag@example.com", "ada+tag@example.com"),
            ("ada+2024@example.com", "ada+2024@example.com"),
            ("ada+2Bx+tag@example.com", "ada+2Bx+tag@example.com"),
        ] {
            assert_eq!(xtext(text), decoded);
        }
        assert_eq!(typed_xtext("rfc822;ada+2Btag@example.com").as_deref(), Some("ada+tag@example.com"));
    }

    #[test]
    fn addresses_are_found_in_words() {
        for (text, addresses) in [
            ("to <ada@example.com>: no", &["ada@example.com"][..]),
            ("ada@example.com.", &["ada@example.com"]),
            (
                "'ada@example.com' and bob.b+x@mail.example.org,",
                &["ada@example.com", "bob.b+x@mail.example.org"],
            ),
            ("rfc822;ada@example.com", &["ada@example.com"]),
            ("mailto:ada@example.com", &["ada@example.com"]),
            (
                "宛先：taro@mail.example.jpは、受取人taro2@mail.example.jp",
                &["taro@mail.example.jp", "taro2@mail.example.jp"],
            ),
            ("山田@例え.jp 山田@例え", &["山田@例え.jp", "山田@例え"]),
            ("„ada@example.com“ «bob@example.com»", &["ada@example.com", "bob@example.com"]),
            ("dda:SMTP=ada@example.com;", &["ada@example.com"]),
            ("a\u{202e}b@example.com\u{a0}x", &["b@example.com"]),
            ("josé@exämple.com sagt", &["josé@exämple.com"]),
            ("a@b@c.example", &["a@b"]),
            ("@example.com and ada@ and @", &[]),
            ("", &[]),
        ] {
            let all: Vec<_> = found(text).map(|found| found.address).collect();
            assert_eq!(all, addresses, "{text}");
            assert!(found(text).all(|found| text[found.at..].starts_with(found.address)));
        }
        assert_eq!(first("\"x@y.example\" <ada@example.com>").as_deref(), Some("ada@example.com"));
        assert_eq!(first("ada@example.com (Ada)").as_deref(), Some("ada@example.com"));
        assert_eq!(first("<>"), None);
    }
}
