//! What a caller may choose, and what of it can change a byte of the output.

use crate::diagnostic::Lint;
use crate::error::Error;
use crate::keys::Keys;
use crate::limits;
use crate::shard::Shard;
use crate::shared::SharedDocuments;
use globset::{GlobBuilder, GlobMatcher};
use std::sync::Arc;

/// How an input's records are told apart (contract, section 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputFormat {
    /// By the name's ending, else by the first line that is not blank.
    #[default]
    Auto,
    /// The whole input is one record.
    Json,
    /// One record a line.
    Jsonl,
}

/// Which verdicts are written as JSON lines. Counts are always of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdicts {
    /// Every one.
    #[default]
    All,
    /// Those of records that are not valid.
    Problems,
}

/// What becomes of a lint's findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Nothing is said.
    Allow,
    /// It is said, and changes no status.
    #[default]
    Warn,
    /// It is an error and makes the record invalid.
    Deny,
}

/// The level of every lint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintLevels(Vec<Level>);

impl Default for LintLevels {
    fn default() -> Self {
        Self(vec![Level::Warn; Lint::ALL.len()])
    }
}

impl LintLevels {
    /// The level of one lint.
    pub fn get(&self, lint: Lint) -> Level {
        self.0[lint as usize]
    }

    /// Sets the level of one lint.
    pub fn set(&mut self, lint: Lint, level: Level) {
        self.0[lint as usize] = level;
    }
}

/// Which documents of a session are claim documents.
#[derive(Clone, Debug, Default)]
pub struct ClaimPaths {
    globs: Vec<GlobMatcher>,
}

impl ClaimPaths {
    /// Documents whose path matches one of the globs. `*` also matches `/`; `?`, `[…]` and `{a,b}`
    /// work as usual. Without a glob: documents that some claim of the record names.
    ///
    /// # Errors
    /// A glob that cannot be read; the message says why.
    pub fn new<G: AsRef<str>>(globs: impl IntoIterator<Item = G>) -> Result<Self, Error> {
        let compile = |glob: G| {
            let built =
                GlobBuilder::new(glob.as_ref()).literal_separator(false).backslash_escape(true).build();
            built.map(|glob| glob.compile_matcher()).map_err(|error| {
                Error::setting(format!("{error}; write a glob such as `answer*` (to match a character such as `[` itself, put a backslash before it)"))
            })
        };
        Ok(Self { globs: globs.into_iter().map(compile).collect::<Result<_, _>>()? })
    }

    /// Whether there is no glob, so that the claims decide.
    pub fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }

    /// Whether a path matches one of the globs.
    pub fn matches(&self, path: &str) -> bool {
        self.globs.iter().any(|glob| glob.is_match(path))
    }

    /// The globs, as they were given.
    pub fn globs(&self) -> impl Iterator<Item = &str> {
        self.globs.iter().map(|glob| glob.glob().glob())
    }
}

/// The settings that can change a byte of a run's files.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which documents count for coverage.
    pub claim_paths: ClaimPaths,
    /// The level of every lint.
    pub lints: LintLevels,
    /// Sentences are found and their coverage is counted.
    pub sentences: bool,
    /// The longest record in bytes, its LF apart.
    pub max_record_bytes: usize,
    /// How records are told apart.
    pub input_format: InputFormat,
    /// Where a record's `id`, groups and cluster stand.
    pub keys: Keys,
    /// Which verdicts are written.
    pub verdicts: Verdicts,
    /// A run's folder has `verdicts.jsonl.zst` in place of `verdicts.jsonl`.
    pub compress: bool,
    /// The part of the corpus that is checked, where it is checked in several.
    pub shard: Option<Shard>,
    /// Documents that every record may point into beside its own.
    pub documents: Option<Arc<SharedDocuments>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            claim_paths: ClaimPaths::default(),
            lints: LintLevels::default(),
            sentences: true,
            max_record_bytes: limits::RECORD_BYTES,
            input_format: InputFormat::Auto,
            keys: Keys::default(),
            verdicts: Verdicts::All,
            compress: false,
            shard: None,
            documents: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_also_matches_a_slash() {
        let paths = ClaimPaths::new(["answers/*", "out?"]).unwrap();
        assert!(paths.matches("answers/a/b.md"));
        assert!(paths.matches("out1"));
        assert!(!paths.matches("src/answers/a"));
        assert!(!paths.matches("out12"));
        assert!(!ClaimPaths::default().matches(""));
    }

    #[test]
    fn a_bad_glob_says_what_to_do() {
        let message = ClaimPaths::new(["[a"]).unwrap_err().to_string();
        assert!(message.contains("[a") && message.contains("glob"), "{message}");
    }
}
