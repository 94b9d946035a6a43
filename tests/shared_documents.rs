//! Shared documents: a record that points into them has the verdict of one that holds them itself.

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "common/memory.rs"]
mod memory;

use memory::{Failure, Memory, Plan};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use sourcecheck::{
    Begun, Checker, ClaimPaths, Code, CompareOptions, DOCUMENTS_BYTES, Detail, Error, ErrorKind, FolderPlan,
    Input, Lint, MergeOptions, RecordVerdict, Rule, RunFolder, RunKind, RunOptions, Settings, SettingsPart,
    Shard, SharedDocuments, Status, Storage, TimingFile, check_corpus, compare_runs, exit, merge_runs,
};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

fn read(bytes: impl Into<Vec<u8>>, max_bytes: u64) -> Result<SharedDocuments, Error> {
    SharedDocuments::read(Input::from_reader("docs.jsonl", std::io::Cursor::new(bytes.into())), max_bytes)
}

/// Settings with these documents, by path and content.
fn settings(documents: &[(&str, &str)]) -> Settings {
    let line = |(path, content): &(&str, &str)| json!({"path": path, "content": content}).to_string() + "\n";
    let lines: String = documents.iter().map(line).collect();
    Settings { documents: Some(Arc::new(read(lines, DOCUMENTS_BYTES).unwrap())), ..Settings::default() }
}

const PATHS: [&str; 5] = ["a", "b", "c", "d", "no"];

#[derive(Clone, Debug)]
struct Case {
    /// The content of each document, and whether it is shared.
    documents: Vec<(String, bool)>,
    annotations: Vec<Value>,
    /// Which paths a glob names; none where the claims decide.
    globs: Option<Vec<bool>>,
    in_session: bool,
}

fn content() -> impl Strategy<Value = String> {
    let usual = "([abé1 .]|\n|\\. A|的。|\r\n|\"|\\\\){0,14}";
    let long = ("[abé]{1,9}", 100usize..400, usual).prop_map(|(unit, times, end)| unit.repeat(times) + &end);
    let many = (usual, 5usize..40).prop_map(|(part, times)| (part + "\nab. B ").repeat(times));
    prop_oneof![8 => usual, 1 => long, 2 => many]
}

fn boundary() -> impl Strategy<Value = Value> {
    (prop_oneof![6 => 1i64..3, 1 => -1i64..40], "[abé1.A]{0,3}")
        .prop_map(|(line, str)| json!({"line": line, "str": str}))
}

fn reference() -> impl Strategy<Value = Value> {
    (0..PATHS.len(), boundary(), boundary())
        .prop_map(|(path, start, end)| json!({"path": PATHS[path], "start": start, "end": end}))
}

fn annotation() -> impl Strategy<Value = Value> {
    let source = (reference(), any::<bool>()).prop_map(|(mut source, supports)| {
        source["polarity"] = json!(if supports { "supports" } else { "refutes" });
        source["confidence"] = json!(0.5);
        source
    });
    (reference(), vec(source, 1..3)).prop_map(|(claim, sources)| json!({"claim": claim, "sources": sources}))
}

fn case() -> impl Strategy<Value = Case> {
    // Many refs into one long line are looked for together.
    let annotations = prop_oneof![8 => vec(annotation(), 0..8), 1 => vec(annotation(), 30..50)];
    let globs = proptest::option::weighted(0.3, vec(any::<bool>(), 4));
    (vec((content(), any::<bool>()), 4), annotations, globs, any::<bool>()).prop_map(
        |(documents, annotations, globs, in_session)| Case { documents, annotations, globs, in_session },
    )
}

impl Case {
    fn record(&self, is_held: impl Fn(bool) -> bool) -> String {
        let held = PATHS.iter().zip(&self.documents).filter(|(_, (_, shared))| is_held(*shared));
        let documents: Vec<Value> =
            held.map(|(path, (content, _))| json!({"path": path, "content": content})).collect();
        let mut session = json!({"annotations": self.annotations});
        if !documents.is_empty() {
            session["documents"] = documents.into();
        }
        if self.in_session { json!({"session": session}) } else { session }.to_string()
    }

    fn is_claimed(&self, path: &str) -> bool {
        self.annotations.iter().any(|annotation| annotation["claim"]["path"] == path)
    }

