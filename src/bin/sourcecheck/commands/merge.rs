//! `sourcecheck merge`: the runs of shards to one run.

use super::check::{fail, timing};
use crate::args::MergeArgs;
use crate::signals;
use crate::terminal::note;
use sourcecheck::{
    CancelToken, Disk, Error, Gate, MergeOptions, Storage, exit, merge_runs, write_gates, write_text_summary,
};
use std::io;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// Runs the command and returns its exit code.
pub(crate) fn run(args: &MergeArgs) -> u8 {
    let cancel = CancelToken::default();
    let gates = match args.gates() {
        Ok(gates) => gates,
        Err(error) => return fail(&error, None),
    };
    let caught = signals::listen(cancel.clone(), || {});
    match merge(args, &gates, &cancel) {
        Ok(code) => code,
        Err(error) => fail(&error, caught.exit_code()),
    }
}

fn merge(args: &MergeArgs, gates: &[Gate], cancel: &CancelToken) -> Result<u8, Error> {
    let (start, clock) = (SystemTime::now(), Instant::now());
    let options = MergeOptions {
        run: args.run.as_deref(),
        restart: args.restart,
        is_cancelled: &|| cancel.is_cancelled(),
    };
    let storage: Arc<dyn Storage> = Arc::new(Disk);
    let (folder, merged) = merge_runs(&storage, &args.shards, &args.out, &options)?;
    let report = merged.report();
    folder.finish(&report, &timing(start, clock.elapsed().as_secs_f64(), 1))?;
    // A standard error that cannot be written is no reason to fail a run that is whole.
    let _ = write_text_summary(io::stderr(), &report);
    if !merged.complete {
        note(
            "a shard did not read all of its part, so the run is not complete; what that shard says of it names the input",
        );
    }
    if merged.tally.records() == 0 && !args.allow_empty {
        note("no record was read, and nothing checked is not a pass; --allow-empty makes it one");
    }
    let gates = merged.judge(gates);
    let _ = write_gates(io::stderr(), &gates);
    Ok(exit::of_merged(&merged, &gates, args.allow_empty))
}
