//! `duplicate_declared`: one marker, declared once, is enough.

use crate::diagnostic::{At, Diagnostic, Lint};
use crate::model::{Names, Record};

pub(super) fn check(record: &Record<'_>, found: &mut Vec<Diagnostic>) {
    let Record::Answer(answer) = record else { return };
    let root = At::ROOT;
    let output = root.name("output");
    let parent = if answer.in_output { &output } else { &root };
    let list = parent.name("citations");
    let mut seen = Names::default();
    for (i, marker) in answer.citations.iter().enumerate() {
        if !seen.insert(marker) {
            found.push(Diagnostic::lint(Lint::DuplicateDeclared, list.index(i).pointer()).about(marker));
        }
    }
}
