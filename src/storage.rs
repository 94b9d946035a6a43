//! The one door to the file system, so that a test can fail its Nth operation and ask what is left.

use fs4::FileExt;
use std::fs;
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// What [`Storage::stat`] tells of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Whether it is a file, which can be read again, and not a pipe or the like.
    pub is_file: bool,
    /// Whether the path itself is a symbolic link; the rest is told of what it leads to.
    pub is_link: bool,
    /// Its size in bytes as stored; 0 for what has none, such as a pipe.
    pub bytes: u64,
    /// When it was last changed, in nanoseconds since 1970; `None` where that is not known.
    pub modified: Option<u64>,
}

/// A file that is being written.
pub trait OutputFile: Write + Send {
    /// Asks the system to put everything written so far on the disk.
    ///
    /// # Errors
    /// What the system says, for example that the disk is full.
    fn sync(&mut self) -> io::Result<()>;
}

/// Keeps others out for as long as it lives.
pub trait Lock: Send {}

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
    /// Opens a file for reading from a byte on.
    ///
    /// # Errors
    /// What the system says; that the file ends before, too.
    fn open_at(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        let mut file = self.open(path)?;
        let passed = io::copy(&mut Read::take(&mut file, offset), &mut io::sink())?;
        if passed < offset { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(file) }
    }
    /// Opens a file that is there for writing at its end, after cutting it to `length` bytes.
    ///
    /// # Errors
    /// What the system says; that the file is shorter than that, too.
    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn OutputFile>>;
    /// Keeps other runs out by means of a file, which is there as long as the lock is.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::WouldBlock`] where another has it.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>>;
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

struct DiskLock {
    file: fs::File,
    path: PathBuf,
}

impl Lock for DiskLock {}

impl Drop for DiskLock {
    fn drop(&mut self) {
        // The system lets go of it anyway when the process ends.
        let _ = fs::remove_file(&self.path);
        let _ = FileExt::unlock(&self.file);
    }
}

#[cfg(unix)]
fn is_same_file(file: &fs::File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let same = |one: fs::Metadata, two: fs::Metadata| (one.dev(), one.ino()) == (two.dev(), two.ino());
    file.metadata().is_ok_and(|one| fs::metadata(path).is_ok_and(|two| same(one, two)))
}

/// Elsewhere a file that is open cannot be taken away.
#[cfg(not(unix))]
fn is_same_file(_: &fs::File, _: &Path) -> bool {
    true
}

impl Storage for Disk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(fs::File::open(path)?))
    }

    fn open_at(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        let mut file = fs::File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(Box::new(file))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn OutputFile>> {
        let mut file = fs::OpenOptions::new().write(true).open(path)?;
        if file.metadata()?.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.set_len(length)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Box::new(DiskFile(file)))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        loop {
            let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
            match FileExt::try_lock(&file) {
                Ok(()) => {}
                Err(fs4::TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
                Err(fs4::TryLockError::Error(error)) => return Err(error),
            }
            // The one who had it may have taken the file away in the meantime.
            if is_same_file(&file, path) {
                return Ok(Box::new(DiskLock { file, path: path.to_owned() }));
            }
        }
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
        let since_1970 = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = since_1970.and_then(|time| u64::try_from(time.as_nanos()).ok());
        Ok(Stat { is_dir: metadata.is_dir(), is_file: metadata.is_file(), is_link, bytes, modified })
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        // A directory can be opened and synced on Unix only; elsewhere renames need no such step.
        if cfg!(unix) { fs::File::open(path)?.sync_all() } else { Ok(()) }
    }
}
