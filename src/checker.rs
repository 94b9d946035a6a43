//! The spine: one record through decode → resolve → check. Read this first.

use crate::check::{SessionScratch, attach_evidence, check_answer, check_lints, check_session};
use crate::decode::json::{FastReader, read_carefully};
use crate::decode::{Decoded, Findings, Lists, Tree, decode};
use crate::diagnostic::{Code, Detail, Diagnostic, Pointer};
use crate::keys::Keys;
use crate::limits::BUFFER_KEEP_BYTES;
use crate::model::{Record, recycle};
use crate::settings::Settings;
use crate::verdict::{Facts, RecordVerdict};
use std::cell::OnceCell;

/// Checks records one after the other, reusing its memory. One per thread.
///
/// ```
/// use sourcecheck::{Checker, Settings, Status};
///
/// let record = br#"{"documents":[{"path":"a","content":"Hello, I am GPT"}],"annotations":[]}"#;
/// let mut checker = Checker::new(Settings::default());
/// let verdict = checker.check(record);
/// assert_eq!(verdict.status, Status::Valid);
/// ```
pub struct Checker {
    settings: Settings,
    fast: FastReader,
    lists: Lists<'static>,
    session: SessionScratch,
    evidence: usize,
    careful_only: bool,
    /// The settings have keys beyond the usual `id`.
    has_keys: bool,
}

/// A raw line that holds no record that could be read, found so before decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is longer than the limit.
    TooLarge,
    /// The input starts with a UTF-16 byte order mark.
    Utf16,
}

impl Checker {
    /// A checker with these settings. Findings carry no [`Evidence`](crate::Evidence).
    pub fn new(settings: Settings) -> Self {
        Self {
            has_keys: settings.keys != Keys::default(),
            settings,
            fast: FastReader::default(),
            lists: Lists::default(),
            session: SessionScratch::default(),
            evidence: 0,
            careful_only: false,
        }
    }

    /// How many errors of a record, from the first on, carry [`Evidence`](crate::Evidence) for people
    /// to see. It costs time on records with errors.
    #[must_use]
    pub fn with_evidence(mut self, errors: usize) -> Self {
        self.set_evidence(errors);
        self
    }

    /// Changes that number between two records.
    pub fn set_evidence(&mut self, errors: usize) {
        self.evidence = errors;
    }

