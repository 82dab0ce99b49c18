//! What the doctor finds of what comes back: mail that comes in, the domain that bounces return to, notifications of
//! Amazon SNS, and the names that sender domains point here.

use std::io::ErrorKind;
use std::time::Duration;

use mailwright_app::http_client::{self, ConfiguredUrl, GivenUrl, HttpClient, Request};
use mailwright_app::settings::{BaseUrl, Settings};

use mailwright_mail::dns::{Dns, DnsError};
use mailwright_mail::domain::{Purpose, is_of, same_host};
use mailwright_store::body;
use mailwright_store::database::migrate::Standing;
use mailwright_store::feedback::origin;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::Fine;
use crate::config::Config;
use crate::setup;

/// How long the listener is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Sender domains that are looked at.
const DOMAINS: i64 = 20;
/// A name that no sender domain has, for which a wildcard answers.
const ANY_DOMAIN: &str = "doctor.invalid";

type Finding = (&'static str, Result<Fine, String>);

/// Looks at all of it.
pub(super) async fn findings(config: &Config, standing: Option<Standing>) -> Vec<Finding> {
    let (Ok(settings), Ok(dns)) = (config.settings(), config.dns()) else { return Vec::new() };
    let http = HttpClient::new(dns.clone(), settings.allow_private_networks);
    let mut findings = vec![("inbound mail", listener(config, &settings).await)];
    if let Some(host) = settings.inbound_host() {
        findings.push(("inbound host", inbound_host(&dns, host).await));
    }
    findings.push(("return path", return_path(&dns, &settings).await));
    if let Some(name) = settings.return_path().filter(|_| settings.inbound_host().is_some()) {
        findings.push(("DMARC reports", dmarc_reports(&dns, name).await));
    }
    findings.push(("SNS", sns(&http, &settings).await));
    let domains = match standing {
        Some(Standing::Current) => sender_domains(config).await,
        _ => Vec::new(),
    };
    findings.push(("sender domains", pointers(&dns, &http, &settings, &domains).await));
    findings
}

/// Whether mail can come in, or does so already.
async fn listener(config: &Config, settings: &Settings) -> Result<Fine, String> {
    let Some(listener) = config.listener().map_err(|error| format!("{error:#}"))? else {
        let leaves = config.mail_leaves();
        let text = "none is taken, because MAILWRIGHT_INBOUND_LISTEN is not set";
        return Ok(if leaves && settings.inbound.sns.topics.is_empty() {
            Fine::Better(format!(
                "{text}; bounces that arrive after the hand-over, and complaints, are not noticed (docs/feedback.md)"
            ))
        } else {
            Fine::Ok(text.to_owned())
        });
    };
    if let Some((certificate, key)) = &listener.tls {
        mailwright_tls::server_config_of(certificate, key).map_err(|error| {
            format!("MAILWRIGHT_INBOUND_TLS_CERTIFICATE and MAILWRIGHT_INBOUND_TLS_KEY: {error:#}")
        })?;
    }
    let address = &listener.listen;
    match TcpListener::bind(address).await {
        Ok(_) => Ok(Fine::Ok(format!("{address} is free"))),
        Err(error) if error.kind() == ErrorKind::AddrInUse => match greeting(address).await {
            Ok(line) if line.starts_with("220 ") => Ok(Fine::Ok(format!("{address} answers: {line}"))),
            Ok(line) => Err(format!("what listens on {address} takes no mail: {line:?}")),
            Err(error) => Err(format!("{address} is in use, and does not greet: {error}")),
        },
        Err(error) => Err(format!("MAILWRIGHT_INBOUND_LISTEN: cannot listen on {address}: {error}")),
    }
}

/// The first line that a mail server says.
async fn greeting(address: &str) -> Result<String, String> {
    let port = address.rsplit_once(':').map_or("25", |(_, port)| port);
    let address = match address.rsplit_once(':') {
        Some(("0.0.0.0", _)) => format!("127.0.0.1:{port}"),
        Some(("[::]", _)) => format!("[::1]:{port}"),
        _ => address.to_owned(),
    };
    let read = async {
        let mut line = String::new();
        BufReader::new(TcpStream::connect(address).await?).read_line(&mut line).await?;
        Ok::<_, std::io::Error>(line.trim_end().to_owned())
    };
    match tokio::time::timeout(PATIENCE, read).await {
        Ok(read) => read.map_err(|error| error.to_string()),
        Err(_) => Err(format!("nothing came within {} seconds", PATIENCE.as_secs())),
    }
}

/// Whether the name has an address that others can connect to.
async fn inbound_host(dns: &Dns, host: &str) -> Result<Fine, String> {
    let unknown = |error: &DnsError| Ok(Fine::Better(format!("{host} could not be looked up: {error}")));
    let (v4, v6) = (dns.a(host).await, dns.aaaa(host).await);
    match (&v4, &v6) {
        (Ok(found), _) if !found.is_empty() => Ok(Fine::Ok(format!("{host} has the address {}", found[0]))),
        (_, Ok(found)) if !found.is_empty() => Ok(Fine::Ok(format!("{host} has the address {}", found[0]))),
        (Err(error @ DnsError::Unavailable(_)), _) | (_, Err(error @ DnsError::Unavailable(_))) => {
            unknown(error)
        }
        _ => Err(format!(
            "{host} has no address; create an A record for it with the address of this machine, or set \
             MAILWRIGHT_INBOUND_HOST to a name that has one"
        )),
    }
}

/// Whether bounces find their way here.
async fn return_path(dns: &Dns, settings: &Settings) -> Result<Fine, String> {
    let Some(name) = settings.return_path() else {
        return Ok(match settings.inbound_host() {
            Some(_) => Fine::Better(
                "mail has its sender's address as envelope sender, so bounces go there; set \
                 MAILWRIGHT_INBOUND_RETURN_PATH to a domain whose MX record names this host (docs/feedback.md)"
                    .to_owned(),
            ),
            None => Fine::Ok("bounces do not return here".to_owned()),
        });
    };
    let Some(host) = settings.inbound_host() else {
        return Ok(Fine::Better(format!(
            "bounces return to {name}, and nothing listens here, because MAILWRIGHT_INBOUND_LISTEN is not set; they are \
             lost unless another process of this instance takes them"
        )));
    };
    let is_ours = |target: &str| same_host(target, host);
    match dns.mx(name).await {
        Ok(found) if found.iter().any(|(_, target)| is_ours(target)) => {}
        Ok(found) if !found.is_empty() => {
            let found: Vec<&str> = found.iter().map(|(_, target)| target.as_str()).collect();
            // what takes mail there may pass it on
            return Ok(Fine::Better(format!(
                "the MX record of {name} names {}, not {host}; bounces come only if that host passes them on",
                found.join(", ")
            )));
        }
        Err(DnsError::Unavailable(error)) => {
            return Ok(Fine::Better(format!("{name} could not be looked up: {error}")));
        }
        Ok(_) | Err(DnsError::NotFound) => {
            return Err(format!("{name} has no MX record; create one: {name} MX 10 {host}"));
        }
    }
    let spf = dns.txt(name).await.unwrap_or_default();
    let count = spf.iter().filter(|text| is_of(Purpose::Spf, text)).count();
    Ok(match count {
        1 => Fine::Ok(format!("the MX record of {name} names {host}, and there is an SPF record")),
        2.. => Fine::Better(format!(
            "{name} has {count} SPF records, and receivers refuse to choose; leave one (RFC 7208 section 4.5)"
        )),
        _ => Fine::Better(format!(
            "the MX record of {name} names {host}, and there is no SPF record, so receivers cannot tell who may send \
             with it; create one for the servers that send: {name} TXT \"v=spf1 ... ~all\""
        )),
    })
}

/// Whether receivers may send reports about other domains to the return path (RFC 7489 section 7.1).
async fn dmarc_reports(dns: &Dns, name: &str) -> Result<Fine, String> {
    // a wildcard answers for a name that nobody has; a record for each domain does not, and serves as well
    let asked = format!("{ANY_DOMAIN}._report._dmarc.{name}");
    let wanted = format!("*._report._dmarc.{name} TXT \"v=DMARC1\"");
    match dns.txt(&asked).await {
        Ok(found) if found.iter().any(|text| is_of(Purpose::Dmarc, text)) => {
            Ok(Fine::Ok(format!("receivers may send those about every domain to {name}")))
        }
        Err(DnsError::Unavailable(error)) => {
            Ok(Fine::Better(format!("{asked} could not be looked up: {error}")))
        }
        Ok(_) | Err(DnsError::NotFound) => Ok(Fine::Better(format!(
            "receivers do not send those about other domains to {name} without leave; create the record {wanted}, or one \
             for each sender domain in the place of the star (this check then stays LOOK; docs/feedback.md)"
        ))),
    }
}

/// Whether notifications can come, and be verified.
async fn sns(http: &HttpClient, settings: &Settings) -> Result<Fine, String> {
    let sns = &settings.inbound.sns;
    if sns.topics.is_empty() {
        return Ok(Fine::Ok(
            "no notifications are taken, because MAILWRIGHT_SNS_TOPICS is not set".to_owned(),
        ));
    }
    let endpoint = settings.base_url.link("/webhooks/sns");
    if settings.base_url.is_local() || !settings.base_url.is_https() {
        return Err(format!(
            "{endpoint} cannot be reached by SNS safely; set MAILWRIGHT_BASE_URL to a public https:// address"
        ));
    }
    for url in certificate_hosts(sns.endpoint.as_ref(), &sns.topics)? {
        let parsed = ConfiguredUrl::parse(&url).map_err(|refusal| format!("{url}: {refusal}"))?;
        // whatever it answers, it is there
        if let Err(error) = http.send(Request::get(parsed).keeping(0)).await {
            return Err(format!(
                "{url} cannot be reached, so messages cannot be verified: {error}; open the way out to it"
            ));
        }
    }
    let count = sns.topics.len();
    Ok(Fine::Ok(format!("{count} topic{}; subscribe {endpoint} to it", if count == 1 { "" } else { "s" })))
}

/// The hosts that have the certificates, each once.
fn certificate_hosts(endpoint: Option<&BaseUrl>, topics: &[String]) -> Result<Vec<String>, String> {
    if let Some(endpoint) = endpoint {
        return Ok(vec![endpoint.to_string()]);
    }
    let mut hosts = Vec::new();
    for topic in topics {
        let mut parts = topic.split(':').skip(1);
        let (Some(partition), Some("sns"), Some(region)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(format!("{topic} is no ARN of an SNS topic"));
        };
        let end = if partition == "aws-cn" { "amazonaws.com.cn" } else { "amazonaws.com" };
        hosts.push(format!("https://sns.{region}.{end}/"));
    }
    hosts.sort_unstable();
    hosts.dedup();
    Ok(hosts)
}

async fn sender_domains(config: &Config) -> Vec<String> {
    let Ok(setup) = setup::open(config) else { return Vec::new() };
    setup.db.read(body!(async |rx| origin::domains(rx, DOMAINS).await)).await.unwrap_or_default()
}

/// Which of the names under sender domains point here, and whether what they point to answers.
async fn pointers(
    dns: &Dns,
    http: &HttpClient,
    settings: &Settings,
    domains: &[String],
) -> Result<Fine, String> {
    if domains.is_empty() {
        return Ok(Fine::Ok("there are none yet".to_owned()));
    }
    let mut found = Pointers::default();
    for domain in domains {
        let host = Some(settings.base_url.host());
        if found.points(dns, &settings.domains.tracking_label, domain, host).await {
            let name = format!("{}.{domain}", settings.domains.tracking_label);
            match answers(http, &settings.base_url.under(&name)).await {
                Ok(()) => found.tracked += 1,
                Err(Unanswered::Untried(why)) => {
                    found.hints.push(format!("{name} was not tried from here: {why}"));
                }
                Err(Unanswered::Silent(why)) => found.silent.push(format!("{name}: {why}")),
            }
        }
        let label = &settings.domains.return_path_label;
        found.returning += usize::from(found.points(dns, label, domain, settings.return_path()).await);
        if let Some(host) = settings.inbound_host() {
            let mx = dns.mx(domain).await.unwrap_or_default();
            found.receiving += usize::from(mx.iter().any(|(_, target)| same_host(target, host)));
        }
    }
    found.summary(domains.len())
}

/// What was found of the names under sender domains.
#[derive(Default)]
struct Pointers {
    tracked: usize,
    returning: usize,
    receiving: usize,
    /// Names that point here, where nobody answers.
    silent: Vec<String>,
    /// Names that point elsewhere, and those of which nothing is known.
    hints: Vec<String>,
}

impl Pointers {
    /// Whether a name under a domain points to `to`. A name that does not exist is no trouble.
    async fn points(&mut self, dns: &Dns, label: &str, domain: &str, to: Option<&str>) -> bool {
        let Some(to) = to else { return false };
        let name = format!("{label}.{domain}");
        let target = match dns.cname(&name).await {
            Ok(target) => target,
            Err(DnsError::Unavailable(error)) => {
                self.hints.push(format!("{name} could not be looked up: {error}"));
                return false;
            }
            Err(_) => return false,
        };
        let is_here = same_host(&target, to);
        if !is_here {
            self.hints.push(format!("{name} points to {target}, not {to}"));
        }
        is_here
    }

    fn summary(self, all: usize) -> Result<Fine, String> {
        let Self { tracked, returning, receiving, silent, hints } = self;
        if !silent.is_empty() {
            return Err(format!(
                "links of tracked mails do not work, because the name points here and the proxy before the service \
                 does not answer for it; give it a certificate for the name (docs/feedback.md): {}",
                silent.join("; ")
            ));
        }
        let counts = format!(
            "of {all} looked at, {tracked} have a name for tracked links, {returning} one for bounces, and \
             {receiving} an MX record that names this host"
        );
        Ok(if hints.is_empty() {
            Fine::Ok(counts)
        } else {
            Fine::Better(format!("{counts}; {}", hints.join("; ")))
        })
    }
}

/// Why nobody is known to answer at a name.
enum Unanswered {
    /// Requests do not go there from here, as to an address of a private network.
    Untried(String),
    /// Nobody did, or not as the service does.
    Silent(String),
}

/// Whether the service answers at a name.
async fn answers(http: &HttpClient, url: &BaseUrl) -> Result<(), Unanswered> {
    let url =
        GivenUrl::parse(&url.link("/health")).map_err(|refusal| Unanswered::Untried(refusal.to_string()))?;
    match http.send(Request::get(url).keeping(1024)).await {
        Ok(answer) if answer.status.is_success() => Ok(()),
        Ok(answer) => Err(Unanswered::Silent(format!("it answers {}", answer.status))),
        Err(error @ http_client::Error::Refused(_)) => Err(Unanswered::Untried(error.to_string())),
        Err(error) => Err(Unanswered::Silent(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_at_the_host_of_the_topics_region() {
        let topics =
            ["arn:aws:sns:eu-west-1:1:a", "arn:aws:sns:eu-west-1:1:b", "arn:aws-cn:sns:cn-north-1:1:c"];
        let hosts = certificate_hosts(None, &topics.map(str::to_owned));
        let wanted = ["https://sns.cn-north-1.amazonaws.com.cn/", "https://sns.eu-west-1.amazonaws.com/"];
        assert_eq!(hosts, Ok(wanted.map(str::to_owned).to_vec()));
        assert!(certificate_hosts(None, &["arn:aws:sqs:eu-west-1:1:a".to_owned()]).is_err());
    }
}
