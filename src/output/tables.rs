//! `summary.csv` and `codes.csv` (contract, section 8).

use super::json::write_billionths;
use super::sanitize::csv_cell;
use crate::diagnostic::{Code, Lint, Rule};
use crate::settings::{Level, LintLevels};
use crate::summary::{CodeTally, InputTally, Metric, MetricSums, Tally};

/// The group that holds every record.
const ALL: &str = "all";

/// `summary.csv`: one row a group and metric.
///
/// # Errors
/// None in practice: it writes to memory.
pub fn write_summary(run: &str, tally: &Tally) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "run",
        "group",
        "metric",
        "numerator",
        "denominator",
        "value",
        "std_error",
        "ci_low",
        "ci_high",
        "records",
    ])?;
    let run = csv_cell(run);
    for metric in Metric::ALL {
        let row = summary_row(*metric, tally.metric(*metric));
        writer.write_record([&run, ALL, metric.name()].into_iter().chain(row.iter().map(String::as_str)))?;
    }
    finish(writer)
}

/// Numerator, denominator, value, error bars and records; what is undefined is empty.
fn summary_row(metric: Metric, sums: &MetricSums) -> [String; 7] {
    let estimate = sums.estimate(metric);
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let interval = estimate.and_then(|estimate| estimate.interval);
    [
        numerator(metric, sums),
        sums.d.to_string(),
        number(estimate.map(|estimate| estimate.value)),
        number(estimate.and_then(|estimate| estimate.std_error)),
        number(interval.map(|interval| interval.0)),
        number(interval.map(|interval| interval.1)),
        sums.records.to_string(),
    ]
}

/// The numerator as it is printed: billionths as the decimal that they are.
fn numerator(metric: Metric, sums: &MetricSums) -> String {
    if !metric.is_in_billionths() {
        return sums.n.to_string();
    }
    let mut out = Vec::new();
    write_billionths(sums.n, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// `codes.csv`: one row a group and code, zeros too; then the lints.
///
/// # Errors
/// None in practice: it writes to memory.
pub fn write_codes(
    run: &str,
    tally: &Tally,
    levels: &LintLevels,
    inputs: &[InputTally],
) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "run",
        "group",
        "code",
        "status",
        "count",
        "records",
        "first_file",
        "first_line",
    ])?;
    let codes = Code::ALL.iter().map(|code| (Rule::Code(*code), status_of(Rule::Code(*code), levels)));
    let lints = Lint::ALL.iter().map(|lint| (Rule::Lint(*lint), status_of(Rule::Lint(*lint), levels)));
    for (rule, status) in codes.chain(lints) {
        let found = tally.rule(rule);
        let (file, line) = first(found, inputs);
        let (count, records) = (found.count.to_string(), found.records.to_string());
        writer.write_record([
            &csv_cell(run),
            ALL,
            rule.name(),
            status,
            &count,
            &records,
            &csv_cell(&file),
            &line,
        ])?;
    }
    finish(writer)
}

/// The status that a finding gives its record, or `lint`.
pub(super) fn status_of(rule: Rule, levels: &LintLevels) -> &'static str {
    match rule {
        Rule::Code(code) => match code.severity() {
            crate::diagnostic::Severity::Invalid => "invalid",
            crate::diagnostic::Severity::Malformed => "malformed",
        },
        Rule::Lint(lint) if levels.get(lint) == Level::Deny => "invalid",
        Rule::Lint(_) => "lint",
    }
}

fn first(found: &CodeTally, inputs: &[InputTally]) -> (String, String) {
    let Some(place) = found.first else { return Default::default() };
    let file = inputs.get(place.input).map_or("", |input| input.name.as_str());
    (file.to_owned(), place.line.to_string())
}

fn finish(writer: csv::Writer<Vec<u8>>) -> Result<Vec<u8>, csv::Error> {
    writer.into_inner().map_err(|error| error.into_error().into())
}
