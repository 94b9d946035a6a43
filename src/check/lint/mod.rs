//! Lints: one file each, and this table.

mod content_has_cr;
mod duplicate_declared;
mod self_quote;
mod weak_source;

use crate::diagnostic::{At, Diagnostic, Lint};
use crate::model::{Record, Session};
use crate::settings::{Level, LintLevels};

/// Looks at one readable record and adds what it finds, in document order.
type Check = fn(&Record<'_>, &mut Vec<Diagnostic>);

/// The function of each lint.
fn check_of(lint: Lint) -> Check {
    match lint {
        Lint::ContentHasCr => content_has_cr::check,
        Lint::SelfQuote => self_quote::check,
        Lint::WeakSource => weak_source::check,
        Lint::DuplicateDeclared => duplicate_declared::check,
    }
}

/// Applies every lint that is not allowed; what a denied one finds is an error.
pub(crate) fn check_lints(
    record: &Record<'_>,
    levels: &LintLevels,
    lints: &mut Vec<Diagnostic>,
    errors: &mut Vec<Diagnostic>,
) {
    for lint in Lint::ALL.iter().copied() {
        match levels.get(lint) {
            Level::Allow => {}
            Level::Warn => check_of(lint)(record, lints),
            Level::Deny => check_of(lint)(record, errors),
        }
    }
}

/// Calls `look` with each annotation's index and the place of the session's annotations.
fn with_annotations(session: &Session<'_>, look: impl FnOnce(&At<'_>)) {
    let root = At::ROOT;
    let inside = root.name("session");
    let parent = if session.place.annotations_in_session { &inside } else { &root };
    look(&parent.name("annotations"));
}
