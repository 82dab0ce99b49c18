//! Colour profiles (ICC.1:2022): what a screen needs of a small one is written anew, all else is left out.
//!
//! A profile of three primaries and their curves (or of one curve, for gray) is all that pictures for screens have:
//! sRGB, Display P3, Adobe RGB. Its texts, its maker, its date and any other part could hold anything, so they are
//! replaced. Curves have to rise, which text does not.

use crate::bytes::Bytes;

/// Bytes of a profile that is read. Those of printers are larger; mail programs do not need them.
pub(crate) const MAX_PROFILE: usize = 16_384;

/// Tags of a profile.
const MAX_TAGS: u32 = 64;

/// Steps of a curve. sRGB profiles have 1,024.
const MAX_STEPS: u32 = 1_024;

const HEADER: usize = 128;

/// The colours of the picture that a profile is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Rgb,
    Gray,
}

const RGB_TAGS: &[[u8; 4]] = &[*b"wtpt", *b"rXYZ", *b"gXYZ", *b"bXYZ", *b"rTRC", *b"gTRC", *b"bTRC"];
const GRAY_TAGS: &[[u8; 4]] = &[*b"wtpt", *b"kTRC"];

/// The profile as it is kept; nothing if it is not valid, not small or of another kind.
pub(crate) fn rebuilt(profile: &[u8], space: Space) -> Option<Vec<u8>> {
    if profile.len() > MAX_PROFILE {
        return None;
    }
    let header = profile.get(..HEADER)?;
    let (space_name, needed) = match space {
        Space::Rgb => (*b"RGB ", RGB_TAGS),
        Space::Gray => (*b"GRAY", GRAY_TAGS),
    };
    let is = |at: usize, name: &[u8]| header.get(at..at + name.len()) == Some(name);
    let version @ (2 | 4) = *header.get(8)? else { return None };
    if !is(12, b"mntr") || !is(16, &space_name) || !is(20, b"XYZ ") || !is(36, b"acsp") {
        return None;
    }
    let mut tags = vec![(*b"desc", text(version, space_name)), (*b"cprt", copyright(version))];
    for name in needed {
        tags.push((*name, kept(*name, find(profile, *name)?)?));
    }
    // how white was adapted: not in every profile
    if let Some(adaption) = find(profile, *b"chad").and_then(|tag| numbers(tag, *b"sf32", 9)) {
        tags.push((*b"chad", adaption));
    }
    let intent = *header.get(67)? & 3;
    Some(assemble(version, space_name, intent, &tags))
}

fn find(profile: &[u8], name: [u8; 4]) -> Option<&[u8]> {
    let mut bytes = Bytes::new(profile.get(HEADER..)?);
    let count = bytes.u32_be()?;
    if count > MAX_TAGS {
        return None;
    }
    for _ in 0..count {
        let (tag, start, length) = (bytes.array::<4>()?, bytes.u32_be()? as usize, bytes.u32_be()? as usize);
        if tag == name {
            return profile.get(start..start.checked_add(length)?);
        }
    }
    None
}

fn kept(name: [u8; 4], tag: &[u8]) -> Option<Vec<u8>> {
    match name {
        [_, b'T', b'R', b'C'] => curve(tag),
        _ => numbers(tag, *b"XYZ ", 3),
    }
}

/// A tag of this type with so many numbers of 32 bits.
fn numbers(tag: &[u8], kind: [u8; 4], count: usize) -> Option<Vec<u8>> {
    let mut bytes = Bytes::new(tag);
    if bytes.array::<4>()? != kind {
        return None;
    }
    bytes.take(4)?;
    let mut kept = kind.to_vec();
    kept.extend_from_slice(&[0; 4]);
    kept.extend_from_slice(bytes.take(4 * count)?);
    Some(kept)
}

fn curve(tag: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Bytes::new(tag);
    let kind = bytes.array::<4>()?;
    bytes.take(4)?;
    let mut kept = kind.to_vec();
    kept.extend_from_slice(&[0; 4]);
    match &kind {
        b"curv" => {
            let count = bytes.u32_be()?;
            let values = bytes.take(2 * count.min(MAX_STEPS) as usize)?;
            let (steps, _) = values.as_chunks::<2>();
            if count > MAX_STEPS || !steps.is_sorted_by_key(|step| u16::from_be_bytes(*step)) {
                return None;
            }
            kept.extend_from_slice(&count.to_be_bytes());
            kept.extend_from_slice(values);
        }
        b"para" => {
            let function = bytes.u16_be()?;
            bytes.take(2)?;
            let parameters = *[1, 3, 4, 5, 7].get(usize::from(function))?;
            kept.extend_from_slice(&function.to_be_bytes());
            kept.extend_from_slice(&[0; 2]);
            kept.extend_from_slice(bytes.take(4 * parameters)?);
        }
        _ => return None,
    }
    Some(kept)
}

