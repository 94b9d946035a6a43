//! How far a run has come: a bar on a terminal, one plain line every 30 seconds elsewhere.

use crate::terminal::note;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use sourcecheck::{Progress, Status, Tally};
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two plain lines.
const SILENCE: Duration = Duration::from_secs(30);

pub(crate) struct Reporter {
    started: Instant,
    total: u64,
    bar: Option<ProgressBar>,
    last_line: Mutex<Instant>,
}

impl Reporter {
    /// `total` stored bytes are to be read; 0 where that is not known.
    pub(crate) fn new(total: u64) -> Self {
        let started = Instant::now();
        let bar = io::stderr().is_terminal().then(|| bar(total));
        Self { started, total, bar, last_line: Mutex::new(started) }
    }

    /// The bar, for those who write to the same terminal.
    pub(crate) fn bar(&self) -> Option<ProgressBar> {
        self.bar.clone()
    }

    /// Leaves the terminal clean.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn counts(&self, tally: &Tally) -> String {
        let rate = tally.records() as f64 / self.seconds().max(0.001);
        format!(
            "{} records ({}/s), {} invalid, {} malformed",
            HumanCount(tally.records()),
            HumanCount(rate as u64),
            HumanCount(tally.of_status(Status::Invalid)),
            HumanCount(tally.of_status(Status::Malformed)),
        )
    }
}

fn bar(total: u64) -> ProgressBar {
    let (bar, template) = if total > 0 {
        let template = "{bar:30} {bytes}/{total_bytes} ({bytes_per_sec}, {eta} left) {wide_msg}";
        (ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()), template)
    } else {
        (
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()),
            "{spinner} {bytes} ({bytes_per_sec}) {wide_msg}",
        )
    };
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

impl Progress for Reporter {
    fn advance(&self, stored_bytes: u64, tally: &Tally) {
        if let Some(bar) = &self.bar {
            bar.set_position(stored_bytes);
            bar.set_message(self.counts(tally));
            return;
        }
        let mut last = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() >= SILENCE {
            *last = Instant::now();
            let share = stored_bytes.saturating_mul(100).checked_div(self.total);
            let share = share.map_or(String::new(), |percent| format!("{percent} %, "));
            note(&format!("{share}{}", self.counts(tally)));
        }
    }
}
