//! The one table of flags.

use crate::documents;
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand, ValueEnum, builder::PossibleValuesParser};
use sourcecheck::{
    Bound, ClaimPaths, Code, DIAGNOSTICS, DOCUMENTS_BYTES, Error, Filter, Gate, InputFormat, Key, Keys,
    LISTED, Level, Lint, RECORD_BYTES, RECORD_BYTES_CEILING, Regression, Rule, Settings, Shard, Status,
    Verdicts, exit,
};
use std::num::NonZeroUsize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  sourcecheck datasets/samples/sample.jsonl         each error, with the line it is about
  sourcecheck --json datasets/samples/sample.jsonl  one JSON verdict a line
  sourcecheck --out report datasets/samples         verdicts.jsonl, summary.csv, codes.csv, run.json
  sourcecheck --gate 'validity.refs>=99%' datasets/samples/sample.jsonl
                                                    ends with 1 if fewer refs resolve
  zcat answers.jsonl.gz | sourcecheck --json        standard input

Exit status:
  0 every record is valid, 1 some are invalid, 2 some are malformed; 64 and above: the run went
  wrong (64 usage, 66 nothing was read, 73 no output, 74 reading or writing failed)";

/// Checks whether the citations in model answers point at what they say they point at.
#[derive(Debug, Parser)]
#[command(name = "sourcecheck", version, about, before_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    check: CheckArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check records and report; what is done where no command is named
    #[command(before_help = EXAMPLES)]
    Check(Box<CheckArgs>),
    /// Compare two runs, record by record where their ids match
    #[command(before_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Write the records that hold to conditions into one file, and the others into another
    #[command(before_help = FILTER_EXAMPLES)]
    Filter(Box<FilterArgs>),
    /// Write the records with CRLF and CR as LF in their documents, and list the refs that this breaks
    #[command(before_help = NORMALIZE_EXAMPLES)]
    Normalize(Box<NormalizeArgs>),
    /// Merge the runs of all shards of a corpus into the run that there would be without shards
    #[command(before_help = MERGE_EXAMPLES)]
    Merge(MergeArgs),
}

impl Cli {
    pub(crate) fn into_command(self) -> Command {
        self.command.unwrap_or(Command::Check(Box::new(self.check)))
    }
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  sourcecheck compare report-old report-new         what changed, and which records
  sourcecheck compare --csv report-old report-new   a row a group and metric
  sourcecheck compare --fail-on-regression validity.refs=0.5 report-old report-new
                                                    ends with 1 if fewer refs resolve

Exit status:
  0 the runs were compared, 1 a metric of --fail-on-regression moved for the worse; 64 and above:
  it went wrong (64 usage, 66 no finished run, 73 no temporary file, 74 reading or writing failed)";

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The folder of the run that was there before, as --out made it
    #[arg(value_name = "BASE")]
    pub(crate) base: PathBuf,

    /// The folder of the run that is compared with it
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,

    /// Print one JSON object
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,

    /// Print a table, one row a group and metric
    #[arg(long)]
    pub(crate) csv: bool,

    /// End with 1 if METRIC moved for the worse by more than POINTS percentage points [default: 0] and its p,
    /// corrected for the metrics named here (Holm), is below 0.05. Repeatable
    #[arg(long, value_name = "METRIC[=POINTS]", action = ArgAction::Append)]
    fail_on_regression: Vec<String>,

    /// Records that each list names; counts are always of all
    #[arg(long, value_name = "N", default_value_t = LISTED)]
    pub(crate) max_listed: usize,
}

impl CompareArgs {
    /// The metrics that must not have moved for the worse.
    pub(crate) fn regressions(&self) -> Result<Vec<Regression>, Error> {
        let texts = self.fail_on_regression.iter();
        let regressions = texts.map(|text| Regression::parse(text)).collect::<Result<Vec<_>, Error>>()?;
        let is_repeated = |(i, one): &(usize, &Regression)| {
            regressions[..*i].iter().any(|other| other.metric() == one.metric())
        };
        if let Some((_, twice)) = regressions.iter().enumerate().find(is_repeated) {
            let name = twice.metric().name();
            return Err(Error::setting(format!("--fail-on-regression names {name} twice; once is enough")));
        }
        Ok(regressions)
    }
}

