//! Holds the walls of ARCHITECTURE.md by reading the sources.
//!
//! It reads words, not Rust: enough for code that rustfmt has laid out, and quick to understand.

use std::fs;
use std::path::{Path, PathBuf};

/// A source file: its path below `src`, and its code without tests and comments.
struct Source {
    path: String,
    code: Vec<(usize, String)>,
    lines: usize,
    /// What follows `mod tests {`, up to the end of the file.
    tests: String,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        let (body, tests) = text.split_once("#[cfg(test)]\nmod tests {\n").unwrap_or((text, ""));
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let without_comment = |line: &str| line.split(" // ").next().unwrap_or("").to_owned();
        let numbered = body.lines().enumerate().filter(|(_, line)| is_code(line));
        let code = numbered.map(|(i, line)| (i + 1, without_comment(line))).collect();
        Self { path: path.to_owned(), code, lines: body.lines().count(), tests: tests.to_owned() }
    }

    /// The module at the top of the crate that the file belongs to.
    fn module(&self) -> &str {
        self.path.split('/').next().unwrap_or("").trim_end_matches(".rs")
    }

    /// Whether `super` is the crate itself here.
    fn is_top(&self) -> bool {
        self.path.matches('/').count() == usize::from(self.path.ends_with("/mod.rs"))
    }

    fn is_library(&self) -> bool {
        self.module() != "bin"
    }

    fn place(&self, number: usize, what: &str) -> String {
        format!("src/{}:{number} {what}", self.path)
    }

    /// Places that hold one of the words.
    fn places_of(&self, words: &[&str]) -> Vec<String> {
        let holds = |line: &str| words.iter().find(|word| has_word(line, word)).copied();
        let found = self.code.iter().filter_map(|(number, line)| Some((*number, holds(line)?)));
        found.map(|(number, word)| self.place(number, &format!("has `{word}`"))).collect()
    }

    /// The names that follow a path's beginning, also in braces over several lines, with their lines.
    fn names_after(&self, beginning: &str) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (i, (number, line)) in self.code.iter().enumerate() {
            for rest in line.split(beginning).skip(1) {
                match rest.strip_prefix('{') {
                    Some(rest) => found.extend(braced(*number, rest, &self.code[i + 1..])),
                    None => found.push((*number, name(rest).to_owned())),
                }
            }
        }
        found
    }

    /// The top-level modules that it uses.
    fn uses(&self) -> Vec<(usize, String)> {
        let mut found = self.names_after("crate::");
        if self.is_top() {
            found.extend(self.names_after("super::"));
        }
        found
    }
}

/// The name that a text begins with; empty where it begins with none.
fn name(text: &str) -> &str {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_';
    &text[..text.len() - text.trim_start_matches(is_inside).len()]
}

/// The first name of each path in a group that `rest` begins and `more` may go on with.
fn braced(number: usize, rest: &str, more: &[(usize, String)]) -> Vec<(usize, String)> {
    let more = more.iter().map(|(number, line)| (*number, line.as_str()));
    let (mut found, mut depth, mut is_first) = (Vec::new(), 1, true);
    for (number, line) in std::iter::once((number, rest)).chain(more) {
        for (i, c) in line.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => is_first = true,
                c if is_first && !c.is_whitespace() => {
                    found.push((number, name(&line[i..]).to_owned()));
                    is_first = false;
                }
                _ => {}
            }
            if depth == 0 {
                return found;
            }
        }
    }
    found
}

/// Whether a word stands in a line, not as the end of a longer one: `File::` is not in `RunFile::`.
fn has_word(line: &str, word: &str) -> bool {
    let goes_on = |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let is_name = word.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(i, _)| !is_name || !goes_on(&line[..i]))
}

fn sources() -> Vec<Source> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { walk(&path, found) } else { found.push(path) }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    walk(&root, &mut paths);
    paths.sort();
    let name = |path: &Path| path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
    let sources = paths.iter().map(|path| Source::new(&name(path), &fs::read_to_string(path).unwrap()));
    let sources: Vec<Source> = sources.collect();
    assert!(sources.len() > 20, "only {} sources were found", sources.len());
    sources
}

/// The modules in the order in which a file declares them.
fn declared(file: &Source) -> Vec<String> {
    let declared = |line: &String| {
        let line = line.trim();
        let line = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
        Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    };
    file.code.iter().filter_map(|(_, line)| declared(line)).collect()
}

fn named<'s>(sources: &'s [Source], path: &str) -> &'s Source {
    sources.iter().find(|source| source.path == path).unwrap()
}

