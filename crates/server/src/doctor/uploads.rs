//! What the doctor finds of the store of uploaded pictures.

use mailwright_app::sending::upload;
use mailwright_app::settings::StoreSettings;

use super::Fine;
use crate::config::Config;

/// Whether a bucket takes, gives and removes objects. A folder is made when it is needed, by the user of the service, who
/// may be another one than the doctor's.
pub(super) async fn finding(config: &Config) -> Option<Result<Fine, String>> {
    let (Ok(settings), Ok(dns)) = (config.settings(), config.dns()) else { return None };
    Some(match &settings.uploads.store {
        StoreSettings::Folder(folder) => {
            Ok(Fine::Ok(format!("pictures are kept in the folder {}", folder.display())))
        }
        StoreSettings::S3(s3) => match upload::try_store(&settings.uploads, &dns).await {
            Ok(()) => Ok(Fine::Ok(format!("the bucket {} takes, gives and removes objects", s3.bucket))),
            Err(error) => Err(format!(
                "the bucket {} does not work: {error}; look at MAILWRIGHT_UPLOADS_STORE and the settings beside it",
                s3.bucket
            )),
        },
    })
}