const FILTER_EXAMPLES: &str = "\
Examples:
  sourcecheck filter --keep valid --kept good.jsonl --rejected bad.jsonl datasets/samples
                                                    the valid records, byte for byte, and the others
  sourcecheck filter --min coverage.chars=10% --max refs.invalid=0 \\
    --kept good.jsonl.zst --rejected bad.jsonl --reasons why.jsonl datasets/samples
                                                    why.jsonl has a line a rejected record
  sourcecheck filter --drop-annotations --kept good.jsonl --rejected bad.jsonl datasets/samples
                                                    all that can be read, less what does not hold

Exit status:
  0 every record is in one of the files; 64 and above: it went wrong (64 usage, 66 nothing was read,
  73 no output, 74 reading or writing failed)";

#[derive(Debug, Args)]
pub(crate) struct FilterArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Write the records that are kept into this file; `-` is standard output. A name that ends in .gz or .zst
    /// is compressed
    #[arg(long, value_name = "FILE|-")]
    pub(crate) kept: PathBuf,

    /// Write all other records into this file
    #[arg(long, value_name = "FILE|-")]
    pub(crate) rejected: PathBuf,

    /// Write a JSON line for each rejected record into this file: where it stood, and why it was rejected
    #[arg(long, value_name = "FILE|-")]
    pub(crate) reasons: Option<PathBuf>,

    /// Keep records of this status only: valid, invalid or malformed. Repeatable: any of them
    #[arg(long, value_name = "STATUS", action = ArgAction::Append)]
    keep: Vec<KeptStatus>,

    /// Keep records with at least so much: coverage.chars, coverage.sentences, confidence.mean (a fraction or a
    /// percentage), refs.invalid (a count). What is undefined is not enough. Repeatable: all of them
    #[arg(long, value_name = "METRIC=X", action = ArgAction::Append)]
    min: Vec<String>,

    /// Keep records with at most so much. What is undefined is not too much. Repeatable: all of them
    #[arg(long, value_name = "METRIC=X", action = ArgAction::Append)]
    max: Vec<String>,

    /// Reject records with an error of this code. Repeatable
    #[arg(long, value_name = "CODE", value_parser = codes(), action = ArgAction::Append)]
    reject_code: Vec<String>,

    /// Reject records with a finding of this lint, which is switched on. Repeatable
    #[arg(long, value_name = "LINT", value_parser = lints(), action = ArgAction::Append)]
    reject_lint: Vec<String>,

    /// Write records without their invalid annotations, and judge them so; malformed ones are rejected
    #[arg(long)]
    pub(crate) drop_annotations: bool,

    #[command(flatten)]
    rules: RuleArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum KeptStatus {
    Valid,
    Invalid,
    Malformed,
}

fn codes() -> PossibleValuesParser {
    PossibleValuesParser::new(Code::ALL.iter().map(|code| code.name()))
}

impl FilterArgs {
    /// The conditions, and what must be checked for them.
    pub(crate) fn filter(&self) -> Result<(Filter, Settings), Error> {
        let status = |status: &KeptStatus| match status {
            KeptStatus::Valid => Status::Valid,
            KeptStatus::Invalid => Status::Invalid,
            KeptStatus::Malformed => Status::Malformed,
        };
        let bounds =
            self.min.iter().map(|text| Bound::min(text)).chain(self.max.iter().map(|text| Bound::max(text)));
        let codes = self.reject_code.iter().filter_map(|name| Code::from_name(name)).map(Rule::Code);
        let lints = self.reject_lint.iter().flat_map(|name| named(name)).map(Rule::Lint);
        let filter = Filter {
            keep: self.keep.iter().map(status).collect(),
            bounds: bounds.collect::<Result<_, Error>>()?,
            reject: codes.chain(lints).collect(),
            drop_annotations: self.drop_annotations,
            with_reasons: self.reasons.is_some(),
        };
        let mut settings = settings(&self.input, &self.rules)?;
        if !settings.sentences && filter.bounds.iter().any(Bound::needs_sentences) {
            return Err(Error::setting(
                "--no-sentences leaves coverage.sentences without a value; leave one of them out",
            ));
        }
        filter.prepare(&mut settings);
        Ok((filter, settings))
    }
}

