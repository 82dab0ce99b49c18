//! The pace of our source addresses at the sites that mail is brought to ([`mailwright_core::pacing`]). The rows are
//! shared by all processes, so that the limits of a site hold for them together.

use std::collections::HashMap;

use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// A source address at a site.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteKey {
    /// The name of the source address.
    pub source: String,
    /// The name of the site.
    pub site: String,
}

/// A stored pace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPace {
    /// Whose it is.
    pub key: SiteKey,
    /// The pace, as JSON.
    pub pace: String,
    /// When it was written.
    pub updated_at: Timestamp,
}

fn columns(keys: &[SiteKey]) -> [Arg<'_>; 2] {
    [
        Arg::Texts(keys.iter().map(|key| Some(key.source.as_str().into())).collect()),
        Arg::Texts(keys.iter().map(|key| Some(key.site.as_str().into())).collect()),
    ]
}

/// The stored paces, whose rows are this transaction's until it ends. `keys` are sorted and different, so that no two
/// transactions wait for each other.
pub async fn lock(tx: &mut Tx<'_>, keys: &[SiteKey], now: Timestamp) -> Result<HashMap<SiteKey, String>> {
    let [sources, sites] = columns(keys);
    tx.each(
        "insert into delivery_sites (source, site, pace, updated_at) select r.source, r.site, '{}', $3 \
         from {rows r: source text, site text} where true on conflict (source, site) do nothing",
        &[sources, sites, now.into()],
    )
    .await?;
    let [sources, sites] = columns(keys);
    let rows = tx
        .each_returning(
            "select d.source, d.site, d.pace from {rows r: source text, site text} join delivery_sites d \
             on d.source = r.source and d.site = r.site order by d.source, d.site {for_update}",
            &[sources, sites],
            |r| Ok((SiteKey { source: r.get(0)?, site: r.get(1)? }, r.get(2)?)),
        )
        .await?;
    Ok(rows.into_iter().collect())
}

/// Stores paces that were locked before.
pub async fn put(tx: &mut Tx<'_>, paces: &[(SiteKey, String)], now: Timestamp) -> Result<()> {
    let keys: Vec<_> = paces.iter().map(|(key, _)| key.clone()).collect();
    let [sources, sites] = columns(&keys);
    let texts = Arg::Texts(paces.iter().map(|(_, pace)| Some(pace.as_str().into())).collect());
    tx.each(
        "update delivery_sites set pace = r.pace, updated_at = $4 \
         from {rows r: source text, site text, pace text} \
         where delivery_sites.source = r.source and delivery_sites.site = r.site",
        &[sources, sites, texts, now.into()],
    )
    .await?;
    Ok(())
}

/// The stored paces at sites, from all sources.
pub async fn at(rx: &mut Rx<'_>, sites: &[&str]) -> Result<Vec<StoredPace>> {
    let sites = Arg::Texts(sites.iter().map(|site| Some((*site).into())).collect());
    rx.each_returning(
        "select d.source, d.site, d.pace, d.updated_at from {rows r: site text} join delivery_sites d \
         on d.site = r.site",
        &[sites],
        |r| {
            Ok(StoredPace {
                key: SiteKey { source: r.get(0)?, site: r.get(1)? },
                pace: r.get(2)?,
                updated_at: r.get(3)?,
            })
        },
    )
    .await
}

/// Forgets paces that nobody has written since, `most` at a time. Returns how many there were.
pub async fn forget(tx: &mut Tx<'_>, before: Timestamp, most: i64) -> Result<u64> {
    tx.execute(
        "delete from delivery_sites where (source, site) in \
         (select source, site from delivery_sites where updated_at < $1 order by updated_at limit $2)",
        args![before, most],
    )
    .await
}
