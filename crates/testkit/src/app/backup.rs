//! Backups of the server's data, and their restores.

use std::path::Path;

use super::App;
use crate::rows::{self, Rows};

/// The dump of a PostgreSQL database in the folder of a backup.
const DUMP: &str = "mailwright.dump";

impl App {
    /// Makes a backup in a folder, which must not be there yet, as an operator does: with PostgreSQL by its own tools.
    pub async fn back_up(&self, to: &Path) -> String {
        let said = self.run(&["backup", "--to", &to.display().to_string()]).await;
        if let Some(database) = &self.database {
            database.dump(&to.join(DUMP)).await;
        }
        said
    }

    /// What a backup holds. On PostgreSQL the database of the server, which must not run, becomes what the backup has.
    pub async fn load(&self, from: &Path) -> Rows {
        assert!(self.server.child.is_none(), "the server runs: kill or stop it first");
        match &self.database {
            Some(database) => {
                database.load(&from.join(DUMP)).await;
                database.rows().await
            }
            None => rows::of_sqlite(&from.join("mailwright.sqlite")),
        }
    }

    /// What the embedded database in a folder holds.
    pub fn rows_in(&self, folder: &Path) -> Rows {
        rows::of_sqlite(&folder.join("mailwright.sqlite"))
    }

    /// Restores a backup that was [loaded](Self::load), in the place of what the server had.
    pub async fn put_back(&self, from: &Path) -> String {
        if self.database.is_some() {
            return self.run(&["restore", "--epoch"]).await;
        }
        let from = from.display().to_string();
        self.run(&["restore", "--from", &from, "--move-aside"]).await
    }
}