    /// The globs of a record that holds all, or of one with shared documents: those count where a claim names
    /// them.
    fn claim_paths(&self, holds_all: bool) -> ClaimPaths {
        let Some(globs) = &self.globs else { return ClaimPaths::default() };
        let chosen = PATHS.iter().zip(globs).zip(&self.documents).filter(|((path, chosen), (_, shared))| {
            **chosen && (!holds_all || !shared || self.is_claimed(path))
        });
        ClaimPaths::new(chosen.map(|((path, _), _)| *path).chain(["nothing"])).unwrap()
    }
}

/// Without what tells shared documents apart: the words of a path that is not found, and lints of contents.
fn without_sharing(mut verdict: RecordVerdict) -> RecordVerdict {
    for error in verdict.errors.iter_mut().filter(|error| error.rule == Rule::Code(Code::PathNotFound)) {
        error.detail = Detail::None;
    }
    verdict.lints.retain(|lint| lint.rule != Rule::Lint(Lint::ContentHasCr));
    verdict
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// The slow twin: every record holds all documents.
    #[test]
    fn a_record_has_the_verdict_of_one_that_holds_all(case in case()) {
        let shared: Vec<(&str, &str)> = PATHS.iter().zip(&case.documents).filter(|(_, (_, shared))| *shared)
            .map(|(path, (content, _))| (*path, content.as_str())).collect();
        let with = Settings { claim_paths: case.claim_paths(false), ..settings(&shared) };
        let twin = Settings { claim_paths: case.claim_paths(true), ..Settings::default() };
        let mut record = case.record(|shared| !shared);
        let mut whole = case.record(|_| true);
        if case.documents.iter().all(|(_, shared)| !shared) {
            prop_assert_eq!(&record, &whole);
        }
        // Long enough for contents to be taken out of it.
        let padding = format!(",\"x\":\"{}\"}}", "y".repeat(600));
        for text in [&mut record, &mut whole] {
            text.pop();
            text.push_str(&padding);
        }
        let expected = without_sharing(Checker::new(twin).with_evidence(usize::MAX).check(whole.as_bytes()));
        let mut checker = Checker::new(with.clone()).with_evidence(usize::MAX);
        for _ in 0..2 {
            prop_assert_eq!(&without_sharing(checker.check(record.as_bytes())), &expected, "{}", record);
        }
        let mut careful = Checker::new(with).with_evidence(usize::MAX).careful_only();
        prop_assert_eq!(&without_sharing(careful.check(record.as_bytes())), &expected, "{}", record);
    }

    /// However the file is written, the contents are those of its strings.
    #[test]
    fn contents_are_read_as_they_are(contents in vec(content(), 0..6), ascii in any::<bool>(), pad in 0usize..600) {
        let mut file = String::from("\u{feff}\n");
        for (i, content) in contents.iter().enumerate() {
            let mut content = json!(content).to_string();
            if ascii {
                content = content.replace('é', "\\u00e9").replace('b', "\\u0062").replace("\\n", "\\u000a");
            }
            file += &format!("{{\"x\":1e400,\"content\" : {content},\"y\":\"{}\",\"path\":\"p{i}\"}} \r\n \t\n", "z".repeat(pad));
        }
        let documents = read(file, DOCUMENTS_BYTES).unwrap();
        prop_assert_eq!(documents.len(), contents.len());
        for (i, content) in contents.iter().enumerate() {
            prop_assert_eq!(documents.content(&format!("p{i}")), Some(content.as_str()));
        }
        let bytes = contents.iter().map(|content| content.len() as u64 + 2).sum::<u64>();
        prop_assert_eq!(documents.bytes(), bytes);
        prop_assert_eq!(documents.content("p"), None);
    }
}

/// The codes and pointers of a record's errors, by both readers.
fn errors(settings: &Settings, record: &str) -> Vec<String> {
    let fast = Checker::new(settings.clone()).with_evidence(9).check(record.as_bytes());
    let careful = Checker::new(settings.clone()).with_evidence(9).careful_only().check(record.as_bytes());
    assert_eq!(fast, careful, "{record}");
    fast.errors.iter().map(|error| format!("{} {}", error.rule.name(), error.pointer)).collect()
}

