//! A browser: Chromium without a window.

use std::process::{Command, Stdio};

/// What an ordinary Chrome calls itself. Chromium without a window says by default that it has none.
const CHROME: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
/// How long loading a page may take, in seconds.
const PATIENCE: &str = "100";

/// Opens an address as a person with a new Chrome does, and waits until the page is loaded with its pictures. Returns
/// the document as it is then, as HTML.
pub async fn open(address: &str) -> String {
    let address = address.to_owned();
    tokio::task::spawn_blocking(move || load(&address)).await.unwrap()
}

fn load(address: &str) -> String {
    let browser = std::env::var_os("MAILWRIGHT_TEST_CHROMIUM").filter(|path| !path.is_empty());
    let browser = browser.unwrap_or_else(|| "chromium".into());
    let profile = tempfile::tempdir().unwrap();
    // `timeout` ends the processes that the browser started as well
    let output = Command::new("timeout")
        .arg(PATIENCE)
        .arg(&browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-extensions"])
        .arg(format!("--user-agent={CHROME}"))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--dump-dom", address])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() != Some(127),
        "this test needs Chromium: `apt-get install chromium`, or set MAILWRIGHT_TEST_CHROMIUM to its path: {said}"
    );
    assert!(output.status.success(), "the browser did not load {address} ({}): {said}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}
