//! Holds the walls of ARCHITECTURE.md by reading the sources.

use std::fs;
use std::path::{Path, PathBuf};

/// A source file: its path below `src`, and its code without tests and comments.
struct Source {
    path: String,
    code: Vec<(usize, String)>,
    lines: usize,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        let body = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let without_comment = |line: &str| line.split(" // ").next().unwrap_or("").to_owned();
        let numbered = body.lines().enumerate().filter(|(_, line)| is_code(line));
        let code = numbered.map(|(i, line)| (i + 1, without_comment(line))).collect();
        Self { path: path.to_owned(), code, lines: body.lines().count() }
    }

    /// The module at the top of the crate that the file belongs to.
    fn module(&self) -> &str {
        self.path.split('/').next().unwrap_or("").trim_end_matches(".rs")
    }

    fn is_library(&self) -> bool {
        self.module() != "bin"
    }

    /// Places that hold one of the words.
    fn places_of(&self, words: &[&str]) -> Vec<String> {
        let holds = |line: &str| words.iter().find(|word| line.contains(*word)).copied();
        let found = self.code.iter().filter_map(|(number, line)| Some((number, holds(line)?)));
        found.map(|(number, word)| format!("src/{}:{number} has `{word}`", self.path)).collect()
    }
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
    let name = |path: &Path| path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
    paths.iter().map(|path| Source::new(&name(path), &fs::read_to_string(path).unwrap())).collect()
}

/// The modules in the order in which `lib.rs` declares them.
fn layers(lib: &Source) -> Vec<String> {
    let declared = |line: &String| {
        let line = line.trim().trim_start_matches("pub ");
        Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    };
    lib.code.iter().filter_map(|(_, line)| declared(line)).collect()
}

/// The top-level modules that a line of code uses.
fn uses(line: &str) -> impl Iterator<Item = &str> {
    let name =
        |rest: &'_ str| rest.len() - rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
    line.split("crate::").skip(1).map(move |rest| &rest[..name(rest)])
}

/// Uses of a module from one that is declared above it.
fn backward_uses(source: &Source, layers: &[String]) -> Vec<String> {
    let layer = |name: &str| layers.iter().position(|layer| layer == name);
    let Some(own) = layer(source.module()) else { return Vec::new() };
    let mut found = Vec::new();
    for (number, line) in &source.code {
        for used in uses(line).filter(|used| layer(used).is_some_and(|used| used > own)) {
            found.push(format!(
                "src/{}:{number} uses `{used}`, which is declared below `{}`",
                source.path,
                source.module()
            ));
        }
    }
    found
}

fn assert_none(rule: &str, found: impl IntoIterator<Item = String>) {
    let found: Vec<String> = found.into_iter().collect();
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

/// No file of the library but those `allowed` holds one of the words.
fn assert_only_in(rule: &str, allowed: &[&str], words: &[&str]) {
    let others =
        sources().into_iter().filter(|s| s.is_library() && !allowed.iter().any(|a| s.path.starts_with(a)));
    assert_none(rule, others.flat_map(|source| source.places_of(words)));
}

#[test]
fn a_module_uses_only_modules_above_it() {
    let sources = sources();
    let layers = layers(sources.iter().find(|source| source.path == "lib.rs").unwrap());
    assert!(layers.len() > 10, "{layers:?}");
    assert_none(
        "the order of lib.rs is the order of the house",
        sources.iter().flat_map(|s| backward_uses(s, &layers)),
    );
}

#[test]
fn one_file_names_the_json_parsers() {
    assert_only_in(
        "JSON is parsed in decode/json.rs",
        &["decode/json.rs"],
        &["simd_json", "jiter", "serde_json::from"],
    );
}

#[test]
fn one_file_knows_threads() {
    let words = ["std::thread", "thread::", "rayon", "Mutex", "Condvar", "mpsc"];
    assert_only_in("threads live in pipeline.rs", &["pipeline.rs"], &words);
}

#[test]
fn files_are_reached_through_storage() {
    assert_only_in(
        "files go through storage.rs",
        &["storage.rs"],
        &["std::fs", " fs::", "(fs::", "File::open", "File::create"],
    );
    let streams = ["stdin(", "stdout(", "stderr(", "println!", "eprintln!", "print!", "eprint!"];
    assert_only_in("the library touches no standard stream", &[], &streams);
}

#[test]
fn the_command_line_stays_in_the_binary() {
    assert_only_in(
        "clap, colours and bars are the binary's",
        &[],
        &["clap", "indicatif", "anstream", "signal_hook"],
    );
    assert_only_in("carets are drawn in one file", &["output/text.rs"], &["annotate_snippets"]);
    let inside = sources().into_iter().filter(|source| !source.is_library());
    let found = inside.flat_map(|source| {
        let own = ["crate::args", "crate::commands", "crate::progress", "crate::signals", "crate::terminal"];
        let foreign = |line: &&(usize, String)| {
            uses(&line.1).any(|used| !own.contains(&format!("crate::{used}").as_str()))
        };
        source
            .code
            .iter()
            .filter(foreign)
            .map(|(number, _)| format!("src/{}:{number}", source.path))
            .collect::<Vec<_>>()
    });
    assert_none("the binary uses the public API alone", found);
}

#[test]
fn the_library_reads_no_clock_and_never_exits() {
    let words = ["std::env::", "env::var", "SystemTime", "Instant::", "process::exit", "static mut"];
    assert_only_in("no clock, environment, exit or global state", &[], &words);
}

#[test]
fn nothing_panics_on_purpose() {
    let words = [".unwrap()", ".expect(", "panic!", "todo!", "unimplemented!", "dbg!", "unsafe "];
    let found = sources().iter().flat_map(|source| source.places_of(&words)).collect::<Vec<_>>();
    assert_none("no unwrap, panic or unsafe outside tests", found);
}

#[test]
fn a_file_is_about_one_noun() {
    let long = sources().into_iter().filter(|source| source.lines > 600);
    assert_none(
        "a file without its tests has at most 600 lines",
        long.map(|s| format!("src/{} has {}", s.path, s.lines)),
    );
}

#[test]
fn violations_are_found() {
    let layers = vec!["text".to_owned(), "check".to_owned()];
    let planted = Source::new(
        "text/find.rs",
        "use crate::check::run;\n// crate::check in a comment\nuse crate::text::a;\n",
    );
    assert_eq!(backward_uses(&planted, &layers).len(), 1);
    let planted = Source::new(
        "a.rs",
        "let a = b.unwrap();\n/// c.unwrap()\n#[cfg(test)]\nmod tests {\n d.unwrap();\n}\n",
    );
    assert_eq!(planted.places_of(&[".unwrap()"]), ["src/a.rs:1 has `.unwrap()`"]);
    assert_eq!(uses("crate::text::x(crate::model::Y)").collect::<Vec<_>>(), ["text", "model"]);
}
