//! Runs `datasets/conformance/`: every case through a whole run and through the careful reader alone.

use serde_json::{Value, json};
use sourcecheck::{
    Boundary, Checker, ClaimPaths, Code, Input, InputFormat, JsonLines, Level, LineNumber, Lint, Ref,
    RunOptions, Settings, check_corpus, resolve_ref, write_verdict_to_string,
};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

/// One line of a file, and where it came from.
struct Case {
    file: String,
    data: Value,
}

impl Case {
    /// What a failure says first: where the case stands, and why it has its verdict.
    fn title(&self) -> String {
        format!("{}/{} ({})", self.file, self.text("name"), self.text("why"))
    }

    fn text(&self, member: &str) -> &str {
        self.data[member].as_str().unwrap_or("")
    }

    fn record(&self) -> Vec<u8> {
        match self.data["record_base64"].as_str() {
            Some(text) => decode_base64(text),
            None => self.text("record").as_bytes().to_vec(),
        }
    }

    fn settings(&self) -> Settings {
        let given = &self.data["settings"];
        let list = |name: &str| given[name].as_array().cloned().unwrap_or_default();
        let strings =
            |name: &str| list(name).iter().map(|v| v.as_str().unwrap().to_owned()).collect::<Vec<_>>();
        let mut settings = Settings {
            claim_paths: ClaimPaths::new(strings("claim_path")).unwrap(),
            input_format: InputFormat::Jsonl,
            ..Settings::default()
        };
        if let Some(bytes) = given["max_record_bytes"].as_u64() {
            settings.max_record_bytes = bytes as usize;
        }
        for (name, level) in [("allow", Level::Allow), ("deny", Level::Deny)] {
            for lint in strings(name) {
                settings.lints.set(Lint::from_name(&lint).unwrap(), level);
            }
        }
        settings
    }
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/conformance");
    let mut cases = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            let file = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap();
            let parse = |line| serde_json::from_str(line).unwrap();
            cases.extend(text.lines().map(|line| Case { file: file.clone(), data: parse(line) }));
        }
    }
    cases
}

fn decode_base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(value).collect();
    let bits = |group: &[u8]| {
        group.iter().fold(0u32, |bits, digit| bits << 6 | u32::from(*digit)) << (6 * (4 - group.len()))
    };
    digits.chunks(4).flat_map(|group| bits(group).to_be_bytes()[1..group.len()].to_vec()).collect()
}

/// The verdict line of a whole run over the record.
fn run(case: &Case) -> String {
    let mut options = RunOptions::new(case.settings());
    options.threads = NonZeroUsize::MIN;
    let input = Input::from_reader("corpus", std::io::Cursor::new(case.record()));
    let mut sink = JsonLines::new(Vec::new(), "memory");
    check_corpus(vec![input], &options, &mut sink).unwrap();
    let out = String::from_utf8(sink.into_inner()).unwrap();
    assert_eq!(out.matches('\n').count(), 1, "{}", case.title());
    out.trim_end().to_owned()
}

/// The verdict in the shape that `expected` has: the members that it names.
fn shape(line: &str, expected: &Value) -> Value {
    // The digits of an id may be no number that serde_json reads.
    let digits = expected["id_text"].as_str().map(|digits| format!("\"id\":{digits},"));
    let has_digits = digits.as_ref().is_some_and(|digits| line.contains(digits));
    let readable = if has_digits { line.replacen(&digits.unwrap(), "", 1) } else { line.to_owned() };
    let verdict: Value = serde_json::from_str(&readable).unwrap();
    let finding = |finding: &Value, rule: &str| {
        let mut short = vec![finding[rule].clone(), finding["pointer"].clone()];
        short.extend(finding.get("marker").filter(|_| rule == "code").cloned());
        Value::Array(short)
    };
    let list = |name: &str, rule: &str| {
        verdict[name].as_array().unwrap().iter().map(|f| finding(f, rule)).collect::<Vec<_>>()
    };
    let mut shaped = json!({
        "status": verdict["status"], "errors": list("errors", "code"), "lints": list("lints", "lint"),
    });
    for name in ["kind", "id"] {
        if let Some(value) = verdict.get(name) {
            shaped[name] = value.clone();
        }
    }
    if has_digits {
        shaped["id_text"] = expected["id_text"].clone();
    }
    for name in
        ["counts", "coverage", "polarity", "confidence", "documents_cited", "spans_cited", "chunks_cited"]
    {
        if expected.get(name).is_some() {
            shaped[name] = verdict[name].clone();
        }
    }
    if expected.get("offset").is_some() {
        shaped["offset"] = verdict["errors"][0]["offset"].clone();
    }
    if expected.get("spans").is_some() {
        shaped["spans"] = expected["spans"].clone(); // compared apart
    }
    shaped
}

