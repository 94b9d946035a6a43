//! Any text as an answer: its markers are those of the pattern, and the answer around it is judged by
//! them, in both forms alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::json;
use sourcecheck::{Checker, Facts, RecordVerdict, Settings, Status, inline_markers};
use std::collections::BTreeSet;

/// The decimal digits that the twin knows; texts with other numbers are not compared.
fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '０'..='９' | '٠'..='٩')
}

/// `\[(S\d+)\]`, character by character: the byte where each match begins, and what it holds.
fn naive(text: &str) -> Vec<(usize, String)> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let char_at = |i: usize| chars.get(i).map(|(_, c)| *c);
    let mut found = Vec::new();
    for open in 0..chars.len() {
        let digits = chars[open..].iter().skip(2).take_while(|(_, c)| is_digit(*c)).count();
        let close = open + 2 + digits;
        let fits =
            char_at(open) == Some('[') && char_at(open + 1) == Some('S') && char_at(close) == Some(']');
        if fits && digits > 0 {
            found.push((chars[open].0, chars[open + 1..close].iter().map(|(_, c)| c).collect()));
        }
    }
    found
}

fn check(record: &serde_json::Value) -> RecordVerdict {
    Checker::new(Settings::default()).with_evidence(usize::MAX).check(record.to_string().as_bytes())
}

/// Known markers of all, when the record declares none.
fn assert_citations(verdict: &RecordVerdict, names: &BTreeSet<&str>) {
    let Some(Facts::Answer(facts)) = &verdict.facts else { panic!("no answer: {verdict:?}") };
    let known = names.iter().filter(|name| ["S1", "S2"].contains(*name)).count() as u64;
    assert_eq!((facts.citations.part, facts.citations.whole), (known, names.len() as u64));
    assert!(facts.sentences.is_some_and(|sentences| sentences.part <= sentences.whole));
}

fuzz_target!(|text: &str| {
    let found: Vec<(usize, String)> = inline_markers(text)
        .inspect(|marker| assert_eq!(marker.span.text(text), format!("[{}]", marker.name)))
        .map(|marker| (marker.span.range().start, marker.name.to_owned()))
        .collect();
    if text.chars().all(|c| is_digit(c) || !c.is_numeric()) {
        assert_eq!(found, naive(text));
    }
    let names: BTreeSet<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
    let context = json!({"sources": [
        {"marker": "S1", "chunk_id": "a", "document_id": "d"},
        {"marker": "S2", "chunk_id": "b", "document_id": "d", "text": text},
    ]});
    let form = json!({"status": "answered", "answer": text, "citations": []});
    let mut plain = form.clone();
    plain["context"] = context.clone();
    let verdict = check(&plain);
    let raw = check(&json!({"output": format!("```json\n{form}\n```"), "context": context}));
    if verdict.status == Status::Malformed {
        assert!(text.chars().all(char::is_whitespace));
    } else {
        assert_citations(&verdict, &names);
    }
    assert_eq!((verdict.status, verdict.facts), (raw.status, raw.facts));
});
