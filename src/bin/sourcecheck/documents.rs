//! The shared documents that a command line names.

use crate::terminal::note;
use sourcecheck::{Disk, Error, Input, Level, Lint, LintLevels, SharedDocuments};
use std::path::Path;
use std::sync::Arc;

/// Reads them. What a lint says of a document is said here once: they belong to no record.
pub(crate) fn load(path: &Path, max_bytes: u64, lints: &LintLevels) -> Result<Arc<SharedDocuments>, Error> {
    if path == Path::new("-") {
        return Err(Error::setting(
            "--documents cannot be standard input, which a run that goes on could not read again; name a file",
        ));
    }
    let documents = SharedDocuments::read(Input::from_path(Arc::new(Disk), path), max_bytes)?;
    if let Some((count, first)) = documents.with_cr()
        && lints.get(Lint::ContentHasCr) != Level::Allow
    {
        let (name, lint) = (path.display(), Lint::ContentHasCr.name());
        note(&format!(
            "{name}: {count} of {} shared documents hold CR ({lint}), {first:?} first; refs count LF lines only",
            documents.len()
        ));
    }
    Ok(Arc::new(documents))
}
