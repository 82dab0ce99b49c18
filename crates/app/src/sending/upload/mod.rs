//! Pictures that people upload for their mails.
//!
//! A picture is made safe (`mailwright_images`), named by the hash of what came out, and stored in two places: its bytes in
//! a store of files (`objects.rs`), its row in the database. First a row says that the object is to be removed in an hour,
//! then the object is written, then one transaction takes that row back and stores the picture. So a process that dies
//! leaves at worst an object that is removed after an hour (`removing.rs`), never a row without its object. Nothing is
//! written under a name that was used before: what one request removes is never what another one has just written.

mod objects;
pub(super) mod places;
mod removing;
pub(crate) mod s3;

use std::ops::Range;

use bytes::Bytes;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ProjectId, UploadId};
use mailwright_core::project::Project;
use mailwright_core::upload::{PictureName, PictureType, file_name};
use mailwright_images::{Format, Limits, Picture};
use mailwright_mail::dns::Dns;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::sending::{upload as store, upload_removal as removal};
use mailwright_store::{Tx, body};
use sha2::{Digest, Sha256};
use uuid::Uuid;

pub use mailwright_store::sending::upload::{Served, Upload, Usage};
pub(crate) use removing::start;

use self::objects::{Objects, StoreError};
use self::places::{Full, MOST, MOST_OF_PROJECT, Places};
use crate::App;
use crate::error::{Error, Resource, Result};
use crate::http_client::HttpClient;
use crate::project::gone;
use crate::settings::UploadSettings;

/// Bytes of an uploaded picture.
pub const MAX_BYTES: usize = mailwright_images::MAX_BYTES;
/// Pictures of a project. Small ones take little of its quota, but a row and a file each.
pub const MAX_PICTURES: i64 = 100_000;
/// Objects of a project that may wait for their removal when another picture is uploaded.
pub const MAX_REMOVALS: i64 = 1_000;

/// What this process keeps.
pub(super) struct State {
    objects: Objects,
    places: Places,
}

impl State {
    pub(super) fn new(dns: &Dns, settings: &UploadSettings) -> Self {
        let http = HttpClient::for_objects(dns.clone());
        Self { objects: Objects::new(settings.store.clone(), http), places: Places::default() }
    }
}

/// A page of the pictures of a project.
#[derive(Debug)]
pub struct Page {
    /// The pictures, newest first.
    pub pictures: Vec<Upload>,
    /// Whether more follow.
    pub has_more: bool,
    /// What all pictures take together.
    pub usage: Usage,
}

impl App {
    /// Makes an uploaded picture safe and stores it. One that the project has is not stored again, whatever its file name.
    pub async fn upload_picture(
        &self,
        project: &Project,
        actor: &Actor,
        given: Bytes,
        name: Option<&str>,
    ) -> Result<Upload> {
        let picture = self.prepare_picture(project, given).await?;
        let kind = kind(picture.format);
        let at = self.0.clock.now();
        let id = UploadId::new(at, rand::random());
        let upload = Upload {
            id,
            name: PictureName { hash: Sha256::digest(&picture.bytes).into(), kind },
            size: picture.bytes.len() as i64,
            width: picture.width.into(),
            height: picture.height.into(),
            frames: picture.frames.into(),
            file_name: file_name(name, kind),
            object: format!("{}/{id}.{}", project.id, kind.extension()),
            by: actor.clone(),
            at,
        };
        if let Some(known) = self.plan_picture(project, &upload).await? {
            return Ok(known);
        }
        let object = upload.object.clone();
        let stored = match self.objects().put(&object, picture.bytes.into(), kind).await {
            Ok(()) => self.store_picture(project, upload).await,
            Err(error) => Err(away(&error, "an uploaded picture could not be stored")),
        };
        if !matches!(&stored, Ok(upload) if upload.object == object) {
            self.hasten_removal(object).await;
        }
        stored
    }

