//! `content_has_cr`: refs count LF lines, so a CR is a character of its line and surprises people.

use crate::diagnostic::{At, Diagnostic, Lint};
use crate::model::Record;

pub(super) fn check(record: &Record<'_>, found: &mut Vec<Diagnostic>) {
    let Record::Session(session) = record else { return };
    let root = At::ROOT;
    let inside = root.name("session");
    let parent = if session.place.documents_in_session { &inside } else { &root };
    let list = parent.name("documents");
    for (i, document) in session.documents.iter().enumerate() {
        if document.content.has_cr() {
            found.push(Diagnostic::lint(Lint::ContentHasCr, list.index(i).name("content").pointer()));
        }
    }
}
