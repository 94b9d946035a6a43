//! Reports for people: one block an error, then counts.
//!
//! Carets come from annotate-snippets, behind a window that was cut and made safe here.

use super::run_json::RunReport;
use super::sanitize::{Safe, is_unsafe};
use super::sink::{CheckedBatch, Sink, Wants};
use super::words::message;
use crate::diagnostic::{Diagnostic, Evidence, Origin, Rule};
use crate::error::Error;
use crate::summary::{GateOutcome, GateResult, Metric, rules};
use crate::verdict::{Id, RecordVerdict, Status};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt::Write as _;
use std::io::Write;
use std::ops::Range;

/// Whether a report is written with colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// With ANSI escapes; the writer may take them out again.
    Styled,
    /// Without.
    Plain,
}

/// Writes the first errors of a run in full, and counts the rest.
pub struct TextReport<W> {
    writer: W,
    renderer: Renderer,
    left: usize,
    hidden: u64,
}

impl<W: Write + Send> TextReport<W> {
    /// Shows at most `diagnostics` errors in full.
    pub fn new(writer: W, diagnostics: usize, colours: Colours) -> Self {
        let renderer = match colours {
            Colours::Styled => Renderer::styled(),
            Colours::Plain => Renderer::plain(),
        };
        Self { writer, renderer, left: diagnostics, hidden: 0 }
    }

    /// Ends the report: what was not shown, then the counts of the run.
    ///
    /// # Errors
    /// A failed write.
    pub fn finish(mut self, report: &RunReport<'_>) -> Result<(), Error> {
        let mut text = String::new();
        if self.hidden > 0 {
            let _ = writeln!(
                text,
                "{} not shown in full; --max-diagnostics N shows more, --json all of them.\n",
                more_errors(self.hidden)
            );
        }
        text.push_str(&summary(report));
        self.print(&text)
    }

    fn print(&mut self, text: &str) -> Result<(), Error> {
        let written = self.writer.write_all(text.as_bytes()).and_then(|()| self.writer.flush());
        written.map_err(|error| Error::write("standard output", error))
    }
}

impl<W: Write + Send> Sink for TextReport<W> {
    fn wants(&self) -> Wants {
        Wants { errors: self.left > 0, evidence: self.left, ..Wants::default() }
    }

    fn take(&mut self, batch: &CheckedBatch) -> Result<(), Error> {
        let mut text = String::new();
        let mut shown = 0;
        for verdict in &batch.verdicts {
            for error in &verdict.errors {
                if self.left == 0 {
                    break;
                }
                self.left -= 1;
                shown += 1;
                text.push_str(&block(&self.renderer, &batch.file, verdict, error));
                text.push_str("\n\n");
            }
        }
        self.hidden += batch.errors.saturating_sub(shown);
        if text.is_empty() { Ok(()) } else { self.print(&text) }
    }
}

fn more_errors(count: u64) -> String {
    if count == 1 { "1 more error is".to_owned() } else { format!("{count} more errors are") }
}

/// One error: what is wrong, the line with carets, the place in the record, and what to do.
fn block(renderer: &Renderer, file: &str, verdict: &RecordVerdict, error: &Diagnostic) -> String {
    let title = Safe(&message(error).to_string()).to_string();
    let place = place_in_record(file, verdict, error);
    let mut group = Group::with_title(Level::ERROR.primary_title(title).id(error.rule.name()));
    let mut header = None;
    if let Some(evidence) = &error.evidence {
        let (path, line) = origin(file, verdict, evidence);
        header = Some(header_line(&path, line, evidence));
        let (source, marks) = safe_window(evidence);
        let marks = marks.into_iter().map(|mark| AnnotationKind::Primary.span(mark));
        group =
            group.element(Snippet::source(source).line_start(to_usize(line)).fold(false).annotations(marks));
    }
    group = group.element(Level::NOTE.message(place)).element(Level::HELP.message(error.rule.help()));
    let mut text = renderer.render(&[group]);
    if let (Some(header), Some(end_of_title)) = (header, text.find('\n')) {
        text.insert_str(end_of_title, &header);
    }
    text
}

