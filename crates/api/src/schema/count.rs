//! How many values a body has, counted in the raw JSON.

/// Whether JSON consists of more than so many values, as far as it is JSON: there is a comma or an opening bracket
/// before each but the first.
pub(super) fn has_more_values(json: &[u8], most: usize) -> bool {
    // not even if every other byte were a comma
    if json.len() / 2 < most {
        return false;
    }
    let (mut values, mut at) = (0, 0);
    while let Some(&byte) = json.get(at) {
        at += 1;
        match byte {
            b',' | b'[' | b'{' => {
                values += 1;
                if values > most {
                    return true;
                }
            }
            b'"' => at += string(&json[at..]),
            _ => {}
        }
    }
    false
}

/// How long a string is, after its first quotation mark and with the last.
fn string(json: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match memchr::memchr2(b'"', b'\\', &json[at..]) {
            None => return json.len(),
            Some(found) if json[at + found] == b'"' => return at + found + 1,
            // what comes after a backslash ends nothing
            Some(found) => at = (at + found + 2).min(json.len()),
        }
    }
}
