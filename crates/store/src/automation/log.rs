//! The log of an execution as it is stored: a JSON list with a short list for each step, so that a million executions that
//! wait stay small.
//!
//! An entry is `[place, status, began, ended, until, output, error]` without the nulls at its end. Instead of a place it
//! has `[version, place]` if the place is one of another version. `began` counts
//! milliseconds from the beginning of the execution, `ended` and `until` from the beginning of the step. An output that is
//! long is stored apart, and is 1 in the entry.

use mailwright_core::ids::ExecutionId;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::execution::StepRecord;
use mailwright_core::workflow::kind::StepStatus;
use serde_json::{Value as Json, json};

/// From so many bytes on an output is stored apart.
const LONG: usize = 256;

/// The letter of each state.
const LETTERS: [(StepStatus, &str); 5] = [
    (StepStatus::Waiting, "W"),
    (StepStatus::Running, "R"),
    (StepStatus::Completed, "C"),
    (StepStatus::Skipped, "S"),
    (StepStatus::Failed, "F"),
];

/// An output that is stored apart from the log.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Apart {
    pub(super) execution: ExecutionId,
    pub(super) entry: usize,
    pub(super) output: Json,
}

/// The text of a log, and the outputs that are stored apart.
pub(super) fn write(id: ExecutionId, began: Timestamp, log: &[StepRecord]) -> (String, Vec<Apart>) {
    let mut apart = Vec::new();
    let entries: Vec<Json> = log
        .iter()
        .enumerate()
        .map(|(index, record)| {
            let mut output = record.output.clone();
            if output.to_string().len() > LONG {
                apart.push(Apart { execution: id, entry: index, output });
                output = 1.into();
            }
            let letter = LETTERS.iter().find(|(status, _)| *status == record.status).map_or("", |(_, l)| *l);
            let after = |at: Option<Timestamp>| at.map(|at| at.0 - record.started_at.0);
            let mut entry = vec![
                record.of.map_or_else(|| record.step.into(), |version| json!([version, record.step])),
                letter.into(),
                (record.started_at.0 - began.0).into(),
                after(record.completed_at).into(),
                after(record.until).into(),
                output,
                record.error.as_deref().into(),
            ];
            while entry.last().is_some_and(Json::is_null) {
                entry.pop();
            }
            Json::Array(entry)
        })
        .collect();
    (Json::Array(entries).to_string(), apart)
}

/// Reads a log. `None` when it is none.
pub(super) fn read(text: &str, began: Timestamp) -> Option<Vec<StepRecord>> {
    let entries: Vec<Vec<Json>> = serde_json::from_str(text).ok()?;
    entries.iter().map(|entry| read_entry(entry, began)).collect()
}

/// A log in the words of the export; a log that cannot be read as the text that it is.
pub(crate) fn told(text: &str, began: Timestamp) -> Json {
    let Some(records) = read(text, began) else { return text.into() };
    let told = records.into_iter().map(|record| {
        json!({
            "place": record.step, "ofVersion": record.of, "status": record.status.as_str(),
            "startedAt": record.started_at, "until": record.until, "completedAt": record.completed_at,
            "output": record.output, "error": record.error,
        })
    });
    Json::Array(told.collect())
}

fn read_entry(entry: &[Json], began: Timestamp) -> Option<StepRecord> {
    let at = |index: usize| entry.get(index).filter(|value| !value.is_null());
    let number = |index| at(index).and_then(Json::as_i64);
    let letter = at(1)?.as_str()?;
    let (status, _) = LETTERS.iter().find(|(_, known)| *known == letter)?;
    let started_at = Timestamp(began.0 + number(2)?);
    let after = |index| number(index).map(|millis| Timestamp(started_at.0 + millis));
    let (of, place) = match at(0)? {
        Json::Array(pair) => (Some(pair.first()?.as_i64()?), pair.get(1)?.as_i64()?),
        place => (None, place.as_i64()?),
    };
    Some(StepRecord {
        step: usize::try_from(place).ok()?,
        of,
        status: *status,
        started_at,
        until: after(4),
        completed_at: after(3),
        output: at(5).cloned().unwrap_or_default(),
        error: at(6).and_then(Json::as_str).map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGAN: Timestamp = Timestamp(1_769_853_600_000);

    fn record(step: usize, status: StepStatus, output: Json) -> StepRecord {
        let started_at = Timestamp(BEGAN.0 + 5);
        StepRecord {
            step,
            of: None,
            status,
            started_at,
            until: None,
            completed_at: None,
            output,
            error: None,
        }
    }

    #[test]
    fn a_log_is_read_as_it_was_written() {
        let waiting = StepRecord {
            until: Some(Timestamp(BEGAN.0 + 60_005)),
            ..record(1, StepStatus::Waiting, Json::Null)
        };
        let failed = StepRecord {
            completed_at: Some(Timestamp(BEGAN.0 + 9)),
            error: Some("no".into()),
            ..record(4, StepStatus::Failed, Json::Null)
        };
        let log = [
            record(0, StepStatus::Completed, Json::Null),
            waiting,
            record(2, StepStatus::Skipped, json!({ "skipped": "unsubscribed" })),
            StepRecord { of: Some(2), ..record(3, StepStatus::Running, json!(null)) },
            failed,
        ];
        let (text, apart) = write(ExecutionId::first_of(BEGAN), BEGAN, &log);
        assert_eq!(
            text,
            r#"[[0,"C",5],[1,"W",5,null,60000],[2,"S",5,null,null,{"skipped":"unsubscribed"}],[[2,3],"R",5],[4,"F",5,4,null,null,"no"]]"#
        );
        assert_eq!((read(&text, BEGAN).unwrap(), apart), (log.to_vec(), Vec::new()));
    }

    #[test]
    fn a_long_output_is_apart() {
        let long = json!({ "response": "x".repeat(LONG) });
        let id = ExecutionId::first_of(BEGAN);
        let (text, apart) = write(id, BEGAN, &[record(7, StepStatus::Completed, long.clone())]);
        assert_eq!(text, r#"[[7,"C",5,null,null,1]]"#);
        assert_eq!(apart, [Apart { execution: id, entry: 0, output: long }]);
        assert_eq!(read(&text, BEGAN).unwrap()[0].output, json!(1));
    }

    #[test]
    fn what_is_no_log_is_told() {
        for text in ["", "{}", "[1]", "[[0]]", r#"[[0,"X",5]]"#, r#"[["a","C",5]]"#] {
            assert_eq!(read(text, BEGAN), None, "{text}");
        }
    }
}
