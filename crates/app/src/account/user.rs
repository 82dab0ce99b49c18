//! Accounts: renaming and removing them.

use mailwright_store::account::user::{self, User};
use mailwright_store::body;

use crate::App;
use crate::error::{Error, Result};

impl App {
    /// Changes how a user wants to be called.
    pub async fn rename_user(&self, user: &User, name: Option<String>) -> Result<User> {
        let (id, now) = (user.id, self.0.clock.now());
        let renamed = self
            .0
            .db
            .write(body!(async |tx| {
                user::rename(tx, id, name.as_deref(), now).await?;
                user::get(tx, id).await
            }))
            .await?;
        renamed.ok_or(Error::SignedOut)
    }

    /// Removes an account that is a member of no project.
    pub async fn delete_user(&self, user: &User) -> Result<()> {
        let id = user.id;
        let removed = self.0.db.write(body!(async |tx| user::delete(tx, id).await)).await?;
        if removed {
            tracing::info!(user = %id, "an account was deleted");
            return Ok(());
        }
        Err(Error::Conflict("You are a member of a project. Leave or delete your projects first.".into()))
    }

    /// Whether nobody has an account yet.
    pub async fn has_no_users(&self) -> Result<bool> {
        self.read(body!(async |rx| user::is_empty(rx).await)).await
    }
}
