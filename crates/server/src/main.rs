//! The program: command line, configuration, wiring.

mod backup;
mod config;
mod delivery;
mod doctor;
mod domains;
mod export;
mod feedback;
mod http;
mod import;
mod inbound;
mod log;
mod manifest;
#[cfg(debug_assertions)]
mod moved_clock;
mod operate;
mod printable;
mod restore;
mod serve;
mod setup;
mod simulate;
mod suppressions;
mod usage;
mod verification;
mod warm_up;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use mailwright_app::project::bootstrap::Bootstrap;
use mailwright_core::address::{DomainName, EmailAddress};
use mailwright_core::locale::is_language_code;
use serde_json::json;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::config::Config;
use crate::printable::printable_lines;

/// Sends email for projects, and keeps their contacts, events, templates, segments and campaigns.
///
/// Settings come from the file given with --config and from MAILWRIGHT_* environment variables; docs/configuration.md
/// lists them all.
#[derive(Debug, Parser)]
#[command(name = "mailwright", version, about)]
struct Cli {
    /// A TOML file with settings.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service.
    Serve(ServeArgs),
    /// Bring the database up to date and exit. `serve` does the same when it starts.
    Migrate,
    /// Create the first user, project and sender domain, and print the project's keys. Harmless when repeated.
    Bootstrap(BootstrapArgs),
    /// Import contacts from a CSV file of any size. Harmless when repeated. Ends with 2 when some rows failed.
    Import(import::ImportArgs),
    /// Write every contact of a project as CSV or NDJSON.
    Export(export::ExportArgs),
    /// Say what a workflow would do, with recorded events or those of a file. Nothing is sent or written.
    Simulate(simulate::SimulateArgs),
    /// Manage how opens and clicks are judged.
    #[command(subcommand)]
    Tracking(feedback::TrackingCommand),
    /// Show what mail servers said of mails they did not take that no rule knows, most frequent first: how often, when
    /// last, and the words without what differs from mail to mail.
    Bounces(feedback::Bounces),
    /// Manage accounts.
    #[command(subcommand)]
    User(operate::UserCommand),
    /// Manage projects.
    #[command(subcommand)]
    Project(operate::ProjectCommand),
    /// Manage the addresses that get no mail of any project.
    #[command(subcommand)]
    Suppressions(suppressions::SuppressionsCommand),
    /// Pause, reroute or give up mail that waits, by project, domain or site.
    #[command(subcommand)]
    Delivery(delivery::DeliveryCommand),
    /// Show sender domains and their DNS records, check them, and replace their keys.
    #[command(subcommand)]
    Domains(domains::DomainsCommand),
    /// Manage the lists by which addresses are verified.
    #[command(subcommand)]
    Verification(verification::VerificationCommand),
    /// Show how many mails each project had in a month (UTC), by category, for those who bill by other means.
    Usage(usage::UsageArgs),
    /// Show the captured mails of the instance itself, newest first.
    Inbox(operate::Inbox),
    /// Make a backup while the service runs: of the embedded database, or of what belongs to one in PostgreSQL, with what
    /// to run for that.
    Backup(backup::BackupArgs),
    /// Put a backup back, and decide about the mails that may have been sent after it was made.
    Restore(restore::RestoreArgs),
    /// Check the settings, database, mail server and name server, and say what is wrong.
    Doctor,
    /// Print the API document (`OpenAPI` 3.1).
    Openapi,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// What this process does: api, worker, or both.
    #[arg(long, value_delimiter = ',', default_value = "api,worker")]
    pub(crate) roles: Vec<serve::Role>,
    /// With an empty database, create a demo project and print how to send the first email.
    #[arg(long)]
    pub(crate) demo: bool,
    /// Start although the secret does not decrypt the keys in the database, because the right secret is lost for good.
    /// Domains get new keys, whose DNS records have to be published.
    #[arg(long)]
    pub(crate) lost_secret: bool,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
struct BootstrapArgs {
    /// Address of the user.
    #[arg(long)]
    email: String,
    /// Password of the user. If the account exists, it must have this password. Other programs on the machine can see
    /// it while this command runs; --password-stdin hides it.
    #[arg(long, conflicts_with = "password_stdin")]
    password: Option<String>,
    /// Read the password from standard input, one line.
    #[arg(long)]
    password_stdin: bool,
    /// Give an existing account this password: its sessions and links end, and a second factor that was set up before
    /// the address was verified is removed.
    #[arg(long)]
    reset_password: bool,
    /// Name of the project, or the id of a project that the user owns. A name refers to a project that this command
    /// created with it.
    #[arg(long)]
    project: String,
    /// Sender domain; it counts as verified, because you vouch for it.
    #[arg(long)]
    domain: String,
    /// Language of the project's pages and footers, such as en or pt-BR, if the project is created now.
    #[arg(long, default_value = "en")]
    language: String,
    /// Make another secret key even when the project exists.
    #[arg(long)]
    new_secret_key: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            let told = format!("mailwright: {error:#}");
            let _ = writeln!(std::io::stderr(), "{}", printable_lines(&told));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let cli = Cli::parse();
    let config = Config::load(cli.config.as_ref(), std::env::vars())?;
    log_to_stderr(&config.log)?;
    setup::keep_files_private();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        match cli.command {
            Command::Serve(args) => serve::serve(&config, &args).await.map(|()| ExitCode::SUCCESS),
            Command::Migrate => migrate(&config).await,
            Command::Bootstrap(args) => bootstrap(&config, args).await,
            Command::Import(args) => import::import(&config, args).await,
            Command::Export(args) => export::export(&config, args).await,
            Command::Simulate(args) => simulate::simulate(&config, args).await,
            Command::Tracking(command) => feedback::tracking(&config, command).await,
            Command::Verification(command) => verification::verification(&config, command).await,
            Command::Bounces(args) => feedback::bounces(&config, args).await,
            Command::User(command) => operate::user(&config, command).await,
            Command::Project(command) => operate::project(&config, command).await,
            Command::Suppressions(command) => suppressions::suppressions(&config, command).await,
            Command::Delivery(command) => delivery::delivery(&config, command).await,
            Command::Domains(command) => domains::domains(&config, command).await,
            Command::Usage(args) => usage::usage(&config, &args).await,
            Command::Inbox(args) => operate::inbox(&config, args).await,
            Command::Backup(args) => backup::backup(&config, &args).await,
            Command::Restore(args) => restore::restore(&config, args).await,
            Command::Doctor => doctor::doctor(&config).await,
            Command::Openapi => print(&mailwright_api::openapi()).map(|()| ExitCode::SUCCESS),
        }
    })
}