    /// Makes a picture safe, away from the threads that requests are answered on.
    async fn prepare_picture(&self, project: &Project, given: Bytes) -> Result<Picture> {
        let place = self.0.sending.upload.places.take(project.number).await.map_err(full)?;
        // the work goes on when the client goes away, and so does its place
        let working = tokio::task::spawn_blocking(move || {
            let _place = place;
            mailwright_images::prepare(&given, &Limits::default())
        });
        let prepared = working.await.map_err(|e| Error::Internal(format!("a picture was not read: {e}")))?;
        prepared.map_err(Error::Picture)
    }

    /// Plans the removal of an object that is about to be written, unless the project has the picture: then that one.
    async fn plan_picture(&self, project: &Project, upload: &Upload) -> Result<Option<Upload>> {
        let (number, owner, now) = (project.number, project.id, self.0.clock.now());
        let (upload, most) = (upload.clone(), self.settings().uploads.bytes_per_project);
        self.write(body!(async |tx| {
            if let Some(known) = store::find(tx, number, &upload.name.hash).await? {
                return Ok(Some(known));
            }
            check_quota(store::usage(tx, number).await?, upload.size, most)?;
            if removal::waiting(tx, owner, MAX_REMOVALS).await? >= MAX_REMOVALS {
                return Err(Error::Busy(format!(
                    "{MAX_REMOVALS} pictures of this project are still to be removed from the store, which is the limit."
                )));
            }
            removal::plan(tx, &upload.object, owner, now.plus(removing::GRACE)).await?;
            Ok(None)
        }))
        .await
    }

    /// Stores the row of a picture whose object is written; the row of another one, if that came first.
    async fn store_picture(&self, project: &Project, upload: Upload) -> Result<Upload> {
        let (project, most) = (project.clone(), self.settings().uploads.bytes_per_project);
        self.write(body!(async |tx| {
            hold(tx, &project).await?;
            let usage = store::hold_usage(tx, project.number).await?;
            if let Some(known) = store::find(tx, project.number, &upload.name.hash).await? {
                return Ok(known);
            }
            check_quota(usage, upload.size, most)?;
            if !removal::take_back(tx, &upload.object).await? {
                return Err(Error::Busy(
                    "Storing the picture took too long, so that it was given up.".into(),
                ));
            }
            store::insert(tx, project.number, &upload).await?;
            Ok(upload)
        }))
        .await
    }

    /// Has an object that no picture refers to removed at once. If that fails, it is removed when it is due.
    async fn hasten_removal(&self, object: String) {
        let now = self.0.clock.now();
        let hastened = self.write(body!(async |tx| Ok(removal::hasten(tx, &object, now).await?)));
        if let Err(error) = hastened.await {
            tracing::debug!(%error, "an object without a picture is removed later");
        }
    }

    /// A page of the pictures of a project.
    pub async fn uploads(&self, project: &Project, after: Option<UploadId>, limit: usize) -> Result<Page> {
        let number = project.number;
        self.read(body!(async |rx| {
            let mut pictures = store::list(rx, number, after, limit + 1).await?;
            let has_more = pictures.len() > limit;
            pictures.truncate(limit);
            Ok(Page { pictures, has_more, usage: store::usage(rx, number).await? })
        }))
        .await
    }

    /// Deletes a picture. It is not served any more once this returns; its object is removed in the background.
    pub async fn delete_upload(&self, project: &Project, actor: &Actor, name: &str) -> Result<()> {
        let Some(parsed) = PictureName::parse(name) else {
            return Err(Error::not_found(Resource::Upload, name));
        };
        let (project, actor, now) = (project.clone(), actor.clone(), self.0.clock.now());
        self.write(body!(async |tx| {
            hold(tx, &project).await?;
            store::hold_usage(tx, project.number).await?;
            if !store::delete(tx, project.number, &parsed, project.id, now).await? {
                return Err(Error::not_found(Resource::Upload, parsed));
            }
            let entry = Entry::new(Action::UploadDeleted, parsed.to_string());
            Ok(audit::record(tx, project.number, &actor, &entry, now).await?)
        }))
        .await
    }

