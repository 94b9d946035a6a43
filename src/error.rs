//! Why a run failed. Findings about the data are never errors: they are values in a verdict.

use std::fmt;
use std::io;

/// A run, or the call that was to start one, failed.
///
/// A bad record is never an `Error`: it has a verdict of its own (see
/// [`RecordVerdict`](crate::RecordVerdict)). An input that cannot be opened or read does not end a
/// run either: it is an [`InputProblem`](crate::InputProblem) of the outcome.
#[derive(Debug)]
pub struct Error(Box<ErrorKind>);

/// What kind of failure an [`Error`] is.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting that cannot be used: what is wrong, and what to do.
    Setting(String),
    /// An input that the run needs before it starts could not be read.
    OpenInput {
        /// The path, as it was given.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A folder is not that of a finished run: what is wrong with it, and what to do.
    NoRun {
        /// The folder, as it was given.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// A file could be opened, and not be read to its end: a file of a run, or a temporary one.
    ReadInput {
        /// The path, with the line where one is known.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// An output file or folder could not be created.
    CreateOutput {
        /// The path, as it was given.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// Another run is writing into the folder.
    Held {
        /// The path, as it was given.
        path: String,
    },
    /// The folder of a run cannot be used for this one.
    Folder {
        /// The path, as it was given.
        path: String,
        /// Why, and what to do.
        reason: String,
    },
    /// Writing an output failed: a full disk, for example.
    WriteOutput {
        /// The path, as it was given; `standard output` for standard output.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// The reader of the output went away (a closed pipe).
    OutputClosed,
    /// The run was cancelled by its caller.
    Cancelled,
    /// The program broke one of its own promises; the data are not to blame.
    Defect(String),
}

impl Error {
    /// The kind of this error.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// A setting that cannot be used.
    pub fn setting(what: impl Into<String>) -> Self {
        Self(Box::new(ErrorKind::Setting(what.into())))
    }

    /// A broken promise of the program itself.
    pub fn defect(what: impl Into<String>) -> Self {
        Self(Box::new(ErrorKind::Defect(what.into())))
    }

    /// The run was cancelled.
    pub fn cancelled() -> Self {
        Self(Box::new(ErrorKind::Cancelled))
    }

    /// An input that could not be read.
    pub fn open(path: impl fmt::Display, source: io::Error) -> Self {
        Self(Box::new(ErrorKind::OpenInput { path: path.to_string(), source }))
    }

    /// A folder that is not that of a finished run.
    pub fn no_run(path: impl fmt::Display, reason: impl Into<String>) -> Self {
        Self(Box::new(ErrorKind::NoRun { path: path.to_string(), reason: reason.into() }))
    }

    /// A file that cannot be read to its end.
    pub fn read(path: impl fmt::Display, reason: impl Into<String>) -> Self {
        Self(Box::new(ErrorKind::ReadInput { path: path.to_string(), reason: reason.into() }))
    }

    /// An output that could not be created.
    pub fn create(path: impl fmt::Display, source: io::Error) -> Self {
        Self(Box::new(ErrorKind::CreateOutput { path: path.to_string(), source }))
    }

    /// A folder that another run is writing into.
    pub fn held(path: impl fmt::Display) -> Self {
        Self(Box::new(ErrorKind::Held { path: path.to_string() }))
    }

    /// A folder that cannot be used for this run.
    pub fn folder(path: impl fmt::Display, reason: impl Into<String>) -> Self {
        Self(Box::new(ErrorKind::Folder { path: path.to_string(), reason: reason.into() }))
    }

    /// A failed write; a closed pipe is told apart from the other failures.
    pub fn write(path: impl fmt::Display, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::BrokenPipe {
            return Self(Box::new(ErrorKind::OutputClosed));
        }
        Self(Box::new(ErrorKind::WriteOutput { path: path.to_string(), source }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            ErrorKind::Setting(what) => f.write_str(what),
            ErrorKind::Held { path } => {
                write!(f, "{path}: another run is writing into it; wait for it, or choose another folder")
            }
            ErrorKind::Folder { path, reason } => write!(f, "{path}: {reason}"),
            ErrorKind::OpenInput { path, source } => write!(f, "{path}: cannot be read: {source}"),
            ErrorKind::NoRun { path, reason } | ErrorKind::ReadInput { path, reason } => {
                write!(f, "{path}: {reason}")
            }
            ErrorKind::CreateOutput { path, source } => {
                write!(f, "cannot create {path}: {source}; choose another place or mend its permissions")
            }
            ErrorKind::WriteOutput { path, source } => {
                write!(f, "cannot write {path}: {source}; what was written is not complete")
            }
            ErrorKind::OutputClosed => f.write_str("the reader of the output went away"),
            ErrorKind::Cancelled => f.write_str("the run was interrupted"),
            ErrorKind::Defect(what) => write!(f, "a defect in sourcecheck: {what}; please report it"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.kind() {
            ErrorKind::OpenInput { source, .. }
            | ErrorKind::CreateOutput { source, .. }
            | ErrorKind::WriteOutput { source, .. } => Some(source),
            _ => None,
        }
    }
}
