//! `summary.csv` and `codes.csv` (contract, section 8).

use super::json::write_billionths;
use super::run_json::{RunReport, SettingsPart};
use super::sanitize::csv_cell;
use crate::diagnostic::Rule;
use crate::summary::{ALL, CodeTally, InputTally, Metric, MetricSums, Tally, rules};
use std::borrow::Cow;

/// The tallies that tables show: `all`, then the groups.
fn shown<'a>(report: &'a RunReport<'_>) -> impl Iterator<Item = (String, Cow<'a, Tally>)> {
    std::iter::once((ALL.to_owned(), Cow::Borrowed(report.tally))).chain(report.groups.shown())
}

/// `summary.csv`: one row a group and metric.
///
/// # Errors
/// None in practice: it writes to memory.
pub fn write_summary(report: &RunReport<'_>) -> Result<Vec<u8>, csv::Error> {
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
    let run = csv_cell(report.run);
    for (group, tally) in shown(report) {
        let group = csv_cell(&group);
        for metric in Metric::ALL {
            let row = summary_row(*metric, tally.metric(*metric));
            let place = [run.as_ref(), group.as_ref(), metric.name()];
            writer.write_record(place.into_iter().chain(row.iter().map(String::as_str)))?;
        }
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
pub fn write_codes(report: &RunReport<'_>) -> Result<Vec<u8>, csv::Error> {
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
    let run = csv_cell(report.run);
    for (group, tally) in shown(report) {
        let group = csv_cell(&group);
        for rule in rules() {
            let found = tally.rule(rule);
            let status = status_of(rule, &report.settings);
            let (file, line) = first(found, report.inputs);
            let (count, records) = (found.count.to_string(), found.records.to_string());
            let place = [run.as_ref(), group.as_ref(), rule.name()];
            let row = [status, &count, &records, &csv_cell(&file), &line];
            writer.write_record(place.into_iter().chain(row))?;
        }
    }
    finish(writer)
}

/// The status that a finding gives its record, or `lint`.
pub(super) fn status_of(rule: Rule, settings: &SettingsPart) -> &'static str {
    match rule {
        Rule::Code(code) => match code.severity() {
            crate::diagnostic::Severity::Invalid => "invalid",
            crate::diagnostic::Severity::Malformed => "malformed",
        },
        Rule::Lint(lint) if settings.denies(lint) => "invalid",
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