    /// What is needed to serve a picture; `None` if the project has none of this name.
    pub async fn served_picture(&self, project: ProjectId, name: PictureName) -> Result<Option<Served>> {
        self.read(body!(async |rx| store::served(rx, project, &name).await)).await
    }

    /// A part of a picture's bytes; `None` if they are not there, although the picture is.
    pub async fn picture_part(&self, object: &str, part: Range<u64>) -> Result<Option<Bytes>> {
        match self.objects().read(object, part).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(StoreError::Missing) => {
                tracing::warn!(object, "the store has not the bytes of an uploaded picture");
                Ok(None)
            }
            Err(error) => Err(away(&error, "an uploaded picture could not be read")),
        }
    }

    /// Where a picture is served.
    pub fn picture_url(&self, project: ProjectId, name: &PictureName) -> String {
        let settings = self.settings();
        let base = settings.uploads.public_url.as_ref().unwrap_or(&settings.base_url);
        base.link(&format!("/uploads/{project}/{name}"))
    }

    fn objects(&self) -> &Objects {
        &self.0.sending.upload.objects
    }
}

/// Tries whether a store takes, gives and removes objects; why not, if it does not.
pub async fn try_store(settings: &UploadSettings, dns: &Dns) -> std::result::Result<(), String> {
    let objects = State::new(dns, settings).objects;
    let object = format!("doctor/{}", Uuid::from_bytes(rand::random()));
    let bytes = Bytes::from_static(b"tried");
    let tried = async {
        objects.put(&object, bytes.clone(), PictureType::Png).await?;
        let found = objects.read(&object, 0..bytes.len() as u64).await?;
        objects.remove(&object).await?;
        Ok::<_, StoreError>(found == bytes)
    };
    match tried.await {
        Ok(true) => Ok(()),
        Ok(false) => Err("it gives other bytes than it took".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// Keeps a project from being reset or deleted before the transaction ends.
async fn hold(tx: &mut Tx<'_>, project: &Project) -> Result<()> {
    match mailwright_store::project::lock(tx, project.number).await? {
        Some(number) if number == project.number => Ok(()),
        Some(_) => Err(Error::ProjectReset),
        None => Err(gone()),
    }
}

/// Refuses a picture that the project has no room for.
fn check_quota(usage: Usage, size: i64, most: i64) -> Result<()> {
    if usage.bytes + size > most {
        return Err(Error::Conflict(format!(
            "The pictures of this project take {} of {} MB, and this one has {}. Delete some of them first, or ask the \
             operator of this instance to raise uploads.mb_per_project.",
            megabytes(usage.bytes),
            most / MEGABYTE,
            megabytes(size),
        )));
    }
    if usage.pictures >= MAX_PICTURES {
        return Err(Error::Conflict(format!(
            "This project has {MAX_PICTURES} pictures, which is the limit. Delete some of them first."
        )));
    }
    Ok(())
}

const MEGABYTE: i64 = 1024 * 1024;

fn megabytes(bytes: i64) -> String {
    format!("{:.1} MB", bytes as f64 / MEGABYTE as f64)
}

fn kind(format: Format) -> PictureType {
    match format {
        Format::Jpeg => PictureType::Jpeg,
        Format::Png => PictureType::Png,
        Format::Gif => PictureType::Gif,
        Format::Webp => PictureType::Webp,
    }
}

fn full(full: Full) -> Error {
    match full {
        Full::Project => Error::QueueFull(format!(
            "{MOST_OF_PROJECT} pictures of this project are being read or wait for it, which is the limit. Wait for \
             their answers, and send fewer of them at the same time."
        )),
        Full::Process => Error::Busy(format!(
            "{MOST} pictures are being read or wait for it, which is the limit of this service."
        )),
    }
}

fn away(error: &StoreError, what: &'static str) -> Error {
    tracing::warn!(%error, "{what}");
    Error::Busy("The store of uploaded pictures does not answer as it should right now.".into())
}
