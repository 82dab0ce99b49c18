//! What the records of a domain are made of.

/// A DKIM key, as it is published.
#[derive(Debug, Clone)]
pub struct PublishedKey<'a> {
    /// The selector.
    pub selector: &'a str,
    /// The value of the record, as [`crate::dkim::dkim_record`] makes it.
    pub record: String,
}

impl PublishedKey<'_> {
    /// The name of its record.
    pub fn name(&self, domain: &str) -> String {
        format!("{}._domainkey.{domain}", self.selector)
    }
}

/// A name under a domain that is to point to a host.
#[derive(Debug, Clone, Copy)]
pub struct Pointer<'a> {
    /// What the name begins with, before the domain: a label, or several.
    pub label: &'a str,
    /// The host.
    pub host: &'a str,
}

impl Pointer<'_> {
    /// The whole name.
    pub fn name(&self, domain: &str) -> String {
        format!("{}.{domain}", self.label)
    }
}

/// A policy about mail for a domain that this instance serves (RFC 8461).
#[derive(Debug, Clone, Copy)]
pub struct ServedPolicy<'a> {
    /// Its id, as [`crate::mta_sts::Policy::id`] makes it.
    pub id: &'a str,
    /// The host that serves it.
    pub host: &'a str,
}
