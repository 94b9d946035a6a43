//! `self_quote`: a text that cites itself proves nothing.

use super::with_annotations;
use crate::diagnostic::{Diagnostic, Lint};
use crate::model::Record;

pub(super) fn check(record: &Record<'_>, found: &mut Vec<Diagnostic>) {
    let Record::Session(session) = record else { return };
    with_annotations(session, |list| {
        for (i, annotation) in session.annotations.iter().enumerate() {
            for (j, source) in session.sources_of(annotation).iter().enumerate() {
                if source.reference.path == annotation.claim.path {
                    let pointer = list.index(i).name("sources").index(j).pointer();
                    found.push(Diagnostic::lint(Lint::SelfQuote, pointer));
                }
            }
        }
    });
}
