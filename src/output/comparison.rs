//! Comparisons as text for people, and the words for what one must know beside them.

use super::sanitize::Safe;
use crate::summary::{
    CodeChange, Comparison, Listed, ListedRecord, Matching, Method, Note, RegressionOutcome,
    RegressionResult, Row, Side, Unpaired,
};
use crate::verdict::{Id, Status};
use std::fmt::{self, Write as _};
use std::io::{self, Write};

/// Groups that the text shows; tables have them all.
const GROUPS_IN_TEXT: usize = 20;

/// Writes a comparison for people.
///
/// # Errors
/// A failed write.
pub fn write_comparison(mut writer: impl Write, comparison: &Comparison) -> io::Result<()> {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = text_of(comparison, &mut text);
    writer.write_all(text.as_bytes())?;
    writer.flush()
}

fn text_of(comparison: &Comparison, text: &mut String) -> fmt::Result {
    writeln!(text, "BASE {}", side(&comparison.base))?;
    writeln!(text, "NEW  {}", side(&comparison.new))?;
    if let Some(matching) = &comparison.matching {
        matched(matching, text)?;
    }
    if let Some(why) = comparison.unpaired {
        writeln!(text, "unpaired: {}", unpaired_words(why))?;
    }
    rows(comparison, text)?;
    if let Some(matching) = &comparison.matching {
        changes(matching, text)?;
    }
    codes(comparison, text)?;
    if let Some(matching) = &comparison.matching {
        for (name, side) in [("BASE", &matching.base), ("NEW", &matching.new)] {
            list(&format!("only in {name}"), &side.only, text)?;
            list(&format!("of {name}, with an id that stands more than once"), &side.repeated, text)?;
            list(&format!("of {name}, without an id"), &side.without_id, text)?;
        }
    }
    Ok(())
}

fn side(side: &Side) -> String {
    let run = if side.run.is_empty() { String::new() } else { format!(" ({})", Safe(&side.run)) };
    format!("{}{run}: {}", Safe(&side.folder), records(side.records))
}

fn records(count: u64) -> String {
    if count == 1 { "1 record".to_owned() } else { format!("{count} records") }
}

fn matched(matching: &Matching, text: &mut String) -> fmt::Result {
    write!(text, "{} in both, by id", records(matching.pairs))?;
    for (name, side) in [("BASE", &matching.base), ("NEW", &matching.new)] {
        let parts =
            [(&side.only, "there only"), (&side.repeated, "repeated"), (&side.without_id, "without an id")];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(list, _)| list.count > 0)
            .map(|(list, what)| format!("{} {what}", list.count))
            .collect();
        if !parts.is_empty() {
            write!(text, "; of {name} {}", parts.join(", "))?;
        }
    }
    text.push('\n');
    Ok(())
}

/// Why all records of each run are compared.
pub(super) fn unpaired_words(why: Unpaired) -> &'static str {
    match why {
        Unpaired::FewPairs => {
            "fewer than half of the smaller run's records are in both, so each run counts as a whole"
        }
        Unpaired::OnlyProblems => {
            "a run was written with --verdicts problems, so records cannot be matched and each run counts as a whole"
        }
    }
}

/// The rows where both values are defined, group by group.
fn rows(comparison: &Comparison, text: &mut String) -> fmt::Result {
    let shown = comparison.rows.iter().filter(|row| row.difference.is_some());
    let (mut group, mut groups) = (None, 0);
    for row in shown {
        if group != Some(&row.group) {
            group = Some(&row.group);
            groups += 1;
            if groups <= GROUPS_IN_TEXT + 1 {
                write_group(&row.group, text)?;
            }
        }
        if groups <= GROUPS_IN_TEXT + 1 {
            write_row(row, text)?;
        }
    }
    if groups > GROUPS_IN_TEXT + 1 {
        writeln!(text, "and {} more groups: --csv has them", groups - GROUPS_IN_TEXT - 1)?;
    }
    let family = comparison.rows.iter().filter(|row| row.p_holm.is_some()).count();
    if family > 0 {
        writeln!(
            text,
            "p: the probability of a difference as large by chance alone; p (Holm): corrected for {family} of them; *: McNemar's exact test"
        )?;
    }
    Ok(())
}

fn write_group(group: &str, text: &mut String) -> fmt::Result {
    let name = Safe(group).to_string();
    writeln!(
        text,
        "{name:<24} {:>8} {:>8} {:>8}  {:<18} {:>8} {:>9}",
        "BASE", "NEW", "change", "95 % interval", "p", "p (Holm)"
    )
}

fn write_row(row: &Row, text: &mut String) -> fmt::Result {
    let (Some(base), Some(new), Some(difference)) = (row.base, row.new, row.difference) else {
        return Ok(());
    };
    let interval = difference.interval();
    let interval = interval.map_or(String::new(), |(low, high)| format!("{low:+.4} to {high:+.4}"));
    let p = |p: Option<f64>| p.map_or(String::new(), significant);
    let mark = if row.method == Method::McNemar { "*" } else { "" };
    let line = format!(
        "  {:<22} {base:>8.4} {new:>8.4} {:>+8.4}  {interval:<18} {:>8} {:>9} {mark}",
        row.metric.name(),
        positive_zero(difference.delta),
        p(difference.p),
        p(row.p_holm)
    );
    writeln!(text, "{}", line.trim_end())
}

