//! The account and region of Amazon SES, as a URL.

use mailwright_core::domain::IdentityWay;
use percent_encoding::percent_decode_str;

use super::signature::AccessKey;

/// An account of Amazon SES in a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SesConfig {
    /// The key that requests are signed with.
    pub key: AccessKey,
    /// The region, such as `eu-central-1`.
    pub region: String,
    /// Where requests go, without a final slash: the region's own address unless another is given.
    pub endpoint: String,
    /// The configuration set of mail whose opens and clicks are followed, and of all other mail.
    pub configuration_sets: ConfigurationSets,
    /// How the service registers sender domains with the account; `None` where the operator does.
    pub identities: Option<IdentityWay>,
}

/// The configuration sets that mails are sent with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigurationSets {
    /// For mail whose opens and clicks are followed.
    pub tracked: Option<String>,
    /// For all other mail.
    pub untracked: Option<String>,
}

/// What is wrong with a URL of SES. Never holds the secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SesConfigError {
    /// The scheme, or what follows it.
    #[error("the URL of SES is ses://KEYID:SECRET@region, such as ses://AKIA...:...@eu-central-1")]
    Form,
    /// The region.
    #[error("{0:?} is not the name of a region of AWS")]
    Region(String),
    /// A parameter that is not known.
    #[error(
        "the URL of SES has the unknown parameter {0:?}; known are set, tracked_set, identities, session_token and \
         endpoint"
    )]
    Parameter(String),
    /// The name of a configuration set.
    #[error("{0:?} cannot be the name of a configuration set")]
    Set(String),
    /// How sender domains are registered.
    #[error("{0:?} is no way to register domains; identities is none, own_key or easy_dkim")]
    Identities(String),
    /// Where requests go.
    #[error("the endpoint of SES begins with http:// or https:// and has no path")]
    Endpoint,
}

impl SesConfig {
    /// Reads `ses://KEYID:SECRET@eu-central-1?set=plain&tracked_set=tracked`. Key and secret are percent-encoded. `endpoint`
    /// sends requests elsewhere; `session_token` belongs to a key that is valid for a while; `identities` says how sender
    /// domains are registered.
    pub fn from_url(url: &str) -> Result<Self, SesConfigError> {
        let rest = url.trim().strip_prefix("ses://").ok_or(SesConfigError::Form)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        // the last one: secrets are often pasted as they are
        let (credentials, region) = rest.rsplit_once('@').ok_or(SesConfigError::Form)?;
        let (id, secret) = credentials.split_once(':').ok_or(SesConfigError::Form)?;
        let region = region.trim_end_matches('/').to_ascii_lowercase();
        let is_region = region.contains('-')
            && region.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if !is_region {
            return Err(SesConfigError::Region(region));
        }
        let (id, secret) = (decoded(id)?, decoded(secret)?);
        if id.is_empty() || secret.is_empty() {
            return Err(SesConfigError::Form);
        }
        let mut config = Self {
            key: AccessKey { id, secret, session_token: None },
            endpoint: format!("https://email.{region}.amazonaws.com"),
            region,
            configuration_sets: ConfigurationSets::default(),
            identities: None,
        };
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            config.apply(name, decoded(value)?)?;
        }
        Ok(config)
    }

    fn apply(&mut self, name: &str, value: String) -> Result<(), SesConfigError> {
        match name {
            "set" => self.configuration_sets.untracked = Some(set(value)?),
            "tracked_set" => self.configuration_sets.tracked = Some(set(value)?),
            "identities" => self.identities = way(value)?,
            "session_token" => self.key.session_token = Some(value),
            "endpoint" => {
                let value = value.trim_end_matches('/');
                let host = value.strip_prefix("https://").or_else(|| value.strip_prefix("http://"));
                if host.is_none_or(|host| host.is_empty() || host.contains(['/', '?', '#', '@'])) {
                    return Err(SesConfigError::Endpoint);
                }
                value.clone_into(&mut self.endpoint);
            }
            _ => return Err(SesConfigError::Parameter(name.to_owned())),
        }
        Ok(())
    }

    /// The host of the endpoint, with its port where one is given.
    pub fn host(&self) -> &str {
        self.endpoint.split_once("://").map_or(&self.endpoint, |(_, host)| host)
    }
}

fn set(value: String) -> Result<String, SesConfigError> {
    let is_name = (1..=64).contains(&value.len())
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_name { Ok(value) } else { Err(SesConfigError::Set(value)) }
}

fn way(value: String) -> Result<Option<IdentityWay>, SesConfigError> {
    match value.as_str() {
        "none" => Ok(None),
        name => IdentityWay::from_name(name).map(Some).ok_or(SesConfigError::Identities(value)),
    }
}

fn decoded(text: &str) -> Result<String, SesConfigError> {
    percent_decode_str(text).decode_utf8().map(Into::into).map_err(|_| SesConfigError::Form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_account_region_and_sets() {
        let plain = SesConfig::from_url("ses://AKIA:a/b%2Bc@eu-central-1").unwrap();
        assert_eq!((&*plain.key.id, &*plain.key.secret, &*plain.region), ("AKIA", "a/b+c", "eu-central-1"));
        assert_eq!(plain.endpoint, "https://email.eu-central-1.amazonaws.com");
        assert_eq!(plain.host(), "email.eu-central-1.amazonaws.com");
        let all = "ses://AKIA:s@us-east-1?set=plain&tracked_set=seen&session_token=t&endpoint=http://127.0.0.1:5000/";
        let all = SesConfig::from_url(all).unwrap();
        assert_eq!((&*all.endpoint, all.host()), ("http://127.0.0.1:5000", "127.0.0.1:5000"));
        let sets = (all.configuration_sets.untracked.as_deref(), all.configuration_sets.tracked.as_deref());
        assert_eq!(sets, (Some("plain"), Some("seen")));
        assert_eq!(all.key.session_token.as_deref(), Some("t"));
        assert!(!format!("{plain:?}").contains("a/b+c"), "the secret is not shown");
        for (value, wanted) in [
            ("none", None),
            ("own_key", Some(IdentityWay::OwnKey)),
            ("easy_dkim", Some(IdentityWay::EasyDkim)),
        ] {
            let read = SesConfig::from_url(&format!("ses://AKIA:s@us-east-1?identities={value}")).unwrap();
            assert_eq!(read.identities, wanted);
        }
        assert_eq!(plain.identities, None, "the operator registers domains");
    }

    #[test]
    fn what_is_wrong_is_told_without_the_secret() {
        for (wrong, told) in [
            ("ses://eu-central-1", SesConfigError::Form),
            ("ses://AKIA@eu-central-1", SesConfigError::Form),
            ("ses://:s@eu-central-1", SesConfigError::Form),
            ("ses://a:s@frankfurt", SesConfigError::Region("frankfurt".into())),
            ("ses://a:s/3?4@eu-central-1", SesConfigError::Form),
            ("ses://a:s@eu-central-1?x=1", SesConfigError::Parameter("x".into())),
            ("ses://a:s@eu-central-1?identities=all", SesConfigError::Identities("all".into())),
            ("ses://a:s@eu-central-1?set=a%20b", SesConfigError::Set("a b".into())),
            ("ses://a:s@eu-central-1?endpoint=ftp://x", SesConfigError::Endpoint),
            ("ses://a:s@eu-central-1?endpoint=http://x/y", SesConfigError::Endpoint),
        ] {
            assert_eq!(SesConfig::from_url(wrong), Err(told), "{wrong}");
        }
    }
}