const NORMALIZE_EXAMPLES: &str = "\
Examples:
  sourcecheck normalize --output lf.jsonl datasets/samples/sample.jsonl
  sourcecheck normalize --output lf.jsonl.gz --lost lost.jsonl datasets/samples/sample.jsonl
  zcat crlf.jsonl.gz | sourcecheck normalize > lf.jsonl

Exit status:
  0 every record was written, whatever refs were lost; 64 and above: it went wrong (64 usage, 66 nothing
  was read, 73 no output, 74 reading or writing failed)";

#[derive(Debug, Args)]
pub(crate) struct NormalizeArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Write the records into this file; `-` is standard output. A name that ends in .gz or .zst is compressed
    #[arg(long, value_name = "FILE|-", default_value = "-")]
    pub(crate) output: PathBuf,

    /// Write a JSON line into this file for each ref that resolved before and does not after, or resolves to
    /// other text [default: a line of text each, to standard error]
    #[arg(long, value_name = "FILE|-")]
    pub(crate) lost: Option<PathBuf>,

    /// Where a record's id stands
    #[arg(long, value_name = "POINTER", default_value = Key::ID.text())]
    id: String,
}

impl NormalizeArgs {
    pub(crate) fn settings(&self) -> Result<Settings, Error> {
        Ok(Settings {
            max_record_bytes: self.input.record_bytes()?,
            input_format: self.input.format(),
            keys: Keys { id: key(&self.id)?, ..Keys::default() },
            sentences: false,
            ..Settings::default()
        })
    }
}

const MERGE_EXAMPLES: &str = "\
Examples:
  sourcecheck check --shard 1/2 --out part-1 datasets/samples
  sourcecheck check --shard 2/2 --out part-2 datasets/samples
  sourcecheck merge --out report part-1 part-2      the files of one run, byte for byte

Exit status:
  0 the shards were merged, and every gate holds, 1 a gate fails; 64 and above: it went wrong (64 these
  are not all shards of one run, 66 no finished run, or no record in any, 73 no output, 74 reading or
  writing failed, or a shard did not read all of its part)";

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The folders of all shards, in any order
    #[arg(value_name = "DIR", required = true)]
    pub(crate) shards: Vec<PathBuf>,

    /// Write the run into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Name the run [default: the name that all shards have]
    #[arg(long, value_name = "NAME")]
    pub(crate) run: Option<String>,

    /// Start over, even where another run in the folder did not come to its end and could go on
    #[arg(long)]
    pub(crate) restart: bool,

    /// A condition that the whole must hold to, as of `check`. Repeatable
    #[arg(long, value_name = "GATE", action = ArgAction::Append)]
    gate: Vec<String>,

    /// Let shards without any record end with 0 instead of 66
    #[arg(long)]
    pub(crate) allow_empty: bool,
}

impl MergeArgs {
    /// The gates that the whole must hold to.
    pub(crate) fn gates(&self) -> Result<Vec<Gate>, Error> {
        gates(&self.gate)
    }
}

