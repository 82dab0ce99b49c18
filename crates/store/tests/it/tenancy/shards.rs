//! Where the tables are divided by project, a statement goes to one shard: asked of the server, for every statement that
//! the tests before this one have sent it (`make test-citus`).

use std::collections::BTreeSet;

use tokio_postgres::{Client, Config, NoTls};

use super::statement::Statement;
use super::{EXCEPTIONS, literals_of_sources};

/// Statements that the server runs and cannot explain, by their beginning, and why.
const NOT_EXPLAINED: &[(&str, &str)] = &[(
    "insert into audit (project_id, id, actor_type, actor_id, actor_name, action, target, details, created_at) select $2",
    "from one project to another, when a project is reset: explain loses the argument that names the other one",
)];

/// A cluster whose statements are counted; see `scripts/with-postgres --citus`.
async fn connect(database: &str) -> Client {
    let url =
        std::env::var("MAILWRIGHT_TEST_POSTGRES").expect("MAILWRIGHT_TEST_POSTGRES names a cluster of Citus");
    let mut config: Config = url.parse().unwrap();
    let (client, connection) = config.dbname(database).connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A value of a type, as SQL text: the same project everywhere.
fn value(kind: &str) -> String {
    match kind.strip_suffix("[]") {
        Some(of) => format!("array[{}]::{kind}", value(of)),
        None => match kind {
            "bigint" | "integer" | "smallint" | "numeric" => "1".to_owned(),
            "boolean" => "true".to_owned(),
            "uuid" => "'019a0000-0000-7000-8000-000000000001'::uuid".to_owned(),
            "jsonb" => "'{}'::jsonb".to_owned(),
            "bytea" => r"'\x00'::bytea".to_owned(),
            "double precision" => "1.0".to_owned(),
            // many a text is read as a number
            _ => "'1'::text".to_owned(),
        },
    }
}

/// A statement with numbers for those of its constants that the server took out, of which it then does not know any more
/// that they are numbers.
fn with_numbers(statement: &str) -> String {
    let (mut text, mut rest) = (String::new(), statement);
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        let digits = from[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len() - 1);
        let (constant, after) = from.split_at(1 + digits);
        text += before;
        text += constant;
        if ["then ", "else ", " + "].iter().any(|place| before.ends_with(place)) {
            text += "::integer";
        }
        rest = after;
    }
    text + rest
}

/// To how many shards a statement goes at most in one step, or why it cannot be explained.
async fn shards(client: &Client, statement: &str) -> Result<usize, String> {
    let told = |error: tokio_postgres::Error| {
        error.as_db_error().map_or(error.to_string(), |e| e.message().to_owned())
    };
    if client.batch_execute(&format!("prepare asked as {statement}")).await.is_err() {
        let prepare = format!("prepare asked as {}", with_numbers(statement));
        client.batch_execute(&prepare).await.map_err(told)?;
    }
    let kinds = "select parameter_types::text[] from pg_prepared_statements where name = 'asked'";
    let kinds: Vec<String> = client.query_one(kinds, &[]).await.unwrap().get(0);
    let values: Vec<String> = kinds.iter().map(|kind| value(kind)).collect();
    let values = if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
    let explained = client.query(&format!("explain (costs off) execute asked{values}"), &[]).await;
    client.batch_execute("deallocate asked").await.unwrap();
    let count = |line: String| line.trim().strip_prefix("Task Count: ").and_then(|n| n.parse::<usize>().ok());
    Ok(explained.map_err(told)?.iter().filter_map(|row| count(row.get(0))).max().unwrap_or_default())
}

/// Whether a statement, as it was sent, is one of those that may ask all.
fn is_excused(statement: &str) -> bool {
    let statement = without_constants(statement);
    EXCEPTIONS.iter().any(|(_, begins, _)| {
        let plain = begins.split(['{', '}']).next().unwrap_or_default();
        plain.len() >= 12 && statement.starts_with(&without_constants(plain))
    })
}

/// A statement without its numbers and the places of its arguments, since the server takes numbers out.
fn without_constants(statement: &str) -> String {
    let mut text = String::new();
    let mut before = ' ';
    for c in statement.chars() {
        let is_of_word = before.is_ascii_alphanumeric() || before == '_';
        match c {
            '$' => {}
            '0'..='9' if before == '#' => continue,
            '0'..='9' if !is_of_word => text.push('#'),
            _ => text.push(c),
        }
        before = if c.is_ascii_digit() && !is_of_word { '#' } else { c };
    }
    text
}

/// What statements of tests have in them that begin as ones in the sources.
const OF_TESTS: [&str; 2] =
    ["generate_series(", "update campaigns set retry = $1, next_at = $2 where name ="];

/// Whether a statement, as it was sent, stands in the sources.
fn is_ours(statement: &str, sources: &[(String, String)]) -> bool {
    !OF_TESTS.iter().any(|of_test| statement.contains(of_test))
        && sources.iter().any(|(_, literal)| {
            let plain = literal.split(['{', '}']).next().unwrap_or_default().trim_end();
            plain.len() >= 12 && statement.starts_with(plain)
        })
}

#[tokio::test]
#[ignore = "needs a cluster that the other tests have used: make test-citus"]
async fn each_statement_goes_to_one_shard() {
    let server = connect("postgres").await;
    let sent =
        "select distinct query from pg_stat_statements where query ~* '^(select|insert|update|delete|with)'";
    let sent: BTreeSet<String> =
        server.query(sent, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    let template = "select datname from pg_database where datname like 'mailwright_template_%' order by oid desc limit 1";
    let template: String =
        server.query_one(template, &[]).await.expect("a database that was migrated").get(0);
    let database = connect(&template).await;
    let sources = literals_of_sources();
    let (mut asked, mut faults, mut unknown) = (0, Vec::new(), Vec::new());
    for statement in &sent {
        let spaced = statement.split_whitespace().collect::<Vec<_>>().join(" ");
        if Statement::of(&spaced).tables.is_empty() || !is_ours(&spaced, &sources) {
            continue;
        }
        asked += 1;
        match shards(&database, statement).await {
            Ok(0 | 1) => {}
            Ok(_) if is_excused(&spaced) => {}
            Ok(count) => faults.push(format!("{count} shards: {spaced}")),
            Err(_) if NOT_EXPLAINED.iter().any(|(begins, _)| spaced.starts_with(begins)) => {}
            Err(why) => unknown.push(format!("{why}: {spaced}")),
        }
    }
    assert!(unknown.is_empty(), "{} statements cannot be explained:\n{}", unknown.len(), unknown.join("\n"));
    assert!(faults.is_empty(), "{} statements go to several shards:\n{}", faults.len(), faults.join("\n"));
    assert!(asked > 400, "only {asked} statements were sent: did the other tests run on this cluster?");
    println!("{asked} statements go to one shard each");
}