#[test]
fn what_is_a_session_where_documents_are_shared() {
    let with = settings(&[("a", "one")]);
    let without = Settings::default();
    for (record, expected, before) in [
        (r#"{"annotations":[]}"#, &[][..], &["unknown_record "][..]),
        (r#"{"annotations":7}"#, &["wrong_type /annotations"], &["unknown_record "]),
        (r#"{"annotations":[],"annotations":[]}"#, &["duplicate_field /annotations"], &["unknown_record "]),
        (r#"{"id":1}"#, &["unknown_record "], &["unknown_record "]),
        (
            r#"{"session":{}}"#,
            &["missing_field /annotations"],
            &["missing_field /session/documents", "missing_field /annotations"],
        ),
        (r#"{"session":{"annotations":[]}}"#, &[], &["missing_field /session/documents"]),
        (r#"{"session":{},"annotations":[]}"#, &[], &["missing_field /session/documents"]),
        (r#"{"documents":[]}"#, &["missing_field /annotations"], &["missing_field /annotations"]),
        (
            r#"{"documents":[],"session":{"documents":[],"annotations":[]}}"#,
            &["conflicting_fields /documents"],
            &["conflicting_fields /documents"],
        ),
        (r#"{"documents":null,"annotations":[]}"#, &["wrong_type /documents"], &["wrong_type /documents"]),
        (
            r#"{"annotations":[],"session":{},"context":{}}"#,
            &["conflicting_fields /context"],
            &["conflicting_fields /context"],
        ),
        (
            r#"{"annotations":[],"context":{"sources":[]},"status":"insufficient","answer":"No.","citations":[]}"#,
            &[],
            &[],
        ),
    ] {
        assert_eq!(errors(&with, record), expected, "{record}");
        assert_eq!(errors(&without, record), before, "{record}");
    }
}

#[test]
fn a_path_in_both_is_said_at_each_of_the_records_own() {
    let with = settings(&[("a", "one"), ("b", "two")]);
    let own = r#"[{"path":"x","content":""},{"path":"a","content":7},{"path":"a","content":""},{"path":"b"},{"path":"x","content":""}]"#;
    for (record, at) in [
        (format!(r#"{{"documents":{own},"annotations":[{{}}]}}"#), ""),
        (format!(r#"{{"session":{{"documents":{own}}},"annotations":[{{}}]}}"#), "/session"),
    ] {
        let at = |rest: &str| rest.replace("/documents", &format!("{at}/documents"));
        let expected = [
            "duplicate_path /documents/1/path",
            "wrong_type /documents/1/content",
            "duplicate_path /documents/2/path",
            "duplicate_path /documents/3/path",
            "missing_field /documents/3/content",
            "duplicate_path /documents/4/path",
            "missing_field /annotations/0/claim",
            "missing_field /annotations/0/sources",
        ];
        assert_eq!(errors(&with, &record), expected.map(at));
    }
}

#[test]
fn faults_name_the_line_and_what_is_due() {
    let document = |path: &str| format!("{{\"path\":\"{path}\",\"content\":\"x\"}}\n");
    for (line, words) in [
        ("{\"path\":\"a\"", "docs.jsonl:3: not JSON: it ends in the middle of a value"),
        ("[]", "docs.jsonl:3: a record is an object, and this is an array"),
        ("{\"path\":\"a\"}", "docs.jsonl:3: `content` is required and missing at /content (missing_field)"),
        ("{\"path\":1,\"content\":\"\"}", "at /path (wrong_type)"),
        ("{\"path\":\"a\",\"content\":\"\",\"path\":\"b\"}", "at /path (duplicate_field)"),
        ("{\"path\":\"a\",\"content\":\"\\ud800\"}", "lone surrogate"),
        (
            "{\"path\":\"first\",\"content\":\"\"}",
            "docs.jsonl:3: the document on line 1 has the path \"first\" too",
        ),
    ] {
        let error =
            read(document("first") + "\n" + line + "\n" + &document("last"), DOCUMENTS_BYTES).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(words), "{line}: {message}");
        assert_eq!(exit::of_error(&error), exit::IO, "{line}");
    }
    let invalid = read(b"{\"path\":\"a\",\"content\":\"\xff\"}".to_vec(), 100).unwrap_err();
    assert!(invalid.to_string().contains("not UTF-8"), "{invalid}");
    let utf16 = read(b"\xff\xfe{\0".to_vec(), 100).unwrap_err();
    assert!(utf16.to_string().contains("UTF-16"), "{utf16}");
}

#[test]
fn what_is_too_large_is_noticed_on_the_way() {
    struct Endless(Vec<u8>, u64);
    impl std::io::Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() {
                self.0 = format!("{{\"path\":\"{}\",\"content\":\"{}\"}}\n", self.1, "x".repeat(500)).into();
                self.1 += 1;
            }
            let bytes = self.0.len().min(into.len());
            into[..bytes].copy_from_slice(&self.0[..bytes]);
            self.0.drain(..bytes);
            Ok(bytes)
        }
    }
    let error = SharedDocuments::read(Input::from_reader("e", Endless(Vec::new(), 0)), 100_000).unwrap_err();
    assert!(error.to_string().contains("--max-documents-bytes is 100000"), "{error}");
    assert_eq!(exit::of_error(&error), exit::USAGE);
    let endless = std::io::Read::chain(&b"{\"path\":\""[..], std::io::repeat(b'x'));
    let error = SharedDocuments::read(Input::from_reader("e", endless), 100_000).unwrap_err();
    assert!(error.to_string().starts_with("e:1: the line is longer than"), "{error}");
    assert_eq!(exit::of_error(&error), exit::USAGE);
    // Contents and paths count, to the byte, and nothing else does.
    let file = format!("{{\"x\":\"{}\",\"path\":\"é\",\"content\":\"\\u00e9a\"}}", "y".repeat(5000));
    assert_eq!(read(file.clone(), 5).unwrap().bytes(), 5);
    assert!(read(file, 4).is_err());
}

#[test]
fn the_hash_is_of_the_bytes_that_are_stored() {
    let file = "{\"path\":\"a\",\"content\":\"x\"}\r\n\n{\"path\":\"b\",\"content\":\"y\"}";
    let fnv = |text: &str| {
        text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
    };
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(file.as_bytes()).unwrap();
    let zstd = zstd::encode_all(file.as_bytes(), 1).unwrap();
    for stored in [file.into(), gzip.finish().unwrap(), zstd.clone(), format!("\u{feff}{file}").into()] {
        assert_eq!(read(stored, 100).unwrap().hash(), fnv(file));
    }
    assert_ne!(read(file.replace('y', "z"), 100).unwrap().hash(), fnv(file));
    let cut = read(&zstd[..zstd.len() - 3], 100).unwrap_err();
    assert!(matches!(cut.kind(), ErrorKind::ReadInput { .. }), "{cut}");
    assert_eq!(read("", 0).unwrap().len(), 0);
}

/// Whatever operation on the file fails, it is an error and no panic.
#[test]
fn a_disk_that_fails_is_told() {
    let path = PathBuf::from("/docs.jsonl");
    let files = [(path.clone(), b"{\"path\":\"a\",\"content\":\"x\"}\n".to_vec())].into();
    let memory = Memory::holding(&files);
    memory.plan(None);
    let load = |memory: &Memory| {
        SharedDocuments::read(Input::from_path(Arc::new(memory.clone()), Path::new("/docs.jsonl")), 100)
    };
    assert!(load(&memory).is_ok());
    for at in 1..=memory.operations() {
        memory.plan(Some(Plan { at, failure: Failure::Error, forever: true }));
        if let Err(error) = load(&memory) {
            assert_eq!(exit::of_error(&error), exit::NO_INPUT, "{error}");
        }
    }
}

/// Of documents that claims name, all is counted once; the counts stay right in what order ever it is asked.
#[test]
fn a_large_document_is_covered_by_many_records() {
    let text = "One two. Three four!\n".repeat(5000);
    let with = settings(&[("large", &text), ("s", "x")]);
    let mut checker = Checker::new(with);
    for line in [1, 2500, 5000] {
        let record = json!({"annotations": [{
            "claim": {"path": "large", "start": {"line": line, "str": "two"}, "end": {"line": line, "str": "Three"}},
            "sources": [{"path": "s", "start": {"line": 1, "str": "x"}, "end": {"line": 1, "str": "x"},
                         "polarity": "supports", "confidence": 1}]}]});
        let verdict = checker.check(record.to_string().as_bytes());
        assert_eq!(verdict.status, Status::Valid);
        let Some(sourcecheck::Facts::Session(facts)) = verdict.facts else { panic!("{verdict:?}") };
        assert_eq!((facts.chars.part, facts.chars.whole), (9, 17 * 5000));
        let sentences = facts.sentences.unwrap();
        assert_eq!((sentences.part, sentences.whole), (2, 10_000));
    }
}

const RECORD: &str = concat!(
    r#"{"annotations":[{"claim":{"path":"a","start":{"line":1,"str":"x"},"end":{"line":1,"str":"x"}},"#,
    r#""sources":[{"path":"b","start":{"line":1,"str":"y"},"end":{"line":1,"str":"y"},"polarity":"refutes","confidence":0}]}]}"#,
    "\n"
);

/// Runs over some thousand records into a folder; says whether it went on where one before had ended.
fn run_into(memory: &Memory, folder: &str, settings: &Settings) -> Result<bool, Error> {
    let files = [(PathBuf::from("in.jsonl"), RECORD.repeat(20_000).into_bytes())].into();
    let readable: Arc<dyn Storage> = Arc::new(Memory::holding(&files));
    let input = Input::from_path(readable, Path::new("in.jsonl"));
    let ticks = std::sync::atomic::AtomicU64::new(0);
    let plan = FolderPlan {
        run: "a run",
        settings: SettingsPart::new(settings),
        inputs: [input.fingerprint()].into_iter().collect(),
        restart: false,
        kind: RunKind::Check,
        clock: Box::new(move || {
            Duration::from_secs(ticks.fetch_add(2, std::sync::atomic::Ordering::Relaxed))
        }),
    };
    let (mut out, begun) = RunFolder::open(Arc::new(memory.clone()), Path::new(folder), plan)?;
    let mut options = RunOptions { threads: NonZeroUsize::MIN, ..RunOptions::new(settings.clone()) };
    if let Begun::Resumed(checkpoint) = begun {
        options.start = Some(*checkpoint);
    }
    let went_on = options.start.is_some();
    let outcome = check_corpus(vec![input], &options, &mut out)?;
    let timing = TimingFile { start: String::new(), seconds: 0.0, threads: 1, host: String::new() };
    out.finish(&outcome.report("a run", settings), &timing)?;
    Ok(went_on)
}

fn three_sets() -> [Settings; 3] {
    // The same number of documents and of bytes: the hash tells them apart.
    [settings(&[("a", "x"), ("b", "y")]), settings(&[("a", "x"), ("b", "z")]), Settings::default()]
}

#[test]
fn a_run_with_other_documents_is_not_gone_on_with() {
    let [first, second, none] = three_sets();
    for other in [&second, &none] {
        let (mut refused, mut went_on) = (0, 0);
        for at in 1.. {
            let memory = Memory::default();
            memory.plan(Some(Plan { at, failure: Failure::Error, forever: true }));
            if run_into(&memory, "out", &first).is_ok() {
                break;
            }
            memory.plan(None);
            if let Err(error) = run_into(&memory, "out", other) {
                assert!(error.to_string().contains("documents"), "{error}");
                assert_eq!(exit::of_error(&error), exit::CANNOT_CREATE);
                refused += 1;
            }
            went_on += i32::from(run_into(&memory, "out", &first).unwrap_or(false));
        }
        assert!(refused > 0 && went_on > 0, "{refused} {went_on}");
    }
}

#[test]
fn runs_with_other_documents_are_not_merged_and_not_compared() {
    let [first, second, none] = three_sets();
    let memory = Memory::default();
    let shard = |settings: &Settings, text: &str| Settings {
        shard: Some(Shard::parse(text).unwrap()),
        ..settings.clone()
    };
    run_into(&memory, "1", &shard(&first, "1/2")).unwrap();
    run_into(&memory, "2", &shard(&first, "2/2")).unwrap();
    run_into(&memory, "other", &shard(&second, "2/2")).unwrap();
    run_into(&memory, "none", &shard(&none, "2/2")).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let options = MergeOptions { run: None, restart: false, is_cancelled: &|| false };
    let merge =
        |part: &str| merge_runs(&storage, &["1".into(), part.into()], Path::new("out"), &options).map(drop);
    for part in ["other", "none"] {
        let error = merge(part).unwrap_err();
        assert!(error.to_string().contains("their settings differ: documents"), "{error}");
        assert_eq!(exit::of_error(&error), exit::USAGE);
    }
    merge("2").unwrap();

    for (folder, settings) in [("base", &first), ("same", &first), ("new", &second), ("bare", &none)] {
        run_into(&memory, folder, settings).unwrap();
    }
    let options =
        CompareOptions { max_listed: 1, scratch: Path::new("s"), sort_bytes: 9_999, is_cancelled: &|| false };
    let compare = |new: &str| compare_runs(&memory, Path::new("base"), Path::new(new), &options);
    for (new, words) in
        [("new", "new has 2 shared documents of 4 bytes"), ("bare", "bare has no shared documents")]
    {
        let error = compare(new).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(exit::of_error(&error), exit::USAGE);
    }
    compare("same").unwrap();
}