    /// Reads every record with the careful reader alone: the slow twin of the fast path, for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn careful_only(mut self) -> Self {
        self.careful_only = true;
        self
    }

    /// Checks one record: the bytes of one line of a corpus, with or without its line end.
    ///
    /// The size limit of the settings is not looked at here; the other rules all are.
    pub fn check(&mut self, raw: &[u8]) -> RecordVerdict {
        let mut verdict = RecordVerdict::new(1);
        self.check_into(raw, &mut verdict);
        verdict
    }

    /// The same into a verdict that was made or reset for the record's line.
    pub fn check_into(&mut self, raw: &[u8], verdict: &mut RecordVerdict) {
        self.prepare(verdict);
        let done = !self.careful_only && self.check_fast(raw, verdict);
        if !done {
            self.check_carefully(raw, verdict);
        }
        verdict.settle();
    }

    /// A grouped record has groups, though they may not be known.
    fn prepare(&self, verdict: &mut RecordVerdict) {
        verdict.groups = (self.has_keys && !self.settings.keys.groups.is_empty()).then(Vec::new);
    }

    /// The verdict on a line that was not handed over as a record.
    pub fn check_unreadable(&self, unreadable: Unreadable, verdict: &mut RecordVerdict) {
        self.prepare(verdict);
        let limit = self.settings.max_record_bytes;
        let (code, detail, offset) = match unreadable {
            Unreadable::TooLarge => (Code::RecordTooLarge, Detail::LimitBytes(limit as u64), limit),
            Unreadable::Utf16 => (Code::InvalidUtf8, Detail::Utf16, 0),
        };
        verdict.errors.push(Diagnostic::new(code, Pointer::ROOT).with(detail).at_offset(offset));
        verdict.settle();
    }

    /// False where the record must be read with care: then the verdict is as it was.
    fn check_fast(&mut self, raw: &[u8], verdict: &mut RecordVerdict) -> bool {
        let Some(record) = self.fast.read(raw) else { return false };
        let inner = OnceCell::new();
        let mut findings = Findings::default();
        let lists = std::mem::take(&mut self.lists);
        let keys = self.has_keys.then_some(&self.settings.keys);
        let shared = self.settings.documents.as_deref();
        let decoded = decode(record.root(), &record, keys, shared, &inner, lists, &mut findings);
        let sure = !findings.unsure;
        if sure {
            identify(&mut findings, verdict);
        }
        let kept = match decoded {
            Some(decoded) => {
                if sure {
                    judge(&self.settings, &mut self.session, self.evidence, raw, &decoded, verdict);
                }
                keep_lists(decoded)
            }
            None => {
                if sure {
                    verdict.errors = findings.errors;
                    explain(self.evidence, raw, verdict);
                }
                Lists::default()
            }
        };
        let memory = record.into_memory();
        self.lists = kept;
        self.fast.finish(memory, raw.len());
        if raw.len() > BUFFER_KEEP_BYTES {
            (self.lists, self.session) = (Lists::default(), SessionScratch::default());
        }
        sure
    }

    fn check_carefully(&mut self, raw: &[u8], verdict: &mut RecordVerdict) {
        let tree = match read_carefully(raw) {
            Ok(tree) => tree,
            Err(fault) => {
                verdict.errors.push(fault.diagnostic(raw));
                return explain(self.evidence, raw, verdict);
            }
        };
        let inner: OnceCell<Tree<'_>> = OnceCell::new();
        let mut findings = Findings::default();
        let keys = self.has_keys.then_some(&self.settings.keys);
        let shared = self.settings.documents.as_deref();
        let decoded = decode(&tree, &Decoded, keys, shared, &inner, Lists::default(), &mut findings);
        identify(&mut findings, verdict);
        match decoded {
            Some(record) => judge(&self.settings, &mut self.session, self.evidence, raw, &record, verdict),
            None => {
                verdict.errors = findings.errors;
                explain(self.evidence, raw, verdict);
            }
        }
    }
}

/// What a record is, whatever else is wrong with it.
fn identify(findings: &mut Findings, verdict: &mut RecordVerdict) {
    (verdict.id, verdict.kind) = (findings.id.take(), findings.kind);
    if findings.cluster.is_some() {
        verdict.cluster = findings.cluster.take();
    }
    if let Some(groups) = &mut verdict.groups {
        *groups = std::mem::take(&mut findings.groups);
    }
}

/// Adds to the errors of a malformed record what people need to see.
fn explain(evidence: usize, raw: &[u8], verdict: &mut RecordVerdict) {
    attach_evidence(raw, None, None, &mut verdict.errors, evidence);
}

/// Resolves and checks a readable record.
fn judge(
    settings: &Settings,
    scratch: &mut SessionScratch,
    evidence: usize,
    raw: &[u8],
    record: &Record<'_>,
    verdict: &mut RecordVerdict,
) {
    let facts = match record {
        Record::Session(session) => {
            Facts::Session(check_session(session, settings, scratch, &mut verdict.errors))
        }
        Record::Answer(answer) => {
            Facts::Answer(check_answer(answer, settings.sentences, &mut verdict.errors))
        }
    };
    verdict.facts = Some(facts);
    attach_evidence(raw, Some(record), settings.documents.as_deref(), &mut verdict.errors, evidence);
    check_lints(record, &settings.lints, &mut verdict.lints, &mut verdict.errors);
}

/// The lists of a record that is done with, emptied, for the next one.
fn keep_lists(record: Record<'_>) -> Lists<'static> {
    match record {
        Record::Session(session) => Lists {
            documents: recycle(session.documents),
            annotations: recycle(session.annotations),
            sources: recycle(session.sources),
            ..Lists::default()
        },
        Record::Answer(answer) => Lists {
            citations: recycle(answer.citations),
            context: recycle(answer.sources),
            ..Lists::default()
        },
    }
}
