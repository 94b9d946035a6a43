//! The one door to the file system, so that a test can fail its Nth operation and ask what is left.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// What [`Storage::stat`] tells of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Whether the path itself is a symbolic link; the rest is told of what it leads to.
    pub is_link: bool,
    /// Its size in bytes as stored; 0 for what has none, such as a pipe.
    pub bytes: u64,
}

/// A file that is being written.
pub trait OutputFile: Write + Send {
    /// Asks the system to put everything written so far on the disk.
    ///
    /// # Errors
    /// What the system says, for example that the disk is full.
    fn sync(&mut self) -> io::Result<()>;
}

/// File access as a run needs it. [`Disk`] is the real one.
///
/// Reads and writes through it are large (hundreds of kilobytes), so that a call through the trait
/// costs nothing that can be measured.
pub trait Storage: Send + Sync {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// What the system says: it does not exist, it may not be read.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>>;
    /// Creates a file, or empties the one that is there.
    ///
    /// # Errors
    /// What the system says.
    fn create(&self, path: &Path) -> io::Result<Box<dyn OutputFile>>;
    /// Renames a file, replacing what has the new name.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// What the system says; that there is no such file, too.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// The paths directly in a directory, in any order.
    ///
    /// # Errors
    /// What the system says.
    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>>;
    /// What a path is; links are followed.
    ///
    /// # Errors
    /// What the system says.
    fn stat(&self, path: &Path) -> io::Result<Stat>;
    /// Makes a directory and those above it; one that is there is fine.
    ///
    /// # Errors
    /// What the system says.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Puts the names in a directory on the disk: after a rename, the new name survives a power cut.
    ///
    /// # Errors
    /// What the system says.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
}

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

struct DiskFile(fs::File);

impl Write for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl OutputFile for DiskFile {
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_all()
    }
}

impl Storage for Disk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(fs::File::open(path)?))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn OutputFile>> {
        Ok(Box::new(DiskFile(fs::File::create(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect()
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let metadata = fs::metadata(path)?;
        let bytes = if metadata.is_file() { metadata.len() } else { 0 };
        let is_link = fs::symlink_metadata(path)?.is_symlink();
        Ok(Stat { is_dir: metadata.is_dir(), is_link, bytes })
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        // A directory can be opened and synced on Unix only; elsewhere renames need no such step.
        if cfg!(unix) { fs::File::open(path)?.sync_all() } else { Ok(()) }
    }
}