/// What would be printed as `-0.0000` is no fall.
fn positive_zero(number: f64) -> f64 {
    if number.abs() < 0.00005 { 0.0 } else { number }
}

/// A probability with three significant digits.
fn significant(p: f64) -> String {
    if p >= 0.9995 {
        "1".to_owned()
    } else if p < 1e-300 {
        "<1e-300".to_owned()
    } else if p < 0.0001 {
        format!("{p:.2e}")
    } else {
        // The first digit that is not 0 stands at this place after the point.
        let place = -p.log10().floor() as usize;
        format!("{p:.*}", place + 2)
    }
}

fn changes(matching: &Matching, text: &mut String) -> fmt::Result {
    if matching.pairs > 0 && matching.no_longer_valid.count + matching.now_valid.count == 0 {
        writeln!(text, "no record went from valid to not valid, or back")?;
    }
    list("no longer valid", &matching.no_longer_valid, text)?;
    list("valid now", &matching.now_valid, text)
}

fn list(what: &str, list: &Listed, text: &mut String) -> fmt::Result {
    if list.count == 0 {
        return Ok(());
    }
    writeln!(text, "{} {what}:", records(list.count))?;
    for record in &list.first {
        writeln!(text, "  {}", listed(record))?;
    }
    if list.left_out() > 0 {
        writeln!(text, "  and {} more; --max-listed N lists more", list.left_out())?;
    }
    Ok(())
}

fn listed(record: &ListedRecord) -> String {
    let mut line = match &record.id {
        Some(Id::Text(id)) => format!("\"{}\"  ", Safe(id)),
        Some(Id::Number(id)) => format!("{id}  "),
        None => String::new(),
    };
    let _ = write!(line, "{}:{}  ", Safe(&record.file), record.line);
    let statuses = [record.before, record.after].into_iter().flatten().map(Status::name);
    line.push_str(&statuses.collect::<Vec<_>>().join(" -> "));
    for (sign, codes) in [('+', &record.new_codes), ('-', &record.gone_codes)] {
        for code in codes {
            let _ = write!(line, " {sign}{}", code.name());
        }
    }
    line
}

fn codes(comparison: &Comparison, text: &mut String) -> fmt::Result {
    if comparison.codes.is_empty() {
        return Ok(());
    }
    writeln!(text, "codes that rose or fell, in records of BASE and of NEW:")?;
    for CodeChange { rule, base, new } in &comparison.codes {
        let change = i128::from(*new) - i128::from(*base);
        writeln!(text, "  {:<34} {base:>8} {new:>8} {change:>+8}", rule.name())?;
    }
    Ok(())
}

/// What a reader of a comparison must know beside it, as text without line breaks.
pub fn note_words(note: &Note) -> String {
    match note {
        Note::Version { base, new } => {
            format!("the runs are of different versions of sourcecheck: BASE of {base}, NEW of {new}")
        }
        Note::Unicode { base, new } => {
            format!("the runs are of different versions of Unicode: BASE of {base}, NEW of {new}")
        }
        Note::Setting { name, base, new } => {
            format!("the runs differ in a setting: {name} is {base} in BASE and {new} in NEW")
        }
        Note::Incomplete(folder) => format!("{folder}: the run did not read all of its inputs"),
    }
}

/// Writes what each condition of `--fail-on-regression` came to, one a line.
///
/// # Errors
/// A failed write.
pub fn write_regressions(mut writer: impl Write, results: &[RegressionResult]) -> io::Result<()> {
    for result in results {
        let how = if result.fails() { "regression" } else { "no regression" };
        writeln!(writer, "{how}: {}: {}", Safe(&result.condition), regression_words(result))?;
    }
    Ok(())
}

fn regression_words(result: &RegressionResult) -> String {
    let Some(delta) = result.delta else {
        return "undefined in one of the runs, since there is nothing that it counts".to_owned();
    };
    let found = format!("changed by {:+.4}", positive_zero(delta));
    let p = result.p_holm.map_or(", p unknown".to_owned(), |p| format!(", p {} (Holm)", significant(p)));
    match result.outcome {
        RegressionOutcome::MayBeChance => format!("{found}{p}: that may be chance"),
        _ => format!("{found}{p}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits() {
        for (p, text) in [
            (1.0, "1"),
            (0.99949, "0.999"),
            (0.9996, "1"),
            (0.5, "0.500"),
            (0.04567, "0.0457"),
            (0.1, "0.100"),
            (0.00012345, "0.000123"),
            (0.0000999, "9.99e-5"),
            (1.5e-300, "1.50e-300"),
            (0.0, "<1e-300"),
        ] {
            assert_eq!(significant(p), text);
        }
    }
}
