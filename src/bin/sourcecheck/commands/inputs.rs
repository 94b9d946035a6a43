//! The inputs that a command line names.

use crate::args::InputArgs;
use crate::terminal::standard_input;
use sourcecheck::{Disk, Error, Input, Storage, expand};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The inputs in the order of the command line, then those of `--files-from`.
pub(super) fn open_inputs(args: &InputArgs) -> Result<Vec<Input>, Error> {
    let storage: Arc<dyn Storage> = Arc::new(Disk);
    let listed = match &args.files_from {
        None if args.inputs.is_empty() => return Ok(vec![Input::from_reader("-", standard_input())]),
        None => Vec::new(),
        Some(list) => read_list(&storage, list)?,
    };
    let named: Vec<&PathBuf> = args.inputs.iter().chain(&listed).collect();
    let standard = |path: &PathBuf| path == Path::new("-");
    let times = named.iter().filter(|path| standard(path)).count();
    if times + usize::from(args.files_from.as_deref() == Some(Path::new("-"))) > 1 {
        return Err(Error::setting("standard input is named twice, and can be read once"));
    }
    let mut inputs = Vec::new();
    for path in named {
        if standard(path) {
            inputs.push(Input::from_reader("-", standard_input()));
            continue;
        }
        // A directory that cannot be listed fails again, and is told of, when it is opened.
        let found = expand(&storage, path, args.recursive);
        inputs.extend(found.unwrap_or_else(|_| vec![Input::from_path(Arc::clone(&storage), path)]));
    }
    Ok(inputs)
}

/// The paths in a list: one a line, empty lines left out.
fn read_list(storage: &Arc<dyn Storage>, list: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut bytes = Vec::new();
    let read = if list == Path::new("-") {
        standard_input().read_to_end(&mut bytes)
    } else {
        storage.open(list).and_then(|mut file| file.read_to_end(&mut bytes))
    };
    read.map_err(|error| Error::open(list.display(), error))?;
    let lines = bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    Ok(lines.filter(|line| !line.is_empty()).map(path_of).collect())
}

#[cfg(unix)]
fn path_of(line: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(line))
}

#[cfg(not(unix))]
fn path_of(line: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(line).into_owned())
}
