//! Any bytes as one record: the fast reader and the careful one give the same verdict, and it can be
//! written as JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sourcecheck::{Checker, Settings, write_verdict_to_string};

fuzz_target!(|data: &[u8]| {
    let fast = Checker::new(Settings::default()).check(data);
    let careful = Checker::new(Settings::default()).careful_only().check(data);
    assert_eq!(fast, careful);
    assert!(!write_verdict_to_string("f", &fast).contains('\n'));
    // What people would be shown can be made of any record.
    let _ = Checker::new(Settings::default()).with_evidence(usize::MAX).check(data);
});
