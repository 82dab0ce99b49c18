//! What the doctor finds of backups and restores.

use mailwright_store::body;
use mailwright_store::database::migrate::Standing;
use mailwright_store::sending::held::count_everywhere;
use mailwright_store::sending::held::epoch::{self, Unserved};

use super::Fine;
use crate::config::Config;
use crate::setup;

/// The epoch, what is held, and the last backup; nothing where the database cannot be asked.
pub(super) async fn epoch(config: &Config, standing: Option<Standing>) -> Option<Result<Fine, String>> {
    if standing != Some(Standing::Current) {
        return None;
    }
    let setup = setup::open(config).ok()?;
    let known = setup.db.read(body!(async |rx| {
        let (last, backup) = (epoch::last(rx).await?, epoch::last_backup(rx).await?);
        Ok((last, backup, epoch::unserved(rx).await?, count_everywhere(rx).await?))
    }));
    let (last, backup, unserved, held) = match known.await {
        Ok(known) => known,
        Err(error) => return Some(Err(format!("it cannot be read: {error}"))),
    };
    match unserved {
        Some(Unserved::Copy) => {
            return Some(Err(
                "this database is the copy of a backup; put it back with `mailwright restore --from FOLDER`"
                    .into(),
            ));
        }
        Some(Unserved::Unfinished) => {
            return Some(Err("a restore did not end; run `mailwright restore --epoch` once more".into()));
        }
        None => {}
    }
    let backup = backup.map_or_else(
        || "no backup was made with `mailwright backup`".to_owned(),
        |at| format!("the last backup was made at {at}"),
    );
    let epoch = last.map_or_else(
        || "0, it was never restored".to_owned(),
        |epoch| format!("{}, it was restored at {}", epoch.number, epoch.raised_at),
    );
    let text = format!("{epoch}; {backup}");
    Some(Ok(if held > 0 {
        Fine::Better(format!(
            "{text}; {held} mails are held, because they may have been sent before the restore: see `mailwright restore \
             --list`"
        ))
    } else {
        Fine::Ok(text)
    }))
}
