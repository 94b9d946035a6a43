//! SIGINT and SIGTERM: the run is asked to end, and made to end if it cannot hear.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use sourcecheck::{CancelToken, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// A read that waits for a pipe cannot hear; after so long the process ends without it.
const PATIENCE: Duration = Duration::from_millis(1500);

/// The signal that came, as the exit code that it means; 0 for none.
#[derive(Clone, Default)]
pub(crate) struct Caught(Arc<AtomicU8>);

impl Caught {
    pub(crate) fn exit_code(&self) -> Option<u8> {
        Some(self.0.load(Ordering::SeqCst)).filter(|code| *code != 0)
    }
}

/// Listens from now on. `at_end` is called where the process must end at once.
#[expect(clippy::exit, reason = "a thread that waits for a pipe can be ended in no other way")]
pub(crate) fn listen(cancel: CancelToken, at_end: impl Fn() + Send + 'static) -> Caught {
    let caught = Caught::default();
    // Without a handler the signals do what they always do: end the process.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return caught };
    let noted = caught.clone();
    std::thread::spawn(move || {
        let Some(signal) = signals.forever().next() else { return };
        let code = if signal == SIGTERM { exit::TERMINATED } else { exit::INTERRUPTED };
        noted.0.store(code, Ordering::SeqCst);
        cancel.cancel();
        wait(&mut signals);
        at_end();
        std::process::exit(i32::from(code));
    });
    caught
}

/// Gives the run time to end by itself; a second signal means: now.
fn wait(signals: &mut Signals) {
    let started = Instant::now();
    while started.elapsed() < PATIENCE && signals.pending().next().is_none() {
        std::thread::sleep(Duration::from_millis(50));
    }
}
