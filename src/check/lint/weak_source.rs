//! `weak_source`: the spec says of confidence under 0.3, "usually omit instead of citing".

use super::with_annotations;
use crate::diagnostic::{Diagnostic, Lint};
use crate::model::Record;

/// Sources with less confidence are weak.
const FLOOR: f64 = 0.3;

pub(super) fn check(record: &Record<'_>, found: &mut Vec<Diagnostic>) {
    let Record::Session(session) = record else { return };
    with_annotations(session, |list| {
        for (i, annotation) in session.annotations.iter().enumerate() {
            for (j, source) in session.sources_of(annotation).iter().enumerate() {
                if source.confidence < FLOOR {
                    let pointer = list.index(i).name("sources").index(j).name("confidence").pointer();
                    found.push(Diagnostic::lint(Lint::WeakSource, pointer));
                }
            }
        }
    });
}
