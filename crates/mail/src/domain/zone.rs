//! Records of a domain as lines of a zone file.

use super::{ExpectedRecord, Purpose, RecordType};

/// Most characters of one string of a TXT record (RFC 1035 section 3.3).
const STRING: usize = 255;
/// The preference of an MX record that has none.
const PREFERENCE: u16 = 10;

/// Why a record is a comment in a zone file: it changes where mail or visitors go, or has to be completed first.
fn remark(purpose: Purpose) -> Option<&'static str> {
    match purpose {
        Purpose::Inbound => Some("Only if mail for the domain is to come to this instance."),
        Purpose::Tracking => {
            Some("For tracked links under the domain's own name. The proxy needs a certificate for it first.")
        }
        Purpose::MtaSts | Purpose::MtaStsHost => {
            Some("About TLS for mail that comes to this instance. Publish mta-sts before _mta-sts.")
        }
        Purpose::Bimi => Some("An example. Put the address of your logo in."),
        Purpose::Dkim
        | Purpose::Spf
        | Purpose::Dmarc
        | Purpose::ReturnPath
        | Purpose::SesDkim
        | Purpose::TlsReports => None,
    }
}

/// A record as a line of a zone file (RFC 1035 section 5). What not everybody should publish is a comment, with a line above
/// that says why.
pub fn zone_line(record: &ExpectedRecord) -> String {
    let host = || format!("{}.", record.value.trim_end_matches('.'));
    let data = match record.kind {
        RecordType::Txt => strings(&record.value),
        RecordType::Cname => host(),
        RecordType::Mx => format!("{} {}", record.priority.unwrap_or(PREFERENCE), host()),
    };
    let line = format!("{}. IN {} {data}", record.name, record.kind.as_str());
    match remark(record.purpose) {
        Some(remark) => format!("; {remark}\n;{line}"),
        None => line,
    }
}

/// A text as the strings of a TXT record.
fn strings(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let string = |part: &[char]| {
        let part: String = part.iter().collect();
        format!("\"{}\"", part.replace('\\', "\\\\").replace('"', "\\\""))
    };
    characters.chunks(STRING).map(string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: RecordType, value: &str, priority: Option<u16>) -> String {
        line_for(Purpose::Dkim, kind, value, priority)
    }

    fn line_for(purpose: Purpose, kind: RecordType, value: &str, priority: Option<u16>) -> String {
        let name = "a.shop.example".to_owned();
        zone_line(&ExpectedRecord { purpose, kind, name, value: value.to_owned(), priority, required: false })
    }

    #[test]
    fn a_record_is_a_line_of_a_zone_file() {
        assert_eq!(
            line(RecordType::Txt, "v=DMARC1; p=none", None),
            "a.shop.example. IN TXT \"v=DMARC1; p=none\""
        );
        assert_eq!(line(RecordType::Txt, "a\"b\\c", None), "a.shop.example. IN TXT \"a\\\"b\\\\c\"");
        assert_eq!(
            line(RecordType::Cname, "mail.example.net", None),
            "a.shop.example. IN CNAME mail.example.net."
        );
        assert_eq!(
            line(RecordType::Mx, "mx.example.net.", Some(20)),
            "a.shop.example. IN MX 20 mx.example.net."
        );
        let long = line(RecordType::Txt, &"k".repeat(600), None);
        let parts: Vec<_> = long.split(" IN TXT ").nth(1).unwrap().split(' ').map(str::len).collect();
        assert_eq!(parts, [257, 257, 92]);
    }

    #[test]
    fn what_not_everybody_should_publish_is_a_comment() {
        assert_eq!(
            line_for(Purpose::Inbound, RecordType::Mx, "mx.example.net", Some(10)),
            "; Only if mail for the domain is to come to this instance.\n;a.shop.example. IN MX 10 mx.example.net."
        );
        for purpose in [Purpose::Tracking, Purpose::MtaSts, Purpose::MtaStsHost, Purpose::Bimi] {
            let lines = line_for(purpose, RecordType::Txt, "value", None);
            assert!(lines.lines().all(|line| line.starts_with(';')), "{lines}");
        }
        for purpose in
            [Purpose::Spf, Purpose::Dmarc, Purpose::ReturnPath, Purpose::SesDkim, Purpose::TlsReports]
        {
            assert!(!line_for(purpose, RecordType::Txt, "value", None).contains(';'));
        }
    }
}
