//! Who can read what the service keeps.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use mailwright_testkit::{App, Engine, both_engines};

fn open(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("a file of ours");
}

fn mode(path: &Path) -> u32 {
    path.metadata().expect("a file").permissions().mode() & 0o777
}

both_engines! {
    async fn an_open_data_directory_is_closed(engine: Engine) {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        std::fs::create_dir(&data).expect("a folder");
        open(&data, 0o755);
        // the usual mask, under which new files can be read by everybody
        let usual = ["sh", "-c", "umask 022; exec \"$@\"", "sh"];
        let builder = App::builder(engine).data_dir(&data).wrapper(&usual).env("MAILWRIGHT_SECRET", "");
        let mut app = builder.start().await;
        let names = |data: &Path| -> Vec<_> {
            std::fs::read_dir(data).expect("a folder").map(|file| file.expect("a file").path()).collect()
        };
        assert_eq!(mode(&data), 0o700);
        assert!(!names(&data).is_empty());
        for file in names(&data) {
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }

        // one that was made by an earlier version
        app.stop().await;
        for file in names(&data) {
            open(&file, 0o644);
        }
        open(&data, 0o755);
        let told = app.try_run(&["doctor"]).await;
        assert!(!told.status.success());
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        let line = told.lines().find(|line| line.contains("data directory")).unwrap_or(&told);
        assert!(line.starts_with("WRONG") && line.contains("secret"), "{told}");
        app.restart().await;
        assert_eq!(mode(&data), 0o700);
        for file in names(&data) {
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
        let told = String::from_utf8_lossy(&app.try_run(&["doctor"]).await.stdout).into_owned();
        assert!(told.lines().any(|line| line.starts_with("ok") && line.contains("data directory")), "{told}");
    }
}
