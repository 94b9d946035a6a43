//! The command line: a table of contents.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod args;
mod commands;
mod documents;
mod progress;
mod signals;
mod terminal;

use clap::Parser;
use sourcecheck::exit;
use std::panic;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A panic is a defect: it must not look like a verdict on the data.
    let code = panic::catch_unwind(run).unwrap_or(exit::DEFECT);
    ExitCode::from(code)
}

fn run() -> u8 {
    if terminal::is_idle() {
        return args::short_help();
    }
    match args::Cli::try_parse() {
        Ok(cli) => match cli.into_command() {
            args::Command::Check(args) => commands::check::run(&args),
            args::Command::Compare(args) => commands::compare::run(&args),
            args::Command::Filter(args) => commands::filter::run(&args),
            args::Command::Normalize(args) => commands::normalize::run(&args),
            args::Command::Merge(args) => commands::merge::run(&args),
        },
        Err(error) => args::usage_error(&error),
    }
}