/// Every ref of a session record, resolved alone.
fn spans(record: &Value) -> Value {
    let list = |name: &str| match record.get(name) {
        Some(list) => ("", list.as_array().unwrap()),
        None => ("/session", record["session"][name].as_array().unwrap()),
    };
    let documents: BTreeMap<&str, &str> = list("documents")
        .1
        .iter()
        .map(|document| (document["path"].as_str().unwrap(), document["content"].as_str().unwrap()))
        .collect();
    let (parent, annotations) = list("annotations");
    let mut found = Vec::new();
    for (i, annotation) in annotations.iter().enumerate() {
        let sources = annotation["sources"].as_array().unwrap().iter().enumerate();
        let sources = sources.map(|(j, source)| (format!("sources/{j}"), source));
        for (name, value) in std::iter::once(("claim".to_owned(), &annotation["claim"])).chain(sources) {
            let pointer = format!("{parent}/annotations/{i}/{name}");
            found.push(
                documents
                    .get(value["path"].as_str().unwrap())
                    .map_or(Value::Null, |content| span(&pointer, content, value)),
            );
        }
    }
    Value::Array(found)
}

fn span(pointer: &str, content: &str, value: &Value) -> Value {
    let digits = |side: &str| value[side]["line"].to_string();
    let (start, end) = (digits("start"), digits("end"));
    let boundary = |side: &str, digits| Boundary {
        line: LineNumber::parse(digits).unwrap(),
        str: value[side]["str"].as_str().unwrap(),
    };
    let (start, end) = (leak(start), leak(end));
    let reference = Ref { path: "", start: boundary("start", start), end: boundary("end", end) };
    let Ok(span) = resolve_ref(content, &reference) else { return Value::Null };
    let units = span.units(content);
    json!({
        "pointer": pointer, "text": span.text(content),
        "bytes": [units.bytes.start, units.bytes.end],
        "code_points": [units.code_points.start, units.code_points.end],
        "utf16": [units.utf16.start, units.utf16.end],
    })
}

/// The digits of a line number live as long as the ref that borrows them: here, the test.
fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// The verdict of the careful reader alone, as it is printed; `None` where the line is none that a
/// reader is given.
fn run_carefully(case: &Case, line: &str) -> Option<String> {
    if line.contains("record_too_large") || line.contains("UTF-16") {
        return None;
    }
    let record = case.record();
    let record = record.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&record);
    let verdict = Checker::new(case.settings()).careful_only().check(record);
    Some(write_verdict_to_string("corpus", &verdict))
}

/// What is wrong with one case.
fn failures(case: &Case) -> Vec<String> {
    let mut failures = Vec::new();
    let mut differ = |what: &str, expected: &dyn Display, found: &dyn Display| {
        failures.push(format!("{}: {what}\n  expected {expected}\n  found    {found}", case.title()));
    };
    let expected = &case.data["expected"];
    let line = run(case);
    let found = shape(&line, expected);
    if found != *expected {
        differ("a run", expected, &found);
    }
    if let Some(careful) = run_carefully(case, &line).filter(|careful| *careful != line) {
        differ("the careful reader", &line, &careful);
    }
    if let Some(expected) = expected.get("spans") {
        let found = spans(&serde_json::from_slice(&case.record()).unwrap());
        if found != *expected {
            differ("spans", expected, &found);
        }
    }
    failures
}

#[test]
fn every_case_has_its_verdict() {
    let cases = cases();
    let failures: Vec<String> = cases.iter().flat_map(failures).collect();
    assert!(failures.is_empty(), "{} of {} cases:\n{}", failures.len(), cases.len(), failures.join("\n"));
    assert!(cases.len() > 300, "only {} cases were found", cases.len());
}

/// Members that `expected` may have: a misspelt one would never be compared.
#[test]
fn every_member_is_one_that_is_compared() {
    let known = [
        "status",
        "kind",
        "id",
        "id_text",
        "errors",
        "lints",
        "offset",
        "counts",
        "coverage",
        "polarity",
        "confidence",
        "documents_cited",
        "spans_cited",
        "chunks_cited",
        "spans",
    ];
    for case in cases() {
        for member in case.data["expected"].as_object().unwrap().keys() {
            assert!(known.contains(&member.as_str()), "{}: {member}", case.title());
        }
        for member in case.data["settings"].as_object().into_iter().flatten().map(|(name, _)| name) {
            let known = ["claim_path", "deny", "allow", "max_record_bytes"];
            assert!(known.contains(&member.as_str()), "{}: {member}", case.title());
        }
    }
}

#[test]
fn every_code_and_lint_has_a_case_and_a_near_miss() {
    let cases = cases();
    let codes = Code::ALL.iter().map(|code| (code.name(), "errors"));
    let lints = Lint::ALL.iter().map(|lint| (lint.name(), "lints"));
    for (name, list) in codes.chain(lints) {
        let own: Vec<&Case> = cases.iter().filter(|case| case.file == name).collect();
        let has = |case: &&&Case| {
            let found = case.data["expected"][list].as_array().unwrap();
            found.iter().any(|finding| finding[0] == name)
        };
        assert!(own.iter().any(|case| has(&case)), "{name} has no case that triggers it");
        assert!(own.iter().any(|case| !has(&case)), "{name} has no near miss");
    }
}