fn gates(texts: &[String]) -> Result<Vec<Gate>, Error> {
    texts.iter().map(|text| Gate::parse(text)).collect()
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Print one JSON verdict a record, one a line, to standard output
    #[arg(long)]
    pub(crate) json: bool,

    /// Which verdicts --json prints and --out writes: all, or those of records that are not valid
    #[arg(long, value_name = "WHICH", default_value = "all")]
    pub(crate) verdicts: Which,

    /// Write verdicts.jsonl, summary.csv, codes.csv, run.json and timing.json into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Compress the verdicts in the folder: verdicts.jsonl.zst
    #[arg(long, requires = "out")]
    pub(crate) compress: bool,

    /// Start over, even where a run in the folder did not come to its end and could go on
    #[arg(long, requires = "out")]
    pub(crate) restart: bool,

    /// Check part K of N: the inputs are laid end to end by size and cut into N parts, to be checked one by
    /// one or on several machines. `sourcecheck merge` makes one run of them; gates wait for it
    #[arg(long, value_name = "K/N")]
    shard: Option<String>,

    /// Name the run in the tables and in run.json
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) run: String,

    /// Count records by the value at this JSON Pointer too, such as /model or /meta/lang. Repeatable; each
    /// groups on its own
    #[arg(long, value_name = "POINTER", action = ArgAction::Append)]
    pub(crate) group_by: Vec<String>,

    /// Take adjacent records with one value at this JSON Pointer for one cluster in error bars: several
    /// samples of one question are not several records
    #[arg(long, value_name = "POINTER")]
    pub(crate) cluster: Option<String>,

    /// A condition that the run must hold to, `[GROUP:]METRIC OP NUMBER`, such as `validity.refs>=99%` or
    /// `/model=m1:coverage.chars>=0.8`. With gates they alone decide between exit 0 and 1. Repeatable
    #[arg(long, value_name = "GATE", action = ArgAction::Append)]
    pub(crate) gate: Vec<String>,

    /// Errors that a report for people shows in full
    #[arg(long, value_name = "N", default_value_t = DIAGNOSTICS)]
    pub(crate) max_diagnostics: usize,

    /// Let a run that reads no record at all end with 0 instead of 66
    #[arg(long)]
    pub(crate) allow_empty: bool,

    #[command(flatten)]
    pub(crate) rules: RuleArgs,
}

/// What is read. The same for every command that reads a corpus.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// Files, directories or `-` for standard input, which is also read where nothing is named.
    /// A directory means the .json, .jsonl and .ndjson files directly in it, compressed or not
    #[arg(value_name = "FILE|DIR|-")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Look into the directories in a directory too; symbolic links to directories are not followed
    #[arg(long)]
    pub(crate) recursive: bool,

    /// Read more inputs from this file, one a line, after those that are named here; `-` is standard input
    #[arg(long, value_name = "FILE|-")]
    pub(crate) files_from: Option<PathBuf>,

    /// How records are told apart: one a line, or one in all
    /// [default: by the name, else by the first line that is not blank]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) input_format: Option<Format>,

    /// The longest record in bytes; a longer one is record_too_large
    #[arg(long, value_name = "N", default_value_t = RECORD_BYTES)]
    pub(crate) max_record_bytes: usize,

    /// Worker threads [default: one a core]
    #[arg(short = 'j', long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// What is checked, and how. The same for every command that checks.
#[derive(Debug, Args)]
pub(crate) struct RuleArgs {
    /// Where a record's id stands
    #[arg(long, value_name = "POINTER", default_value = Key::ID.text())]
    id: String,

    /// Documents whose coverage counts, by path; `*` also matches `/`. Repeatable
    /// [default: the documents that a record's claims name]
    #[arg(long, value_name = "GLOB", action = ArgAction::Append)]
    claim_path: Vec<String>,

    /// Documents that every record may point into beside its own: one {"path": …, "content": …} a line,
    /// compressed or not. A record then need have no documents of its own
    #[arg(long, value_name = "FILE")]
    documents: Option<PathBuf>,

    /// The most that the contents and paths of --documents may take in memory, in bytes
    #[arg(long, value_name = "N", default_value_t = DOCUMENTS_BYTES, requires = "documents")]
    max_documents_bytes: u64,

    /// Find no sentences: their coverage is not counted, which saves some time
    #[arg(long)]
    no_sentences: bool,

    /// Silence a lint. Repeatable
    #[arg(long, value_name = "LINT", value_parser = lints())]
    allow: Vec<String>,

    /// Switch a lint on, or all of them; wins over --allow. Repeatable
    #[arg(long, value_name = "LINT|all", value_parser = lints_or_all())]
    warn: Vec<String>,

