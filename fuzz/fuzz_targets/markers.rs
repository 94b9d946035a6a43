//! Any text as an answer: its markers are those of the pattern, and the answer around it has a verdict.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sourcecheck::{Checker, Settings, inline_markers};

/// `\[(S\d+)\]`, character by character. Digits beyond ASCII are left to the property tests.
fn naive(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    for open in 0..chars.len() {
        let rest = &chars[open..];
        let digits = rest.iter().skip(2).take_while(|c| c.is_ascii_digit()).count();
        if rest.starts_with(&['[', 'S']) && digits > 0 && rest.get(2 + digits) == Some(&']') {
            found.push(rest[1..2 + digits].iter().collect());
        }
    }
    found
}

fuzz_target!(|text: &str| {
    let found: Vec<&str> = inline_markers(text).map(|marker| marker.name).collect();
    if text.chars().all(|c| c.is_ascii() || !c.is_numeric()) {
        assert_eq!(found, naive(text));
    }
    let mut record = b"{\"status\":\"answered\",\"citations\":[\"S1\"],\"context\":{\"sources\":[{\"marker\":\"S1\",\"chunk_id\":\"\",\"document_id\":\"\"}]},\"answer\":\"".to_vec();
    for c in text.chars() {
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units) {
            record.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
        }
    }
    record.extend_from_slice(b"\"}");
    let _ = Checker::new(Settings::default()).with_evidence(usize::MAX).check(&record);
});
