//! Any bytes as a corpus, plain or compressed: one and two threads give the same bytes, lines balance
//! (the run itself checks that), nothing panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sourcecheck::{Input, JsonLines, RunOptions, Settings, check_corpus};
use std::io::Cursor;
use std::num::NonZeroUsize;

fn run(data: &[u8], threads: usize, limit: usize) -> (Vec<u8>, bool) {
    let mut options = RunOptions::new(Settings { max_record_bytes: limit, ..Settings::default() });
    options.threads = NonZeroUsize::new(threads).expect("not zero");
    let mut sink = JsonLines::new(Vec::new(), "memory");
    let input = Input::from_reader("corpus", Cursor::new(data.to_vec()));
    let outcome = check_corpus(vec![input], &options, &mut sink).expect("bad input is no error");
    (sink.into_inner(), outcome.is_complete())
}

fuzz_target!(|data: &[u8]| {
    for limit in [16, 1 << 20] {
        let one = run(data, 1, limit);
        assert_eq!(one, run(data, 2, limit));
    }
});