    /// Make a lint an error of status invalid; wins over --allow and --warn. Repeatable
    #[arg(long, value_name = "LINT", value_parser = lints())]
    deny: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Which {
    /// Every verdict
    All,
    /// Those of records that are not valid
    Problems,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    /// The whole input is one record
    Json,
    /// One record a line
    Jsonl,
}

fn lints() -> PossibleValuesParser {
    PossibleValuesParser::new(Lint::ALL.iter().map(|lint| lint.name()))
}

fn lints_or_all() -> PossibleValuesParser {
    PossibleValuesParser::new(Lint::ALL.iter().map(|lint| lint.name()).chain(["all"]))
}

impl CheckArgs {
    /// The settings that these flags make.
    pub(crate) fn settings(&self) -> Result<Settings, Error> {
        let mut settings = settings(&self.input, &self.rules)?;
        settings.keys = self.keys(settings.keys)?;
        settings.verdicts = match self.verdicts {
            Which::All => Verdicts::All,
            Which::Problems => Verdicts::Problems,
        };
        settings.compress = self.compress;
        settings.shard = self.shard.as_ref().map(|text| Shard::parse(text)).transpose()?;
        Ok(settings)
    }

    /// With the pointers that only a run into tables has.
    fn keys(&self, keys: Keys) -> Result<Keys, Error> {
        let groups = self.group_by.iter().map(|text| key(text)).collect::<Result<Vec<Key>, Error>>()?;
        let is_repeated = |(i, key): &(usize, &Key)| groups[..*i].contains(key);
        if let Some((_, twice)) = groups.iter().enumerate().find(is_repeated) {
            return Err(Error::setting(format!("--group-by {} is given twice", twice.text())));
        }
        Ok(Keys { groups, cluster: self.cluster.as_deref().map(key).transpose()?, ..keys })
    }

    /// The gates that the run must hold to.
    pub(crate) fn gates(&self) -> Result<Vec<Gate>, Error> {
        gates(&self.gate)
    }
}

/// The settings of every command that checks.
pub(crate) fn settings(input: &InputArgs, rules: &RuleArgs) -> Result<Settings, Error> {
    let mut settings = Settings {
        claim_paths: ClaimPaths::new(&rules.claim_path)?,
        sentences: !rules.no_sentences,
        max_record_bytes: input.record_bytes()?,
        input_format: input.format(),
        keys: Keys { id: key(&rules.id)?, ..Keys::default() },
        ..Settings::default()
    };
    for (names, level) in
        [(&rules.allow, Level::Allow), (&rules.warn, Level::Warn), (&rules.deny, Level::Deny)]
    {
        for lint in names.iter().flat_map(|name| named(name)) {
            settings.lints.set(lint, level);
        }
    }
    if let Some(path) = &rules.documents {
        settings.documents = Some(documents::load(path, rules.max_documents_bytes, &settings.lints)?);
    }
    Ok(settings)
}

impl InputArgs {
    fn record_bytes(&self) -> Result<usize, Error> {
        if self.max_record_bytes == 0 || self.max_record_bytes > RECORD_BYTES_CEILING {
            return Err(Error::setting(format!(
                "--max-record-bytes {} is out of range; give a number from 1 to {RECORD_BYTES_CEILING}",
                self.max_record_bytes
            )));
        }
        Ok(self.max_record_bytes)
    }

    fn format(&self) -> InputFormat {
        match self.input_format {
            None => InputFormat::Auto,
            Some(Format::Json) => InputFormat::Json,
            Some(Format::Jsonl) => InputFormat::Jsonl,
        }
    }
}

/// Pointers live as long as the program; so do its arguments.
fn key(text: &str) -> Result<Key, Error> {
    Key::parse(text.to_owned().leak())
}

/// The lints that a flag's value names.
fn named(name: &str) -> Vec<Lint> {
    if name == "all" { Lint::ALL.to_vec() } else { Lint::from_name(name).into_iter().collect() }
}

/// `sourcecheck` alone on a terminal waits for nobody: it says how it is used.
pub(crate) fn short_help() -> u8 {
    anstream::eprintln!("{}", Cli::command().render_help().ansi());
    exit::USAGE
}

/// What clap has to say. Its own code for wrong usage, 2, would mean malformed data here.
pub(crate) fn usage_error(error: &clap::Error) -> u8 {
    // A closed pipe here is nobody's loss.
    let _ = error.print();
    if error.use_stderr() { exit::USAGE } else { exit::OK }
}
