//! Whether the values of records do what they should.

use mailwright_core::dmarc::DmarcPolicy;

/// The value of a tag in a list such as `v=DKIM1; k=rsa; p=...` (RFC 6376 section 3.2), without any white space: keys
/// are pasted in pieces.
pub(super) fn tag(record: &str, wanted: &str) -> Option<String> {
    record.split(';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        (name.trim() == wanted).then(|| value.split_whitespace().collect())
    })
}

/// Whether two records hold the same key. An empty one is a key that was withdrawn, which never serves.
pub(super) fn same_key(found: &str, expected: &str) -> bool {
    let kind = |record| tag(record, "k").unwrap_or_else(|| "rsa".to_owned()).to_ascii_lowercase();
    let key = tag(found, "p").filter(|key| !key.is_empty());
    // where there is a version, it comes first (RFC 6376 section 3.6.1)
    let version =
        tag(found, "v").is_none_or(|version| version == "DKIM1" && found.trim_start().starts_with('v'));
    version && key.is_some() && key == tag(expected, "p") && kind(found) == kind(expected)
}

/// Whether a key's record holds the expected key, and lets it sign mail as we do: with SHA-256 (`h`), and mail (`s`).
pub(super) fn serves_for_mail(found: &str, expected: &str) -> bool {
    let lists = |wanted: &str, of: &[&str]| {
        tag(found, wanted)
            .is_none_or(|list| list.split(':').any(|item| of.contains(&&*item.to_ascii_lowercase())))
    };
    same_key(found, expected) && lists("h", &["sha256"]) && lists("s", &["*", "email"])
}

/// What a DMARC record asks receivers to do with mail that fails: `none`, `quarantine` or `reject`. Nothing where it is no
/// record that they heed.
pub fn policy(record: &str) -> Option<String> {
    is_policy(record).then(|| tag(record, "p"))?.map(|policy| policy.to_ascii_lowercase())
}

/// Whether a DMARC record says what receivers should do; they read the version as it is written (RFC 7489 section 6.3).
pub(super) fn is_policy(record: &str) -> bool {
    record.trim_start().starts_with("v=DMARC1") && DmarcPolicy::of_record(record).is_some()
}

/// Whether a DMARC record has all mail that fails treated as suspicious or refused, that of names below the domain too.
/// Only then mail programs show a logo (BIMI).
pub fn enforces(record: &str) -> bool {
    let is_strict = |policy: Option<String>| policy.is_some_and(|policy| policy != "none");
    let of_names_below = tag(record, "sp").map(|policy| policy.to_ascii_lowercase());
    is_strict(policy(record))
        && (of_names_below.is_none() || is_strict(of_names_below))
        && tag(record, "pct").is_none_or(|percent| percent == "100")
}

/// Whether a BIMI record says where a logo is. It has to be fetched safely.
pub(super) fn has_logo(record: &str) -> bool {
    let is_https = |url: String| url.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"));
    tag(record, "l").is_some_and(is_https)
}

/// Whether an SPF record contains the mechanisms, and lets pass what matches them. Nothing after `all` is looked at.
pub(super) fn allows(record: &str, mechanisms: &str) -> bool {
    let mut wanted =
        mechanisms.split_whitespace().map(|term| term.strip_prefix('+').unwrap_or(term)).peekable();
    let has = |wanted: &str| {
        record
            .split_whitespace()
            .take_while(|term| !is_all(term))
            .any(|term| term.strip_prefix('+').unwrap_or(term).eq_ignore_ascii_case(wanted))
    };
    wanted.peek().is_some() && wanted.all(has)
}

/// Whether a term of an SPF record is `all`, with whatever qualifier.
pub(super) fn is_all(term: &str) -> bool {
    term.trim_start_matches(['+', '-', '~', '?']).eq_ignore_ascii_case("all")
}

/// Whether two names are those of one host: upper and lower case, and a final dot, are nothing.
pub fn same_host(a: &str, b: &str) -> bool {
    a.trim_end_matches('.').eq_ignore_ascii_case(b.trim_end_matches('.'))
}
