//! What stands at the ends of the standard streams, and writing to them.

use indicatif::ProgressBar;
use sourcecheck::Safe;
use std::io::{self, IsTerminal, Write};

/// Whether the command was given nothing at all: no argument, and nobody pipes anything in.
pub(crate) fn is_idle() -> bool {
    std::env::args_os().len() <= 1 && io::stdin().is_terminal()
}

/// Standard input. A pipe gets as much room as a batch has, so that the writer need not be woken for
/// every 64 KiB.
pub(crate) fn standard_input() -> io::Stdin {
    let input = io::stdin();
    #[cfg(target_os = "linux")]
    {
        const ROOM_BYTES: usize = 512 * 1024;
        // What is no pipe, or may not grow, is read as it is.
        let _ = rustix::pipe::fcntl_setpipe_size(&input, ROOM_BYTES);
    }
    input
}

/// Prints a note for people to standard error. What it holds of the input is made safe.
pub(crate) fn note(text: &str) {
    // Nothing can be done about a standard error that cannot be written.
    let _ = writeln!(io::stderr(), "sourcecheck: {}", Safe(text));
}

/// Standard output, which a progress bar on the same terminal makes way for.
pub(crate) struct Output<W> {
    stdout: W,
    bar: Option<ProgressBar>,
}

impl Output<io::Stdout> {
    /// For bytes that hold no escapes.
    pub(crate) fn plain(bar: Option<ProgressBar>) -> Self {
        Self { stdout: io::stdout(), bar: bar.filter(|_| io::stdout().is_terminal()) }
    }
}

impl Output<anstream::AutoStream<io::Stdout>> {
    /// For text with colours, which are taken out where nobody would see them.
    pub(crate) fn styled(bar: Option<ProgressBar>) -> Self {
        let stdout = anstream::AutoStream::auto(io::stdout());
        Self { stdout, bar: bar.filter(|_| io::stdout().is_terminal()) }
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.stdout.write(bytes)),
            None => self.stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}