/// Uses of a module from one that is declared above it.
fn backward_uses(source: &Source, layers: &[String]) -> Vec<String> {
    let layer = |name: &str| layers.iter().position(|layer| layer == name);
    let Some(own) = layer(source.module()) else { return Vec::new() };
    let uses = source.uses().into_iter();
    let backward = uses.filter(|(_, used)| layer(used).is_some_and(|used| used > own));
    backward
        .map(|(number, used)| {
            let rule = format!("uses `{used}`, which is declared below `{}`", source.module());
            source.place(number, &rule)
        })
        .collect()
}

/// What a file of the binary uses that is neither its own nor the library's public API.
fn private_uses(source: &Source, own: &[String]) -> Vec<String> {
    let foreign = source.uses().into_iter().filter(|(_, used)| !own.contains(used));
    let mut found: Vec<String> =
        foreign.map(|(number, used)| source.place(number, &format!("uses `crate::{used}`"))).collect();
    found.extend(source.places_of(&["sourcecheck::stages", "include!", "#[path"]));
    found
}

/// Code after the tests would be read as tests.
fn code_after_tests(source: &Source) -> bool {
    let closing = source.tests.lines().filter(|line| *line == "}").count();
    !source.tests.is_empty() && (closing != 1 || !source.tests.trim_end().ends_with("\n}"))
}

