//! The records of a corpus that are kept, and those that are rejected.

use super::annotations::drop_invalid;
use super::condition::{Bound, Reason, write_reasons};
use super::{RawRecord, Rewrite, add_line, lines_of, output};
use crate::checker::Checker;
use crate::diagnostic::Rule;
use crate::output::Rewritten;
use crate::settings::{Level, Settings};
use crate::verdict::{RecordVerdict, Status};

/// What a record must hold to, to be kept: every condition that is given. Its outputs are the kept records, the
/// rejected ones, and, if they are wanted, why those were rejected.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Statuses that are kept; any, where there is none.
    pub keep: Vec<Status>,
    /// Bounds, each of which must hold.
    pub bounds: Vec<Bound>,
    /// Codes and lints that no record may have.
    pub reject: Vec<Rule>,
    /// Records are written without their invalid annotations, and judged as they are written. A malformed one
    /// is rejected.
    pub drop_annotations: bool,
    /// Whether to say why records were rejected.
    pub with_reasons: bool,
}

/// What a filter has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterCounts {
    /// Records that were kept.
    pub kept: u64,
    /// Records that were rejected.
    pub rejected: u64,
    /// Of the kept ones, those that were written without some of their annotations.
    pub changed: u64,
    /// Records that are written on several lines, as their inputs have them.
    pub several_lines: u64,
}

impl From<[u64; 4]> for FilterCounts {
    fn from([kept, rejected, changed, several_lines]: [u64; 4]) -> Self {
        Self { kept, rejected, changed, several_lines }
    }
}

impl Filter {
    /// The place of the kept records among the outputs.
    pub const KEPT: usize = 0;
    /// The place of the rejected records.
    pub const REJECTED: usize = 1;
    /// The place of the reasons.
    pub const REASONS: usize = 2;

    /// What must be checked for this filter: lints that it rejects are looked for, and sentences only if it asks.
    pub fn prepare(&self, settings: &mut Settings) {
        for rule in &self.reject {
            if let Rule::Lint(lint) = rule
                && settings.lints.get(*lint) == Level::Allow
            {
                settings.lints.set(*lint, Level::Warn);
            }
        }
        settings.sentences = self.bounds.iter().any(Bound::needs_sentences);
    }

    /// Why a record with this verdict is not kept.
    pub fn reasons(&self, verdict: &RecordVerdict) -> Vec<Reason> {
        let mut reasons = Vec::new();
        if !self.keep.is_empty() && !self.keep.contains(&verdict.status) {
            reasons.push(Reason::Status(verdict.status));
        }
        let unmet = self.bounds.iter().filter(|bound| !bound.holds(verdict));
        reasons.extend(unmet.cloned().map(Reason::Bound));
        for rule in &self.reject {
            let findings = verdict.errors.iter().chain(&verdict.lints);
            let count = findings.filter(|finding| finding.rule == *rule).count() as u64;
            if count > 0 {
                reasons.push(Reason::Finding(*rule, count));
            }
        }
        reasons
    }

    fn reject(
        &self,
        raw: &[u8],
        record: &RawRecord<'_>,
        verdict: &RecordVerdict,
        reasons: &[Reason],
        out: &mut Rewritten,
    ) {
        add_line(raw, output(out, Self::REJECTED));
        out.counts[1] += 1;
        out.counts[3] += u64::from(memchr::memchr(b'\n', raw).is_some());
        if self.with_reasons {
            write_reasons(record.file, verdict, reasons, output(out, Self::REASONS));
        }
    }
}

impl Rewrite for Filter {
    fn record(
        &self,
        record: &RawRecord<'_>,
        verdict: &RecordVerdict,
        checker: &mut Checker,
        out: &mut Rewritten,
    ) {
        if let Some(limit) = verdict.too_large() {
            // Its bytes may have come before; then what is due is the end of its line.
            return self.reject(
                record.raw.unwrap_or_default(),
                record,
                verdict,
                &[Reason::TooLarge(limit)],
                out,
            );
        }
        let raw = lines_of(record.raw.unwrap_or_default());
        if self.drop_annotations && verdict.status == Status::Malformed {
            return self.reject(raw, record, verdict, &[Reason::Malformed], out);
        }
        let left = if self.drop_annotations { drop_invalid(raw, verdict) } else { None };
        let checked = left.as_deref().map(|left| checker.check(left));
        let reasons = self.reasons(checked.as_ref().unwrap_or(verdict));
        if !reasons.is_empty() {
            let judged =
                checked.as_ref().map(|checked| RecordVerdict { line: verdict.line, ..checked.clone() });
            return self.reject(raw, record, judged.as_ref().unwrap_or(verdict), &reasons, out);
        }
        let written = left.as_deref().unwrap_or(raw);
        add_line(written, output(out, Self::KEPT));
        out.counts[0] += 1;
        out.counts[2] += u64::from(left.is_some());
        out.counts[3] += u64::from(memchr::memchr(b'\n', written).is_some());
    }

    fn piece(&self, bytes: &[u8], out: &mut Rewritten) {
        output(out, Self::REJECTED).extend_from_slice(bytes);
    }
}