/// The name of a profile: every one has to have one.
fn text(version: u8, name: [u8; 4]) -> Vec<u8> {
    if version == 4 {
        return localized(name);
    }
    let mut tag = b"desc\0\0\0\0\0\0\0\x05".to_vec();
    tag.extend_from_slice(&name);
    // the end of the text, and empty texts in Unicode and in the code of old Macintoshes
    tag.extend_from_slice(&[0; 1 + 8 + 3 + 67]);
    tag
}

fn copyright(version: u8) -> Vec<u8> {
    if version == 4 { localized(*b"none") } else { b"text\0\0\0\0none\0".to_vec() }
}

fn localized(text: [u8; 4]) -> Vec<u8> {
    let mut tag = b"mluc\0\0\0\0\0\0\0\x01\0\0\0\x0cenUS\0\0\0\x08\0\0\0\x1c".to_vec();
    for letter in text {
        tag.extend_from_slice(&[0, letter]);
    }
    tag
}

fn assemble(version: u8, space: [u8; 4], intent: u8, tags: &[([u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut table = (tags.len() as u32).to_be_bytes().to_vec();
    let start = HEADER + 4 + 12 * tags.len();
    let mut data: Vec<u8> = Vec::new();
    let mut places: Vec<(&[u8], usize)> = Vec::new();
    for (name, tag) in tags {
        // the three curves are often the same one
        let known = places.iter().find(|(other, _)| *other == tag.as_slice()).map(|(_, place)| *place);
        let place = known.unwrap_or_else(|| {
            data.resize(data.len().next_multiple_of(4), 0);
            let place = start + data.len();
            data.extend_from_slice(tag);
            places.push((tag, place));
            place
        });
        table.extend_from_slice(name);
        table.extend_from_slice(&(place as u32).to_be_bytes());
        table.extend_from_slice(&(tag.len() as u32).to_be_bytes());
    }
    data.resize(data.len().next_multiple_of(4), 0);
    let mut profile = header((start + data.len()) as u32, version, space, intent);
    profile.extend_from_slice(&table);
    profile.extend_from_slice(&data);
    profile
}

fn header(length: u32, version: u8, space: [u8; 4], intent: u8) -> Vec<u8> {
    let mut header = length.to_be_bytes().to_vec();
    header.extend_from_slice(&[0, 0, 0, 0, version, 0, 0, 0]);
    header.extend_from_slice(b"mntr");
    header.extend_from_slice(&space);
    header.extend_from_slice(b"XYZ ");
    // a date has to be there: the first day of 2000
    header.extend_from_slice(&[7, 0xd0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0]);
    header.extend_from_slice(b"acsp");
    header.resize(64, 0);
    header.extend_from_slice(&[0, 0, 0, intent]);
    // the white of D50
    header.extend_from_slice(&[0, 0, 0xf6, 0xd6, 0, 1, 0, 0, 0, 0, 0xd3, 0x2d]);
    header.resize(HEADER, 0);
    header
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A profile of version 2 like those of cameras, with texts and a part that nobody knows.
    pub(crate) fn profile_with(payload: &[u8]) -> Vec<u8> {
        let xyz = |value: u8| [&b"XYZ \0\0\0\0"[..], &[0, 0, value, 0].repeat(3)].concat();
        let gamma = b"curv\0\0\0\0\0\0\0\x01\x02\x33\0\0".to_vec();
        let tags = vec![
            (*b"desc", [b"desc\0\0\0\0", payload].concat()),
            (*b"wtpt", xyz(1)),
            (*b"rXYZ", xyz(2)),
            (*b"gXYZ", xyz(3)),
            (*b"bXYZ", xyz(4)),
            (*b"rTRC", gamma.clone()),
            (*b"gTRC", gamma.clone()),
            (*b"bTRC", gamma),
            (*b"evil", payload.to_vec()),
        ];
        assemble(2, *b"RGB ", 0, &tags)
    }

    #[test]
    fn the_colours_stay_and_the_rest_goes() {
        let payload = b"<script>alert(1)</script>";
        let profile = profile_with(payload);
        let kept = rebuilt(&profile, Space::Rgb).unwrap();
        assert!(!kept.windows(payload.len()).any(|window| window == payload));
        assert_eq!(find(&kept, *b"gXYZ"), find(&profile, *b"gXYZ"));
        assert_eq!(find(&kept, *b"bTRC").unwrap(), &find(&profile, *b"bTRC").unwrap()[..14]);
        assert_eq!(rebuilt(&kept, Space::Rgb).as_ref(), Some(&kept), "what was kept is kept");
        assert_eq!(kept.len(), u32::from_be_bytes(kept[..4].try_into().unwrap()) as usize);
        assert_eq!(rebuilt(&profile, Space::Gray), None);
        for length in 0..profile.len() {
            let _ = rebuilt(&profile[..length], Space::Rgb);
        }
    }

    #[test]
    fn a_curve_that_falls_is_no_curve() {
        let curve_of = |steps: &[u8]| {
            let count = (steps.len() / 2) as u32;
            curve(&[&b"curv\0\0\0\0"[..], &count.to_be_bytes(), steps].concat())
        };
        assert!(curve_of(&[0, 0, 1, 0, 1, 0, 2, 0]).is_some());
        assert!(curve_of(b"<script>alert(1)").is_none());
    }
}
