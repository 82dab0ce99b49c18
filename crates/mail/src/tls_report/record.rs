//! Where a domain wants reports (RFC 8460 section 3).

use mailwright_core::address::EmailAddress;
use percent_encoding::percent_decode_str;
use url::Url;

/// The longest record that is read, in bytes.
pub const MAX_RECORD: usize = 4096;
/// The most destinations that are taken of a record.
pub const MAX_DESTINATIONS: usize = 10;
/// The longest URL of a destination, in bytes.
const MAX_URL: usize = 1000;
/// The longest name of a field, in bytes.
const MAX_NAME: usize = 32;

/// Where a report goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// By mail, signed with DKIM (section 5.3).
    Mail(EmailAddress),
    /// By a POST to this URL (section 5.4): HTTPS with a host, without a user. Anybody can name any host there, those of
    /// one's own network as well.
    Https(Url),
}

/// The name of the TXT records in which a domain says where it wants reports.
pub fn record_name(domain: &str) -> String {
    format!("_smtp._tls.{domain}")
}

/// Where the TXT records of [`record_name`] say that reports go, in their order, each once.
///
/// `None` when the domain wants none: without a record that begins with `v=TLSRPTv1;`, with several, or with one that
/// has another form. Fields that are not known are nothing, and so are destinations of other schemes, or that are
/// broken; when no other is left, the domain wants none.
pub fn destinations<'r>(records: impl IntoIterator<Item = &'r str>) -> Option<Vec<Destination>> {
    let mut of_reports = records.into_iter().filter_map(|record| {
        let (version, fields) = record.split_once(';')?;
        (version.trim_end_matches([' ', '\t']) == "v=TLSRPTv1").then_some((record, fields))
    });
    let (record, fields) = of_reports.next()?;
    if of_reports.next().is_some() || record.len() > MAX_RECORD {
        return None;
    }
    let fields = fields.trim();
    let mut rua = None;
    for field in fields.strip_suffix(';').unwrap_or(fields).split(';') {
        let (name, value) = field.trim().split_once('=')?;
        if !is_name(name) || !is_value(value) {
            return None;
        }
        if name == "rua" && rua.replace(value).is_some() {
            return None;
        }
    }
    let mut found = Vec::new();
    for uri in rua?.split(',').map(str::trim) {
        let new = destination(uri).filter(|destination| !found.contains(destination));
        found.extend(new.filter(|_| found.len() < MAX_DESTINATIONS));
    }
    (!found.is_empty()).then_some(found)
}

/// Whether a field may have this name: letters and digits, then also `_`, `-` and `.`.
fn is_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    name.len() <= MAX_NAME
        && name.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
        && name.bytes().all(is_inner)
}

/// Whether a field may have this value: what ASCII prints, and the spaces around the commas of `rua`.
fn is_value(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t'))
}

fn destination(uri: &str) -> Option<Destination> {
    let (scheme, rest) = uri.split_once(':')?;
    if scheme.eq_ignore_ascii_case("mailto") {
        // fields of the mail, which RFC 6068 has behind it, are ours to choose
        let address = rest.split('?').next().unwrap_or_default();
        let address = percent_decode_str(address).decode_utf8().ok()?;
        return EmailAddress::parse(&address).map(Destination::Mail);
    }
    let url = Url::parse(uri).ok().filter(|url| url.as_str().len() <= MAX_URL)?;
    let is_usable = url.scheme() == "https" && url.username().is_empty() && url.password().is_none();
    is_usable.then_some(Destination::Https(url))
}
