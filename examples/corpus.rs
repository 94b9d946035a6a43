//! Makes a corpus of generated records: `corpus KIND BYTES SEED FILE`.

#[path = "../benches/corpus/mod.rs"]
mod corpus;

use corpus::{Generator, Kind};
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

const USAGE: &str = "usage: corpus small|large|many|answers BYTES SEED FILE   (BYTES with k, M or G; FILE `-` for standard output)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((kind, bytes, seed, file)) = parse(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(64);
    };
    match write(kind, bytes, seed, file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("corpus: {file}: {error}");
            ExitCode::from(74)
        }
    }
}

fn parse(arguments: &[String]) -> Option<(Kind, u64, u64, &str)> {
    let [kind, bytes, seed, file] = arguments else { return None };
    let (digits, unit) = match bytes.strip_suffix(['k', 'M', 'G']) {
        Some(digits) if bytes.ends_with('k') => (digits, 1_000),
        Some(digits) if bytes.ends_with('M') => (digits, 1_000_000),
        Some(digits) => (digits, 1_000_000_000),
        None => (bytes.as_str(), 1),
    };
    Some((kind_of(kind)?, digits.parse::<u64>().ok()? * unit, seed.parse().ok()?, file))
}

fn kind_of(name: &str) -> Option<Kind> {
    Some(match name {
        "small" => Kind::Small,
        "large" => Kind::Large,
        "many" => Kind::Many,
        "answers" => Kind::Answers,
        _ => return None,
    })
}

fn write(kind: Kind, bytes: u64, seed: u64, file: &str) -> io::Result<()> {
    let target: Box<dyn Write> =
        if file == "-" { Box::new(io::stdout()) } else { Box::new(std::fs::File::create(file)?) };
    let mut target = BufWriter::with_capacity(1 << 20, target);
    let mut generator = Generator::new(kind, seed);
    let mut written = 0;
    while written < bytes {
        let record = generator.record();
        target.write_all(record.as_bytes())?;
        written += record.len() as u64;
    }
    target.flush()?;
    let counts = generator.counts;
    eprintln!(
        "{{\"bytes\":{written},\"records\":{},\"malformed\":{},\"refs\":{},\"broken_refs\":{}}}",
        counts.records, counts.malformed, counts.refs, counts.broken_refs
    );
    Ok(())
}
