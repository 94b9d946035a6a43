//! `sourcecheck normalize`: documents whose lines end with LF alone.

use super::check::fail;
use super::rewrite::{Named, run as run_rewrite, say, tell_several_lines};
use crate::args::NormalizeArgs;
use sourcecheck::{Normalize, NormalizeCounts, OutputPlace};
use std::io;
use std::sync::Arc;

/// Runs the command and returns its exit code.
pub(crate) fn run(args: &NormalizeArgs) -> u8 {
    let settings = match args.settings() {
        Ok(settings) => settings,
        Err(error) => return fail(&error, None),
    };
    let mut named = vec![Named { flag: "--output", path: Some(&args.output) }];
    let mut last = None;
    match args.lost.as_deref() {
        Some(lost) => named.push(Named { flag: "--lost", path: Some(lost) }),
        None => last = Some(OutputPlace::Writer("standard error".to_owned(), Box::new(io::stderr()))),
    }
    let normalize = Arc::new(Normalize { json: args.lost.is_some() });
    run_rewrite(&args.input, settings, normalize, &named, last, |written| {
        let NormalizeCounts { records, contents, lost, several_lines } = written.counts.into();
        say(&named, &format!("{records} records, {contents} contents changed, {lost} refs lost"))?;
        tell_several_lines(several_lines);
        Ok(())
    })
}
