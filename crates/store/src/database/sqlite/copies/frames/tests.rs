use rusqlite::Connection;

use super::*;

struct Log {
    folder: tempfile::TempDir,
    writer: Connection,
}

impl Log {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let writer = Connection::open(folder.path().join("test.sqlite")).unwrap();
        writer
            .execute_batch(
                "pragma journal_mode = wal; pragma wal_autocheckpoint = 0; create table t (n, filler)",
            )
            .unwrap();
        Self { folder, writer }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("test.sqlite-wal")
    }

    fn insert(&self, bytes: u32) {
        self.writer.execute("insert into t values (1, randomblob(?1))", [bytes]).unwrap();
    }

    fn read(&self, from: Option<Place>) -> (Header, Transactions) {
        let file = LogFile::open(&self.path()).unwrap().unwrap();
        let header = file.header().unwrap().unwrap();
        let found = file.read(&header, &from.unwrap_or(header.start()), u32::MAX).unwrap();
        (header, found)
    }
}

#[test]
fn transactions_are_read_from_where_one_was() {
    let log = Log::new();
    log.insert(10);
    let (header, first) = log.read(None);
    let end = first.end.unwrap();
    assert_eq!(header.page, 4096);
    assert!(first.database_pages >= 2 && first.pages.contains_key(&2));
    log.insert(20_000);
    let (_, second) = log.read(Some(end));
    assert!(second.pages.values().all(|frame| *frame >= end.frame), "{second:?}");
    let (_, both) = log.read(None);
    assert_eq!(both.end, second.end);
    assert!(log.read(second.end).1.end.is_none(), "nothing follows");
    let file = LogFile::open(&log.path()).unwrap().unwrap();
    for (number, frame) in &both.pages {
        assert_eq!(file.page(&header, *number, *frame).unwrap().unwrap().len(), 4096);
        assert_eq!(file.page(&header, number + 1, *frame).unwrap(), None);
    }
}

#[test]
fn what_is_not_committed_is_left_out() {
    let log = Log::new();
    let (_, before) = log.read(None);
    log.writer.execute_batch("pragma cache_size = 10; begin").unwrap();
    log.insert(1_000_000);
    let grown = std::fs::metadata(log.path()).unwrap().len();
    assert!(grown > 500_000, "frames were written before the commit: {grown}");
    assert_eq!(log.read(None).1.end, before.end);
    log.writer.execute_batch("rollback").unwrap();
    log.insert(10);
    let (header, after) = log.read(before.end);
    assert!(after.end.unwrap().frame < 10, "what was rolled back was written over: {after:?}");
    let file = LogFile::open(&log.path()).unwrap().unwrap();
    assert!(
        file.has(&header, &before.end.unwrap()).unwrap() && file.has(&header, &after.end.unwrap()).unwrap()
    );
}

#[test]
fn no_more_is_read_than_is_known_to_be_committed() {
    let log = Log::new();
    let (_, before) = log.read(None);
    log.insert(20_000);
    let file = LogFile::open(&log.path()).unwrap().unwrap();
    let header = file.header().unwrap().unwrap();
    let all = file.read(&header, &before.end.unwrap(), u32::MAX).unwrap().end.unwrap();
    let short = file.read(&header, &before.end.unwrap(), all.frame - 1).unwrap();
    assert_eq!(short.end, None);
}

#[test]
fn a_torn_log_ends_before_what_is_torn() {
    let log = Log::new();
    log.insert(10);
    let (_, kept) = log.read(None);
    log.insert(50_000);
    let whole = std::fs::read(log.path()).unwrap();
    let kept_bytes = 32 + kept.end.unwrap().frame as usize * (24 + 4096);
    for cut in [kept_bytes + 10, kept_bytes + 24 + 4096 + 5, whole.len() - 1] {
        let torn = log.folder.path().join("torn");
        std::fs::write(&torn, &whole[..cut]).unwrap();
        let file = LogFile::open(&torn).unwrap().unwrap();
        let header = file.header().unwrap().unwrap();
        assert_eq!(file.read(&header, &header.start(), u32::MAX).unwrap().end, kept.end, "{cut}");
    }
    // a bit of a page, of a checksum, of a salt
    for at in [kept_bytes + 100, kept_bytes + 17, kept_bytes + 9] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        let path = log.folder.path().join("damaged");
        std::fs::write(&path, &damaged).unwrap();
        let file = LogFile::open(&path).unwrap().unwrap();
        let header = file.header().unwrap().unwrap();
        assert_eq!(file.read(&header, &header.start(), u32::MAX).unwrap().end, kept.end, "{at}");
    }
    for at in [0, 9, 17, 25] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        let path = log.folder.path().join("damaged");
        std::fs::write(&path, &damaged).unwrap();
        assert_eq!(LogFile::open(&path).unwrap().unwrap().header().unwrap(), None, "{at}");
    }
    assert!(LogFile::open(&log.folder.path().join("none")).unwrap().is_none());
    std::fs::write(log.folder.path().join("empty"), "").unwrap();
    assert_eq!(LogFile::open(&log.folder.path().join("empty")).unwrap().unwrap().header().unwrap(), None);
}

#[test]
fn a_log_that_was_started_anew_is_not_taken_for_the_old_one() {
    let log = Log::new();
    log.insert(50_000);
    let (before, old) = log.read(None);
    log.writer.query_row("pragma wal_checkpoint(restart)", [], |_| Ok(())).unwrap();
    log.insert(10);
    let file = LogFile::open(&log.path()).unwrap().unwrap();
    let header = file.header().unwrap().unwrap();
    assert_eq!(header.salts[0], before.salts[0].wrapping_add(1));
    assert!(!file.has(&header, &old.end.unwrap()).unwrap());
    let new = file.read(&header, &header.start(), u32::MAX).unwrap();
    assert!(new.end.unwrap().frame < old.end.unwrap().frame, "old frames behind the new ones are left out");
    // the first frame is written over
    for number in old.pages.keys() {
        assert_eq!(file.page(&before, *number, 0).unwrap(), None);
    }
}

#[test]
fn a_place_is_kept_as_json() {
    let place = Place { salts: [1, u32::MAX], frame: 3, checksum: [4, 5] };
    assert_eq!(Place::from_json(&place.to_json()), Some(place));
    assert_eq!(Place::from_json(&json!({"salts": [1], "frame": 3, "checksum": [4, 5]})), None);
    assert_eq!(Place::from_json(&Value::Null), None);
}
