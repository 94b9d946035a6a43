//! What two runs differ in beside their records.

use crate::error::Error;
use crate::output::RunFile;
use crate::run::finished::FinishedRun;
use crate::summary::Note;
use serde_json::{Map, Value};

/// Settings that change which lines are written, and no count.
const WITHOUT_EFFECT: [&str; 2] = ["verdicts", "compress"];

/// What a reader of the comparison must know.
pub(super) fn notes(base: &FinishedRun<'_>, new: &FinishedRun<'_>) -> Result<Vec<Note>, Error> {
    let mut notes = Vec::new();
    let (before, after) = (&base.file, &new.file);
    if before.version != after.version {
        notes.push(Note::Version { base: before.version.clone(), new: after.version.clone() });
    }
    if before.unicode != after.unicode {
        notes.push(Note::Unicode { base: before.unicode.clone(), new: after.unicode.clone() });
    }
    let (before, after) = (settings(before)?, settings(after)?);
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    for name in names {
        let value = |settings: &Map<String, Value>| settings.get(name).cloned().unwrap_or_default();
        let (base, new) = (value(&before), value(&after));
        if base != new {
            notes.push(Note::Setting { name: name.clone(), base: base.to_string(), new: new.to_string() });
        }
    }
    let incomplete = [base, new].into_iter().filter(|run| !run.file.complete);
    notes.extend(incomplete.map(|run| Note::Incomplete(run.folder.display().to_string())));
    Ok(notes)
}

/// The settings by name, each lint on its own.
fn settings(file: &RunFile) -> Result<Map<String, Value>, Error> {
    let settings = serde_json::to_value(&file.settings).map_err(|error| Error::defect(error.to_string()))?;
    let mut named = Map::new();
    let Value::Object(settings) = settings else { return Ok(named) };
    for (name, value) in settings.into_iter().filter(|(name, _)| !WITHOUT_EFFECT.contains(&name.as_str())) {
        match value {
            Value::Object(parts) => {
                named.extend(parts.into_iter().map(|(part, value)| (format!("{name}.{part}"), value)));
            }
            value => drop(named.insert(name, value)),
        }
    }
    Ok(named)
}
