//! Writes a corpus of generated records, and its counts as one line of JSON to standard error.

#[path = "../benches/corpus/mod.rs"]
mod corpus;

use corpus::{Generator, Kind};
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

const USAGE: &str = "\
usage: corpus KIND BYTES SEED FILE

  KIND   small, large, many or answers
  BYTES  the least size of the corpus; may end in k, M or G
  SEED   a number; the same one gives the same corpus
  FILE   where to write it; - for standard output";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["--help"] || arguments == ["-h"] {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
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
    let kind = Kind::ALL.into_iter().find(|known| known.name() == kind)?;
    Some((kind, parse_bytes(bytes)?, seed.parse().ok()?, file))
}

fn parse_bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        b'G' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
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
        "{{\"bytes\":{written},\"records\":{},\"malformed\":{},\"refs\":{},\"broken_refs\":{},\"citations\":{},\"unknown_citations\":{}}}",
        counts.records,
        counts.malformed,
        counts.refs,
        counts.broken_refs,
        counts.citations,
        counts.unknown_citations
    );
    Ok(())
}
