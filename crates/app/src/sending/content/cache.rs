//! Prepared contents in memory, by identity.

use std::sync::Arc;

use mailwright_core::ids::ProjectNumber;
use mailwright_mail::message::Attachment;
use mailwright_store::Db;
use mailwright_store::body;
use mailwright_store::sending::content::{self, Content, ContentHash};
use quick_cache::sync::Cache;

use super::compose::File;
use super::prepare::Prepared;

/// Most bytes of prepared contents that are kept.
const CACHE_BYTES: u64 = 24 * 1024 * 1024;

#[derive(Debug, Clone)]
struct BySize;

impl quick_cache::Weighter<(ProjectNumber, ContentHash), Arc<Prepared>> for BySize {
    fn weight(&self, _: &(ProjectNumber, ContentHash), prepared: &Arc<Prepared>) -> u64 {
        prepared.size
    }
}

/// Prepared contents by identity.
#[derive(Debug)]
pub(crate) struct Contents {
    db: Db,
    cache: Cache<(ProjectNumber, ContentHash), Arc<Prepared>, BySize>,
}

impl Contents {
    pub(crate) fn new(db: Db) -> Self {
        Self { db, cache: Cache::with_weighter(256, CACHE_BYTES, BySize) }
    }

    /// Prepares a content that a request brought, and notes its links with it.
    pub(crate) fn prepare(
        &self,
        project: ProjectNumber,
        content: &mut Content,
        files: &[File],
    ) -> Arc<Prepared> {
        let prepared = self.prepared(project, content, files);
        content.links.clone_from(&prepared.links.stored);
        prepared
    }

    fn prepared(&self, project: ProjectNumber, content: &Content, files: &[File]) -> Arc<Prepared> {
        let key = (project, content.hash);
        if let Some(known) = self.cache.get(&key) {
            return known;
        }
        let attachments = files
            .iter()
            .map(|file| Attachment {
                filename: file.filename.clone(),
                content_type: file.content_type.clone(),
                content: Arc::clone(&file.content),
                content_id: file.content_id.clone(),
                inline: file.inline,
            })
            .collect();
        let prepared = Arc::new(Prepared::new(content, attachments));
        self.cache.insert(key, Arc::clone(&prepared));
        prepared
    }

    /// Prepares a stored content; `None` when it is gone.
    pub(crate) async fn get(
        &self,
        project: ProjectNumber,
        hash: &[u8],
    ) -> mailwright_store::Result<Option<Arc<Prepared>>> {
        let Ok(hash) = ContentHash::try_from(hash) else { return Ok(None) };
        let key = (project, hash);
        if let Some(known) = self.cache.get(&key) {
            return Ok(Some(known));
        }
        let found = self
            .db
            .read(body!(async |rx| {
                let Some(content) = content::get(rx, project, &key.1).await? else { return Ok(None) };
                let mut attachments = Vec::new();
                for meta in content.attachments.as_array().into_iter().flatten() {
                    let hash = hex::decode(meta["hash"].as_str().unwrap_or_default()).unwrap_or_default();
                    let Some(bytes) = content::attachment(rx, project, &hash).await? else {
                        return Ok(None);
                    };
                    attachments.push(Attachment {
                        filename: meta["filename"].as_str().unwrap_or_default().to_owned(),
                        content_type: meta["contentType"].as_str().unwrap_or_default().to_owned(),
                        content: bytes.into(),
                        content_id: meta["contentId"].as_str().map(str::to_owned),
                        inline: meta["inline"] == true,
                    });
                }
                Ok(Some((content, attachments)))
            }))
            .await?;
        let Some((content, attachments)) = found else { return Ok(None) };
        let prepared = Arc::new(Prepared::new(&content, attachments));
        self.cache.insert(key, Arc::clone(&prepared));
        Ok(Some(prepared))
    }
}
