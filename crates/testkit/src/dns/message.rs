//! Questions and answers as they are on the wire.

pub(super) const A: u16 = 1;
pub(super) const NS: u16 = 2;
pub(super) const PTR: u16 = 12;
pub(super) const CNAME: u16 = 5;
pub(super) const SOA: u16 = 6;
pub(super) const MX: u16 = 15;
pub(super) const TXT: u16 = 16;
pub(super) const AAAA: u16 = 28;
pub(super) const TLSA: u16 = 52;
const OPT: u16 = 41;

pub(super) const NO_ERROR: u8 = 0;
pub(super) const SERVFAIL: u8 = 2;
pub(super) const NXDOMAIN: u8 = 3;

/// A question as it came.
pub(super) struct Query {
    id: [u8; 2],
    recursion_desired: bool,
    /// The bit AD: it is to be said whether DNSSEC proves the answer (RFC 6840 section 5.7).
    pub(super) asks_for_proof: bool,
    /// The question section, repeated in the answer as it came.
    question: Vec<u8>,
    pub(super) name: String,
    pub(super) kind: u16,
    /// How large an answer over UDP may be.
    pub(super) udp_size: usize,
}

impl Query {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..12)?;
        let is_query = header[2] & 0x80 == 0;
        if !is_query || header[4..6] != [0, 1] {
            return None;
        }
        let mut at = 12;
        let mut labels = Vec::new();
        loop {
            let length = usize::from(*bytes.get(at)?);
            at += 1;
            if length == 0 {
                break;
            }
            labels.push(String::from_utf8_lossy(bytes.get(at..at + length)?).to_ascii_lowercase());
            at += length;
        }
        let kind = u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?);
        let end = at + 4;
        let question = bytes.get(12..end)?.to_vec();
        // With EDNS the first additional record is OPT: a root name, its type, and the size in place of a class.
        let mut udp_size = 512;
        if header[10..12] != [0, 0] && bytes.get(end) == Some(&0) {
            let field = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
            if field(end + 1) == Some(OPT) {
                udp_size = field(end + 3).map_or(512, |size| usize::from(size.max(512)));
            }
        }
        Some(Self {
            id: [header[0], header[1]],
            recursion_desired: header[2] & 1 != 0,
            asks_for_proof: header[3] & 0x20 != 0,
            question,
            name: labels.join("."),
            kind,
            udp_size,
        })
    }

    /// The header and the question of an answer, which is to be followed by its records.
    pub(super) fn head(&self, code: u8, answers: u16, truncated: bool) -> Vec<u8> {
        let mut bytes = self.id.to_vec();
        // QR and AA; RA, because clients ask for recursion.
        bytes.push(0x84 | u8::from(truncated) << 1 | u8::from(self.recursion_desired));
        bytes.push(0x80 | code);
        bytes.extend(1_u16.to_be_bytes());
        bytes.extend(answers.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(&self.question);
        bytes
    }
}

/// Says in an answer that DNSSEC proves it (the bit AD).
pub(super) fn prove(answer: &mut [u8]) {
    answer[3] |= 0x20;
}

/// Adds a record to the authority section of an answer that has none in it so far.
pub(super) fn add_authority(answer: &mut Vec<u8>, record: &[u8]) {
    answer[8..10].copy_from_slice(&1_u16.to_be_bytes());
    answer.extend(record);
}

/// The SOA record of a zone by which an answer without records may be kept for so many seconds.
pub(super) fn authority(zone: &str, seconds: u32) -> Vec<u8> {
    let mut data = [labels(zone), labels(zone)].concat();
    for number in [1, 3600, 600, 86400, seconds] {
        data.extend(u32::to_be_bytes(number));
    }
    record(zone, SOA, &data, seconds)
}

/// A record that may be kept for so many seconds.
pub(super) fn record(name: &str, kind: u16, data: &[u8], seconds: u32) -> Vec<u8> {
    let mut bytes = labels(name);
    bytes.extend(kind.to_be_bytes());
    bytes.extend(1_u16.to_be_bytes());
    bytes.extend(seconds.to_be_bytes());
    bytes.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
    bytes.extend(data);
    bytes
}

pub(super) fn key(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

pub(super) fn labels(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.trim_end_matches('.').split('.').filter(|label| !label.is_empty()) {
        bytes.push(u8::try_from(label.len()).unwrap());
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes
}

pub(super) fn strings(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in text.as_bytes().chunks(255) {
        bytes.push(u8::try_from(chunk.len()).unwrap());
        bytes.extend(chunk);
    }
    bytes
}
