//! `sourcecheck filter`: the records that are kept, and those that are rejected.

use super::check::fail;
use super::rewrite::{Named, run as run_rewrite, say, tell_several_lines};
use crate::args::FilterArgs;
use sourcecheck::FilterCounts;
use std::sync::Arc;

/// Runs the command and returns its exit code.
pub(crate) fn run(args: &FilterArgs) -> u8 {
    let (filter, settings) = match args.filter() {
        Ok(prepared) => prepared,
        Err(error) => return fail(&error, None),
    };
    let named = [
        Named { flag: "--kept", path: Some(&args.kept) },
        Named { flag: "--rejected", path: Some(&args.rejected) },
        Named { flag: "--reasons", path: args.reasons.as_deref() },
    ];
    run_rewrite(&args.input, settings, Arc::new(filter), &named, None, |written| {
        let FilterCounts { kept, rejected, changed, several_lines } = written.counts.into();
        let records = kept + rejected;
        let dropped = if args.drop_annotations {
            format!("; {changed} of those kept were written without some of their annotations")
        } else {
            String::new()
        };
        say(&named, &format!("records = kept + rejected: {records} = {kept} + {rejected}{dropped}"))?;
        tell_several_lines(several_lines);
        Ok(())
    })
}
