//! Prepares a picture in a process of its own, and says what it took: the most memory that the process ever had, with
//! the file in it, and the time of the processor.

use std::path::PathBuf;
use std::process::Command;

use mailwright_images::{Limits, prepare};

/// The file to prepare, for the test that is the child.
const FILE: &str = "MAILWRIGHT_IMAGES_FILE";
/// Where the result goes.
const RESULT: &str = "MAILWRIGHT_IMAGES_RESULT";

/// What a picture came to.
#[derive(Debug)]
pub(crate) struct Taken {
    /// `kept`, or the code of the refusal.
    pub(crate) outcome: String,
    /// Bytes of memory.
    pub(crate) memory: u64,
    /// Seconds of the processor.
    pub(crate) seconds: f64,
    /// The file that it became; empty if it was refused.
    pub(crate) result: Vec<u8>,
}

/// Prepares a picture in a child.
pub(crate) fn prepare_apart(name: &str, bytes: &[u8]) -> Taken {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let unique = format!("{name}-{}", std::process::id());
    let (file, result) = (folder.join(format!("{unique}.in")), folder.join(format!("{unique}.out")));
    std::fs::write(&file, bytes).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child::is_the_child", "--nocapture", "--test-threads", "1"])
        .env(FILE, &file)
        .env(RESULT, &result)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{name}: {text}{}", String::from_utf8_lossy(&output.stderr));
    let line = text.lines().find_map(|line| line.split_once("taken: ")).unwrap().1;
    let fields: Vec<&str> = line.split(' ').collect();
    let kept = std::fs::read(&result).unwrap_or_default();
    let _ = std::fs::remove_file(file);
    let _ = std::fs::remove_file(result);
    Taken {
        outcome: fields[0].to_owned(),
        memory: fields[1].parse::<u64>().unwrap() * 1_024,
        seconds: fields[2].parse().unwrap(),
        result: kept,
    }
}

#[test]
fn is_the_child() {
    let Ok(file) = std::env::var(FILE) else { return };
    let bytes = std::fs::read(file).unwrap();
    let before = processor_seconds();
    let prepared = prepare(&bytes, &Limits::default());
    let seconds = processor_seconds() - before;
    let outcome = match &prepared {
        Ok(_) => "kept",
        Err(refused) => refused.code(),
    };
    println!("taken: {outcome} {} {seconds}", peak_kilobytes());
    if let (Ok(picture), Ok(result)) = (&prepared, std::env::var(RESULT)) {
        println!(
            "{}x{} frames {} bytes {} reencoded {}",
            picture.width,
            picture.height,
            picture.frames,
            picture.bytes.len(),
            picture.was_reencoded
        );
        std::fs::write(result, &picture.bytes).unwrap();
    }
    if let Err(refused) = &prepared {
        println!("{refused}");
    }
}

/// The most memory that this process ever had.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The time of the processor that this process took: its own, and that of the system for it, in hundredths.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}