fn print(text: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{text}").context("cannot write to standard output")
}

/// For people on a terminal, JSON otherwise.
fn log_to_stderr(filter: &str) -> Result<()> {
    let filter = log_filter(filter)?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| log::Lossy(std::io::stderr()))
        .log_internal_errors(false);
    if std::io::stderr().is_terminal() {
        builder.init();
    } else {
        builder.json().flatten_event(true).with_ansi(false).init();
    }
    Ok(())
}

/// A filter of log lines. A bare word that is no level would be taken for the only module that logs anything.
fn log_filter(text: &str) -> Result<EnvFilter> {
    let text = if text.trim().is_empty() { "info" } else { text };
    let words = text.split(',').map(str::trim).filter(|word| !word.contains('[') && !word.is_empty());
    for level in words.map(|word| word.split_once('=').map_or(word, |(_, level)| level)) {
        if level.parse::<LevelFilter>().is_err() {
            bail!(
                "MAILWRIGHT_LOG: {level:?} is no level; it takes error, warn, info, debug, trace or off, also for a module: \
                 mailwright_app=debug,info"
            );
        }
    }
    EnvFilter::try_new(text).context("MAILWRIGHT_LOG is not a log filter")
}

async fn migrate(config: &Config) -> Result<ExitCode> {
    let setup = setup::open(config)?;
    let applied = setup.migrate().await?;
    print(&format!("The database is up to date ({applied} steps applied)."))?;
    setup.db.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn bootstrap(config: &Config, args: BootstrapArgs) -> Result<ExitCode> {
    let email = EmailAddress::parse(&args.email).context("--email is not an email address")?;
    let password = match args.password {
        Some(password) => password,
        None if args.password_stdin => operate::read_password()?,
        None => bail!(
            "the password of the account is missing; use --password-stdin, and give it on standard input"
        ),
    };
    let wanted = Bootstrap {
        email,
        password,
        reset_password: args.reset_password,
        project: args.project,
        language: args.language,
        domain: DomainName::parse(&args.domain).context("--domain is not a domain name")?,
        new_secret_key: args.new_secret_key,
    };
    if wanted.project.chars().count() > 100 || !mailwright_core::name::is_plain(&wanted.project) {
        bail!("--project must have 1 to 100 characters, and no control or invisible ones");
    }
    if !is_language_code(&wanted.language) {
        bail!("--language must be a language such as en, or with a region such as pt-BR");
    }
    operate::check_password(&wanted.password).context("--password")?;
    let setup = setup::open(config)?;
    setup.migrate().await?;
    let app = setup.app(config).await?;
    let made = app.bootstrap(wanted).await?;
    let secret = made.secret_key.as_ref().map(mailwright_app::project::key::Token::reveal);
    if args.json {
        print(&serde_json::to_string(&json!({
            "projectId": made.project,
            "secretKey": secret,
            "publicKey": made.public_key,
            "from": made.from,
            "baseUrl": app.settings().base_url.as_str(),
        }))?)?;
    } else {
        let shown = secret.unwrap_or("(made before; --new-secret-key makes another)");
        print(&format!(
            "Project     {}\nSecret key  {shown}\nPublic key  {}\nSender      {}\nAPI         {}",
            made.project,
            made.public_key,
            made.from,
            app.settings().base_url
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
