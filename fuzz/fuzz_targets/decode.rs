//! Any bytes as one record: the fast reader and the careful one give the same verdict, with what people
//! would be shown; memory that was used for other records before changes nothing; and the verdict is one
//! line of JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sourcecheck::{Checker, Evidence, RecordVerdict, Settings, write_verdict_to_string};

/// A window is short, its marks lie in it, and it says no character that the record does not hold.
fn assert_evidence(evidence: &Evidence, record: &[u8]) {
    assert!(evidence.window.len() <= 240, "{evidence:?}");
    for mark in &evidence.marks {
        assert!(evidence.window.get(mark.clone()).is_some(), "{evidence:?}");
    }
    if std::str::from_utf8(record).is_ok_and(|text| !text.contains('\u{fffd}') && !text.contains("\\u")) {
        assert!(!evidence.window.contains('\u{fffd}'), "{evidence:?}");
    }
}

fn assert_verdict(verdict: &RecordVerdict, record: &[u8]) {
    assert_eq!(verdict.facts.is_none(), verdict.status == sourcecheck::Status::Malformed);
    let json = write_verdict_to_string("f", verdict);
    assert!(!json.contains('\n'));
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
    for evidence in verdict.errors.iter().filter_map(|error| error.evidence.as_deref()) {
        assert_evidence(evidence, record);
    }
}

fuzz_target!(|data: &[u8]| {
    let new = || Checker::new(Settings::default()).with_evidence(usize::MAX);
    let mut used = new();
    // As one record, which may be pretty-printed, then line by line.
    let lines = data.split(|byte| *byte == b'\n').take(16);
    for record in std::iter::once(data).chain(lines) {
        let careful = new().careful_only().check(record);
        assert_eq!(used.check(record), careful);
        assert_verdict(&careful, record);
    }
    // Once more after all the others, without what people would be shown.
    used.set_evidence(0);
    assert_eq!(used.check(data), Checker::new(Settings::default()).careful_only().check(data));
});