#[track_caller]
fn assert_none(rule: &str, found: impl IntoIterator<Item = String>) {
    let found: Vec<String> = found.into_iter().collect();
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

/// No file of the library but those `allowed` holds one of the words.
#[track_caller]
fn assert_only_in(rule: &str, allowed: &[&str], words: &[&str]) {
    let others = sources().into_iter().filter(|s| s.is_library() && !allowed.contains(&s.path.as_str()));
    assert_none(rule, others.flat_map(|source| source.places_of(words)));
}

const PARSERS: &[&str] =
    &["simd_json", "jiter", "serde_json::from", "serde_json::de", "serde_json::Deserializer"];
const THREADS: &[&str] =
    &["std::thread", "thread::", "rayon", "Mutex", "RwLock", "Condvar", "mpsc", "thread_local!"];
const FILES: &[&str] = &["std::fs", "fs::", "File::", "OpenOptions"];
const STREAMS: &[&str] = &["stdin", "stdout", "stderr", "println!", "eprintln!", "print!", "eprint!"];
const WORLD: &[&str] = &["std::env", "env::", "SystemTime", "Instant", "process::", "static mut"];
const PANICS: &[&str] =
    &[".unwrap()", ".expect(", "panic!", "todo!", "unimplemented!", "unreachable!()", "dbg!", "unsafe"];

#[test]
fn a_module_uses_only_modules_above_it() {
    let sources = sources();
    let layers = declared(named(&sources, "lib.rs"));
    assert!(layers.len() > 10, "{layers:?}");
    for source in sources.iter().filter(|source| source.is_library() && source.path != "lib.rs") {
        assert!(layers.iter().any(|layer| layer == source.module()), "{} has no layer", source.path);
    }
    let found = sources.iter().flat_map(|source| backward_uses(source, &layers));
    assert_none("the order of lib.rs is the order of the house", found);
}

#[test]
fn one_file_names_the_json_parsers() {
    assert_only_in("JSON is parsed in decode/json.rs", &["decode/json.rs"], PARSERS);
}

#[test]
fn one_file_knows_threads() {
    assert_only_in("threads live in pipeline.rs", &["pipeline.rs"], THREADS);
}

#[test]
fn files_are_reached_through_storage() {
    assert_only_in("files go through storage.rs", &["storage.rs"], FILES);
    assert_only_in("the library touches no standard stream", &[], STREAMS);
}

#[test]
fn the_command_line_stays_in_the_binary() {
    let words = ["clap", "indicatif", "anstream", "signal_hook", "gethostname", "humantime", "rustix"];
    assert_only_in("clap, colours and bars are the binary's", &[], &words);
    assert_only_in("carets are drawn in one file", &["output/text.rs"], &["annotate_snippets"]);
}

#[test]
fn the_binary_uses_the_public_api_alone() {
    let sources = sources();
    let own = declared(named(&sources, "bin/sourcecheck/main.rs"));
    let binary = sources.iter().filter(|source| !source.is_library());
    assert_none("`sourcecheck::` is the only door", binary.flat_map(|source| private_uses(source, &own)));
}

#[test]
fn the_library_reads_no_clock_and_never_exits() {
    assert_only_in("no clock, environment, exit or global state", &[], WORLD);
}

#[test]
fn nothing_panics_on_purpose() {
    let found = sources().into_iter().flat_map(|source| source.places_of(PANICS));
    assert_none("no unwrap, panic or unsafe outside tests", found);
}

#[test]
fn a_file_is_about_one_noun() {
    let long = sources().into_iter().filter(|source| source.lines > 600);
    let told = long.map(|source| source.place(source.lines, "is its last line before its tests"));
    assert_none("a file without its tests has at most 600 lines", told);
}

#[test]
fn tests_stand_last() {
    let found = sources().into_iter().filter(code_after_tests).map(|source| source.path);
    assert_none("nothing follows the tests of a file", found);
}

#[test]
fn violations_are_found() {
    let find = |path: &str, text: &str, words: &[&str]| Source::new(path, text).places_of(words);
    assert_eq!(find("a.rs", "x\nlet a = b.unwrap();\n", PANICS), ["src/a.rs:2 has `.unwrap()`"]);
    assert_eq!(find("a.rs", "use std::thread::spawn;\n", THREADS), ["src/a.rs:1 has `std::thread`"]);
    assert_eq!(find("a.rs", "let f = fs::File::open(p);\n", FILES), ["src/a.rs:1 has `fs::`"]);
    for (line, words) in [
        ("let v: Value = serde_json::from_str(s)?;", PARSERS),
        ("let m: Arc<Mutex<u8>> = x;", THREADS),
        ("use std::{fs::File, io};", FILES),
        ("let f = File::create(p)?;", FILES),
        ("write(std::io::stdout())", STREAMS),
        ("eprintln!(\"x\")", STREAMS),
        ("std::process::exit(1)", WORLD),
        ("let t = Instant::now();", WORLD),
        ("None => unreachable!(),", PANICS),
    ] {
        assert_eq!(find("a.rs", line, words).len(), 1, "{line}");
    }
}

#[test]
fn what_only_looks_like_a_violation_is_not_one() {
    let find = |text: &str, words: &[&str]| Source::new("a.rs", text).places_of(words);
    for (text, words) in [
        ("/// c.unwrap()\n//! d.unwrap()\nlet a = 1; // e.unwrap()\n", PANICS),
        ("#[cfg(test)]\nmod tests {\n    d.unwrap();\n}\n", PANICS),
        ("unreachable!(\"the vector is empty\")\n", PANICS),
        ("let f = RunFile::new();\n", FILES),
        ("serde_json::to_vec_pretty(value)\n", PARSERS),
        ("env!(\"CARGO_PKG_VERSION\")\n", WORLD),
    ] {
        assert!(find(text, words).is_empty(), "{text}");
    }
}

#[test]
fn uses_are_found_however_they_are_written() {
    let layers = ["text", "check", "run"].map(str::to_owned);
    let backward = |path: &str, text: &str| backward_uses(&Source::new(path, text), &layers).len();
    assert_eq!(backward("text/find.rs", "use crate::check::lint;\n"), 1);
    assert_eq!(backward("text/find.rs", "let a = crate::run::Folder::new(crate::text::b);\n"), 1);
    assert_eq!(
        backward("text/find.rs", "use crate::{\n    check::{self, run},\n    text, run::Folder,\n};\n"),
        2
    );
    assert_eq!(backward("text/mod.rs", "use super::run;\n"), 1);
    assert_eq!(backward("text/find.rs", "use super::run;\n// crate::check\n"), 0);
    assert_eq!(backward("check/mod.rs", "use crate::check::a;\nuse crate::text::{run, check};\n"), 0);
    let own = ["args".to_owned()];
    let private = |text: &str| private_uses(&Source::new("bin/sourcecheck/main.rs", text), &own).len();
    assert_eq!(private("use crate::args::Cli;\nuse sourcecheck::Checker;\n"), 0);
    assert_eq!(private("use crate::decode::json;\nuse sourcecheck::stages;\n"), 2);
    assert_eq!(
        declared(&Source::new("lib.rs", "mod a;\npub mod b;\npub(crate) mod c;\nmod d {\n")),
        ["a", "b", "c"]
    );
    assert!(code_after_tests(&Source::new("a.rs", "#[cfg(test)]\nmod tests {\n}\nfn a() {\n}\n")));
    assert!(!code_after_tests(&Source::new("a.rs", "#[cfg(test)]\nmod tests {\n    a();\n}\n")));
}