/// The line that says what is shown. The renderer would count columns from the window's start.
fn header_line(path: &str, line: u64, evidence: &Evidence) -> String {
    let indent = line.to_string().len();
    let mut header = format!("\n{:indent$}--> {path}:{line}", "");
    if let Some(mark) = evidence.marks.first() {
        let column = evidence.skipped + evidence.window[..mark.start].chars().count() as u64 + 1;
        let _ = write!(header, ":{column}");
    }
    header
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn place_in_record(file: &str, verdict: &RecordVerdict, error: &Diagnostic) -> String {
    let mut place = format!("{}:{}", Safe(file), verdict.line);
    match &verdict.id {
        Some(Id::Text(id)) => {
            let _ = write!(place, ", id \"{}\"", Safe(id));
        }
        Some(Id::Number(id)) => {
            let _ = write!(place, ", id {id}");
        }
        None => {}
    }
    let pointer = error.pointer.to_string();
    let _ = if pointer.is_empty() {
        write!(place, ", the whole record")
    } else {
        write!(place, ", at {}", Safe(&pointer))
    };
    place
}

/// What the shown line belongs to, and its number there.
fn origin(file: &str, verdict: &RecordVerdict, evidence: &Evidence) -> (String, u64) {
    match &evidence.origin {
        Origin::Document(path) => (format!("document {}", Safe(path)), evidence.line),
        Origin::Answer => ("answer".to_owned(), evidence.line),
        Origin::Record => (Safe(file).to_string(), verdict.line + evidence.line - 1),
    }
}

/// The window with every unsafe character replaced, and the marks moved with the text.
fn safe_window(evidence: &Evidence) -> (String, Vec<Range<usize>>) {
    let mut text = String::with_capacity(evidence.window.len());
    if evidence.skipped > 0 {
        text.push('…');
    }
    let mut moved = vec![0; evidence.window.len() + 1];
    for (at, c) in evidence.window.char_indices() {
        moved[at] = text.len();
        match c {
            '\t' => text.push(' '),
            c if is_unsafe(c) => {
                let _ = write!(text, "{}", Safe(c.encode_utf8(&mut [0; 4])));
            }
            c => text.push(c),
        }
    }
    moved[evidence.window.len()] = text.len();
    let marks = evidence.marks.iter().map(|mark| moved[mark.start]..moved[mark.end]).collect();
    (text, marks)
}

/// The counts of a run, for people.
pub(super) fn summary(report: &RunReport<'_>) -> String {
    let (tally, inputs) = (report.tally, report.inputs);
    let mut text = String::new();
    let count = |status| tally.of_status(status);
    let _ = writeln!(
        text,
        "{} {}: {} valid, {} invalid, {} malformed",
        tally.records(),
        if tally.records() == 1 { "record" } else { "records" },
        count(Status::Valid),
        count(Status::Invalid),
        count(Status::Malformed)
    );
    for metric in Metric::ALL.iter().filter(|metric| tally.metric(**metric).d > 0) {
        let sums = tally.metric(*metric);
        let value = sums.n as f64 / (sums.d * u128::from(metric.unit())) as f64;
        let counts = if metric.is_in_billionths() {
            format!("over {} sources", sums.d)
        } else {
            format!("{} of {}", sums.n, sums.d)
        };
        let _ = writeln!(text, "  {:<24} {value:>8.4}  {counts}", metric.name());
    }
    let found: Vec<Rule> = rules().filter(|rule| tally.rule(*rule).count > 0).collect();
    if !found.is_empty() {
        text.push_str("findings, the place of the first beside each:\n");
    }
    for rule in found {
        let counts = tally.rule(rule);
        let first = counts.first.and_then(|first| Some((inputs.get(first.input)?, first.line)));
        let first = first.map_or(String::new(), |(input, line)| format!("{}:{line}", Safe(&input.name)));
        let kind = if matches!(rule, Rule::Lint(_)) { " (lint)" } else { "" };
        let _ = writeln!(text, "  {:<34} {:>8}  {first}", format!("{}{kind}", rule.name()), counts.count);
    }
    list_groups(report, &mut text);
    text
}

/// The groups with the most records, of all pointers together no more than a screen takes.
fn list_groups(report: &RunReport<'_>, text: &mut String) {
    const LISTED: usize = 20;
    let groups = report.groups.shown();
    if !groups.is_empty() {
        text.push_str("groups: records, and how many of them are valid, invalid and malformed:\n");
    }
    for (name, tally) in groups.iter().take(LISTED) {
        let [valid, invalid, malformed] = tally.statuses;
        let name = Safe(name).to_string();
        let _ = writeln!(text, "  {name:<34} {:>8} {valid:>8} {invalid:>8} {malformed:>8}", tally.records());
    }
    if groups.len() > LISTED {
        let _ =
            writeln!(text, "  and {} more groups: with --out they are in summary.csv", groups.len() - LISTED);
    }
}

/// Writes the counts of a run, as a report for people ends with.
///
/// # Errors
/// A failed write.
pub fn write_text_summary(mut writer: impl Write, report: &RunReport<'_>) -> std::io::Result<()> {
    writer.write_all(summary(report).as_bytes())
}

/// Writes what each gate came to, one a line.
///
/// # Errors
/// A failed write.
pub fn write_gates(mut writer: impl Write, gates: &[GateResult]) -> std::io::Result<()> {
    for gate in gates {
        let how = if gate.holds() { "holds" } else { "FAILS" };
        writeln!(writer, "gate {how}: {}: {}", Safe(&gate.gate), gate_words(gate))?;
    }
    Ok(())
}

fn gate_words(gate: &GateResult) -> String {
    let found = gate.estimate.map_or(String::new(), |estimate| {
        let interval = estimate
            .interval
            .map_or(String::new(), |(low, high)| format!(", 95 % interval {low:.4} to {high:.4}"));
        let records = if gate.records == 1 { "record" } else { "records" };
        format!("{:.4}{interval}, {} {records}", estimate.value, gate.records)
    });
    match gate.outcome {
        GateOutcome::Holds | GateOutcome::Fails => found,
        GateOutcome::NoGroup => "no record is in this group".to_owned(),
        GateOutcome::Undefined => "undefined, since there is nothing that it counts".to_owned(),
        GateOutcome::NotAllKnown => format!(
            "{found}, but coverage.known is below 1: records with nothing to cover are not in it; say with --claim-path what should be covered, or give coverage.known a gate too"
        ),
    }
}
