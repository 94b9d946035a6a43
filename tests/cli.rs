//! The command line. What can be told as data stands in `tests/cmd`; the rest is here.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

#[test]
fn behaviour_told_as_data() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd").case("README.md").case("docs/*.md");
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sourcecheck"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    command().args(arguments).output().unwrap()
}

fn run_on(arguments: &[&str], input: &[u8]) -> Output {
    let piped =
        command().args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = piped.unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // The command may end before it has read everything.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// An empty folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Every command's help opens with examples; they run in a folder that has the data which they name.
#[test]
fn help_opens_with_examples_that_run() {
    let here = folder("help");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::os::unix::fs::symlink(root.join("datasets"), here.join("datasets")).unwrap();
    for (name, from) in [("answers.jsonl.gz", "samples/sample.jsonl"), ("crlf.jsonl.gz", "crlf.jsonl")] {
        let mut gzip = flate2::write::GzEncoder::new(
            fs::File::create(here.join(name)).unwrap(),
            flate2::Compression::fast(),
        );
        gzip.write_all(&fs::read(root.join("datasets").join(from)).unwrap()).unwrap();
        gzip.finish().unwrap();
    }
    let binaries = Path::new(env!("CARGO_BIN_EXE_sourcecheck")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let shell = |line: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(&here).env("PATH", &path).stdin(Stdio::null());
        shell.output().unwrap()
    };
    for (out, night) in [("report-old", "monday"), ("report-new", "tuesday")] {
        shell(&format!("sourcecheck --out {out} datasets/nightly/{night}.jsonl"));
    }
    for (command, count) in
        [("", 5), ("check", 5), ("compare", 3), ("filter", 3), ("normalize", 3), ("merge", 3)]
    {
        let help = shell(&format!("sourcecheck {command} --help"));
        assert_eq!(help.status.code(), Some(0));
        let text = String::from_utf8(help.stdout).unwrap();
        assert!(text.starts_with("Examples:\n"), "{text}");
        let text = text.replace("\\\n    ", "");
        let examples = text.lines().skip(1).take_while(|line| !line.trim().is_empty());
        let examples = examples.filter(|line| !line.starts_with("          "));
        let mut ran = 0;
        // Two blanks or more stand between the command and what it gives.
        for line in examples.map(|example| example.trim().split("  ").next().unwrap()) {
            let output = shell(line);
            assert!(
                output.status.code().is_some_and(|code| code <= 2),
                "{line}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            ran += 1;
        }
        assert_eq!(ran, count, "{text}");
    }
}

#[test]
fn standard_input_is_read_where_nothing_is_named() {
    for arguments in [&["--json"][..], &["--json", "-"], &["check", "--json", "-"]] {
        let output = run_on(arguments, &common::corpus(30));
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.lines().all(|line| line.starts_with("{\"file\":\"-\",\"line\":")), "{text}");
    }
    let nothing = run_on(&["--json"], b"");
    assert_eq!((nothing.status.code(), nothing.stdout.len()), (Some(66), 0));
    assert_eq!(run_on(&["--json", "--allow-empty"], b"").status.code(), Some(0));
}

#[test]
fn a_run_folder_holds_five_files_and_standard_output_nothing() {
    let out = folder("five").join("made");
    let output = run(&["--out", out.to_str().unwrap(), "--run", "=1+1", "tests/fixtures/invalid.jsonl"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert!(
        String::from_utf8_lossy(&output.stderr).starts_with("2 records: 1 valid, 1 invalid, 0 malformed\n")
    );
    assert_eq!(names(&out), ["codes.csv", "run.json", "summary.csv", "timing.json", "verdicts.jsonl"]);
    let verdicts = fs::read(out.join("verdicts.jsonl")).unwrap();
    assert_eq!(verdicts, run(&["--json", "tests/fixtures/invalid.jsonl"]).stdout);
    let summary = fs::read_to_string(out.join("summary.csv")).unwrap();
    assert!(summary.starts_with("run,group,metric,numerator,denominator,value,std_error,ci_low,ci_high,records\n'=1+1,all,validity.records,1,2,0.5,0.5,0.05462075552885198,0.945379244471148,2\n"));
    let both = run(&["--out", out.to_str().unwrap(), "--json", "tests/fixtures/invalid.jsonl"]);
    assert_eq!(both.stdout, verdicts);
}

#[test]
fn only_the_timing_differs_between_two_runs() {
    let (one, two) = (folder("one"), folder("two"));
    for (out, threads) in [(&one, "1"), (&two, "7")] {
        run(&["--out", out.to_str().unwrap(), "-j", threads, "datasets/samples"]);
    }
    for name in names(&one).iter().filter(|name| *name != "timing.json") {
        assert_eq!(fs::read(one.join(name)).unwrap(), fs::read(two.join(name)).unwrap(), "{name}");
    }
}

#[test]
fn an_incomplete_input_is_told_in_run_json() {
    let out = folder("incomplete");
    let output = run(&["--out", out.to_str().unwrap(), "tests/fixtures/truncated.jsonl.gz"]);
    assert_eq!(output.status.code(), Some(74));
    assert!(fs::read_to_string(out.join("run.json")).unwrap().contains("\"complete\": false"));
}

#[test]
fn an_output_that_cannot_be_made() {
    let output = run(&["--out", "Cargo.toml/report", "tests/fixtures/valid.jsonl"]);
    assert_eq!(output.status.code(), Some(73));
    assert!(String::from_utf8_lossy(&output.stderr).contains("Cargo.toml/report"));
}

#[test]
fn a_full_disk_is_an_error_of_writing() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output =
        command().args(["--json", "datasets/samples"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(74));
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output"));
}

#[test]
fn a_formula_as_a_file_name_is_disarmed() {
    let work = folder("formula");
    fs::write(work.join("=cmd.jsonl"), "{\n").unwrap();
    let output = command().current_dir(&work).args(["--out", "report", "=cmd.jsonl"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let codes = fs::read_to_string(work.join("report/codes.csv")).unwrap();
    assert!(codes.contains(",'=cmd.jsonl,1\n"), "{codes}");
    assert!(fs::read_to_string(work.join("report/run.json")).unwrap().contains("\"=cmd.jsonl\""));
}

#[test]
fn nothing_hostile_arrives_raw() {
    let work = folder("hostile");
    let hostile: String = ('\u{1}'..'\u{20}')
        .chain('\u{7f}'..='\u{9f}')
        .filter(|c| *c != '\n')
        .chain(
            "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}"
                .chars(),
        )
        .collect();
    let fixture =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hostile.jsonl"))
            .unwrap();
    let name = format!("x{hostile}.jsonl");
    fs::write(work.join(&name), fixture).unwrap();
    for arguments in [
        vec![name.as_str()],
        vec!["--json", &name],
        vec!["--out", "report", &name],
        vec![&name, "missing\u{1b}[31m\u{202e}"],
    ] {
        let output = command().current_dir(&work).args(&arguments).output().unwrap();
        for stream in [output.stdout, output.stderr] {
            let text = String::from_utf8(stream).unwrap();
            assert!(
                !text.chars().any(|c| c != '\n' && (c.is_control() || hostile.contains(c))),
                "{arguments:?}: {text:?}"
            );
        }
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child = command()
        .args(["--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&common::corpus(40_000));
    });
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(141));
    assert_eq!(errors, "");
    assert!(first.ends_with('\n'));
    writer.join().unwrap();
}

/// Sends a signal to a run that waits for a stalled pipe.
#[cfg(unix)]
fn interrupt(signal: &str, out: &Path) -> (Option<i32>, Duration) {
    let mut child = command()
        .args(["--out", out.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&common::corpus(3_000)).unwrap();
    while !out.join("verdicts.jsonl.partial").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(200));
    let sent = Instant::now();
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let status = child.wait().unwrap();
    drop(stdin);
    (status.code(), sent.elapsed())
}

#[cfg(unix)]
#[test]
fn signals_end_a_run_soon_and_leave_no_half_file() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let out = folder(&format!("signal{code}"));
        let (status, time) = interrupt(signal, &out);
        assert_eq!(status, Some(code), "{signal}");
        assert!(time < Duration::from_secs(2), "{signal}: {time:?}");
        // What the run needs to go on, and nothing under a final name.
        let unfinished = [".lock", "journal.jsonl", "verdicts.jsonl.partial"];
        assert!(
            names(&out).iter().all(|name| unfinished.contains(&name.as_str())),
            "{signal}: {:?}",
            names(&out)
        );
    }
}

#[test]
fn compressed_verdicts_hold_the_same_bytes() {
    let out = folder("compressed");
    let corpus = out.join("corpus.jsonl");
    fs::write(&corpus, common::corpus(5000)).unwrap();
    let plain = run(&["--json", corpus.to_str().unwrap()]).stdout;
    assert!(plain.len() > 1 << 20, "more than one frame: {}", plain.len());
    let report = out.join("report");
    let mut files = Vec::new();
    // The verdicts of the run before go, whichever name they had.
    for (flags, name) in [(&["-j1"][..], "verdicts.jsonl"), (&["--compress", "-j2"], "verdicts.jsonl.zst")] {
        let arguments = [flags, &["--out", report.to_str().unwrap(), corpus.to_str().unwrap()]].concat();
        assert_eq!(run(&arguments).status.code(), Some(2));
        assert_eq!(names(&report), ["codes.csv", "run.json", "summary.csv", "timing.json", name]);
        files.push(fs::read(report.join(name)).unwrap());
    }
    assert_eq!(files[0], plain);
    assert!(files[1].len() < plain.len() / 5);
    assert_eq!(zstd::stream::decode_all(files[1].as_slice()).unwrap(), plain);
    assert_eq!(
        run(&["--out", report.to_str().unwrap(), "--compress", "-j1", corpus.to_str().unwrap()])
            .status
            .code(),
        Some(2)
    );
    assert_eq!(fs::read(report.join("verdicts.jsonl.zst")).unwrap(), files[1]);
}

/// A folder in which a run was killed: it had checked something, and was not at its end. The corpus beside it.
fn killed(name: &str) -> (PathBuf, PathBuf) {
    // On a busy machine one may come to its end before it is killed.
    (0..5).find_map(|_| try_kill(name)).expect("every run was killed too late")
}

fn try_kill(name: &str) -> Option<(PathBuf, PathBuf)> {
    let out = folder(name);
    let (corpus, report) = (out.join("corpus.jsonl"), out.join("report"));
    fs::write(&corpus, (common::session(1, "cat") + "\n").repeat(400_000)).unwrap();
    let arguments = ["-j1", "--out", report.to_str().unwrap(), corpus.to_str().unwrap()];
    let mut child = command().args(arguments).stderr(Stdio::null()).spawn().unwrap();
    let (started, journal) = (Instant::now(), report.join("journal.jsonl"));
    while child.try_wait().unwrap().is_none()
        && fs::read_to_string(&journal).unwrap_or_default().lines().count() < 2
    {
        assert!(started.elapsed() < Duration::from_secs(20), "no line in the journal");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    (!report.join("run.json").exists()).then_some((corpus, report))
}

#[test]
fn a_run_that_was_killed_is_gone_on_with_or_told_apart() {
    let (input, report) = killed("told-apart");
    let again = |flags: &[&str]| {
        let output = run(&[&["--out", report.to_str().unwrap()], flags, &[input.to_str().unwrap()]].concat());
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = again(&["--deny", "self_quote"]);
    assert_eq!(code, Some(73), "{said}");
    assert!(said.contains("its settings were other ones: lints") && said.contains("--restart"), "{said}");
    let (code, said) = again(&["--run", "x"]);
    assert!(code == Some(73) && said.contains("its name was \"\", and is \"x\""), "{said}");
    let (code, said) = again(&[]);
    assert!(code == Some(0) && said.contains("it goes on at byte "), "{said}");
    assert!(said.contains("400000 records: 400000 valid"), "{said}");
    assert_eq!(names(&report), ["codes.csv", "run.json", "summary.csv", "timing.json", "verdicts.jsonl"]);
    let whole = fs::read(report.join("verdicts.jsonl")).unwrap();
    // A finished run is run afresh, whatever its input was.
    let (code, said) = again(&["--run", "x"]);
    assert!(code == Some(0) && !said.contains("goes on"), "{said}");
    assert!(fs::read(report.join("verdicts.jsonl")).unwrap() == whole);
}

#[test]
fn another_input_under_the_same_name_is_refused() {
    let (input, report) = killed("other-input");
    fs::write(&input, common::corpus(30)).unwrap();
    let arguments = ["--out", report.to_str().unwrap(), input.to_str().unwrap()];
    let output = run(&arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(73) && said.contains(" bytes, and has "), "{said}");
    let output = run(&[&["--restart"], &arguments[..]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && !said.contains("goes on"), "{said}");
}

#[test]
fn standard_input_starts_over_and_says_so() {
    let (_, report) = killed("starts-over");
    let output = run_on(&["--out", report.to_str().unwrap()], &common::corpus(30));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("it starts over"), "{said}");
    assert!(report.join("run.json").exists());
}
