//! What reports are packed in.

use super::{Member, gzip, report, zip};
use crate::dmarc_report::{DmarcReportError, MAX_XML, read_file};

fn error(file: &[u8]) -> DmarcReportError {
    read_file(file).unwrap_err()
}

#[test]
fn a_report_is_read_from_xml_gzip_and_zip() {
    let xml = report("");
    let xml = xml.as_bytes();
    let with_mark = [b"\xef\xbb\xbf", xml].concat();
    let stored = Member { is_deflated: false, ..Member::new("a.xml", xml) };
    for file in [
        xml,
        &with_mark,
        &gzip(xml),
        &gzip(&with_mark),
        &zip(&[Member::new("a.xml", xml)]),
        &zip(&[stored]),
        &zip(&[Member::new("folder/", b""), Member::new("read.me", b"x"), Member::new("folder/A.XML", xml)]),
        &zip(&[Member::new("google.com!acme.example!1!2", xml)]),
        &zip(&[Member::new("a.xml", xml), Member::new("b.xml", b"broken")]),
        &[&zip(&[Member::new("a.xml", xml)])[..], b"a line that a gateway appended"].concat(),
    ] {
        assert_eq!(read_file(file).unwrap().org_name, "Org");
    }
}

#[test]
fn bombs_are_stopped_at_the_bound() {
    let zeros = vec![b' '; MAX_XML + 1];
    assert_eq!(error(&gzip(&zeros)), DmarcReportError::TooLarge);
    let lying = Member { declared: Some(100), ..Member::new("a.xml", &zeros) };
    assert_eq!(error(&zip(&[lying])), DmarcReportError::TooLarge);
    assert_eq!(error(&zeros), DmarcReportError::TooLarge);
    // as large as can be is read
    let mut largest = report("").into_bytes();
    largest.resize(MAX_XML, b' ');
    assert!(read_file(&gzip(&largest)).is_ok());
}

#[test]
fn declared_sizes_are_not_believed() {
    let xml = report("");
    for declared in [0, 1, u32::MAX] {
        let member = Member { declared: Some(declared), ..Member::new("a.xml", xml.as_bytes()) };
        assert!(read_file(&zip(&[member])).is_ok(), "{declared}");
    }
}

#[test]
fn archives_in_archives_are_refused() {
    let xml = report("");
    let packed = gzip(xml.as_bytes());
    let in_zip = zip(&[Member::new("a.xml", xml.as_bytes())]);
    for file in [
        gzip(&packed),
        gzip(&in_zip),
        zip(&[Member::new("a.xml.gz", &packed)]),
        zip(&[Member::new("a.zip", &in_zip)]),
        zip(&[Member::new("a.xml", &in_zip)]),
    ] {
        assert_eq!(error(&file), DmarcReportError::Nested);
    }
}

#[test]
fn broken_archives_are_refused() {
    let xml = report("");
    let member = || Member::new("a.xml", xml.as_bytes());
    let whole = zip(&[member()]);
    let packed = gzip(xml.as_bytes());
    let mut flipped = packed.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let mut strange = whole.clone();
    let directory = memchr::memmem::find(&strange, b"PK\x01\x02").unwrap();
    strange[directory + 10] = 99;
    for file in [
        &packed[..packed.len() / 2],
        &flipped,
        &whole[..whole.len() / 2],
        &strange,
        &zip(&[Member { flags: 1, ..member() }]),
        &zip(&[Member { checksum: Some(0), ..member() }]),
        &zip(&[Member::new("folder/", b"")]),
        b"PK\x03\x04",
        b"\x1f\x8b",
    ] {
        assert_eq!(error(file), DmarcReportError::Archive);
    }
}

#[test]
fn only_the_begin_of_a_directory_is_looked_at() {
    let xml = report("");
    let behind = |others: usize| {
        let mut members: Vec<Member<'_>> = (0..others).map(|_| Member::new("x", b"<x/>")).collect();
        members.push(Member::new("a.xml", xml.as_bytes()));
        zip(&members)
    };
    assert!(read_file(&behind(99)).is_ok());
    assert_eq!(error(&behind(100)), DmarcReportError::NoFeedback);
}
