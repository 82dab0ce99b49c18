//! Copies that were damaged: named, never passed over.

use std::fs;
use std::path::Path;

use mailwright_testkit::{App, Engine, one_engine};
use mailwright_tests::copies::{addresses, files, files_of, restore, restored, said, shipped};

use super::{contact, names, with_copies};

/// Restores, which is refused with the name of a file and the moment before it; the moment.
async fn refused(app: &App, from: &Path, name: &str, what: &str) -> i64 {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let output = restore(app, &from.display().to_string(), None, &data).await;
    let told = said(&output);
    assert!(!output.status.success() && told.contains(&format!("{name} is {what}")), "{told}");
    let at = told.split("--at ").nth(1).unwrap_or_else(|| panic!("no moment: {told}")).trim();
    let left = files(&data);
    assert!(left.iter().all(|path| path.ends_with("mailwright.lock")), "nothing is left: {left:?}");
    at.parse::<jiff::Timestamp>().expect("a moment").as_millisecond()
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).expect("a file");
    bytes[at] ^= 1;
    fs::write(path, bytes).expect("a file");
}

one_engine! {
    async fn an_object_that_is_damaged_or_missing_is_named(engine: Engine) {
        assert_eq!(engine, Engine::Sqlite);
        let folder = tempfile::tempdir().expect("a folder");
        let to = folder.path().join("copies");
        let mut app = with_copies(&to).start().await;
        contact(&app, "first").await;
        shipped(&app).await;
        let known = files_of(&to, "segments").len();
        for name in ["second", "third"] {
            contact(&app, name).await;
            shipped(&app).await;
        }
        app.kill();
        let segments = files_of(&to, "segments");
        let doomed = segments[known..].iter().find(|path| fs::metadata(path).expect("a file").len() > 4_000);
        let doomed = doomed.expect("a segment with pages").clone();
        let name = doomed.file_name().expect("a name").to_string_lossy().into_owned();
        let good = fs::read(&doomed).expect("a file");
        flip(&doomed, good.len() / 2);
        let before = refused(&app, &to, &name, "damaged").await;
        assert_eq!(addresses(&restored(&app, &to.display().to_string(), Some(before)).await), names(&["first"]));

        fs::write(&doomed, &good[..good.len() - 1]).expect("a file");
        refused(&app, &to, &name, "damaged").await;
        // another object in its place
        fs::copy(&segments[0], &doomed).expect("a file");
        refused(&app, &to, &name, "damaged").await;
        fs::remove_file(&doomed).expect("it is removed");
        assert_eq!(refused(&app, &to, &name[..12], "missing").await, before);
        let listed = said(&app.try_run(&["restore", "--from", &to.display().to_string(), "--list-copies"]).await);
        assert!(listed.contains("an object after that is missing"), "{listed}");

        fs::write(&doomed, &good).expect("a file");
        assert_eq!(addresses(&restored(&app, &to.display().to_string(), None).await), names(&["first", "second", "third"]));
        let part = files_of(&to, "snapshots").into_iter().find(|path| path.ends_with("part-00000")).expect("a part");
        flip(&part, 5_000);
        let output = restore(&app, &to.display().to_string(), None, &folder.path().join("data")).await;
        let told = said(&output);
        assert!(told.contains("part-00000 is damaged") && told.contains("nothing from before it is kept"), "{told}");
    }
}
