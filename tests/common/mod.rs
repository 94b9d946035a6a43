//! What several tests share.

use std::fmt::Write as _;

/// A session record with one claim, whose source is found, ambiguous or missing.
pub fn session(id: usize, start: &str) -> String {
    format!(
        "{{\"id\":{id},\"documents\":[{{\"path\":\"a\",\"content\":\"the cat and the hat\\nn{id} é 的。 Two.\"}},\
         {{\"path\":\"b\",\"content\":\"proof of cat {id}\"}}],\"annotations\":[{{\"claim\":{{\"path\":\"a\",\
         \"start\":{{\"line\":1,\"str\":\"{start}\"}},\"end\":{{\"line\":2,\"str\":\"n{id}\"}}}},\"sources\":[{{\"path\":\"b\",\
         \"start\":{{\"line\":1,\"str\":\"proof\"}},\"end\":{{\"line\":1,\"str\":\"cat\"}},\"polarity\":\"supports\",\
         \"confidence\":0.{}}}]}}]}}",
        id % 9 + 1
    )
}

/// Lines of every sort: valid, invalid, malformed, blank, CRLF, two that are long, and a last one
/// without LF.
pub fn corpus(records: usize) -> Vec<u8> {
    let mut text = String::from("\u{feff}");
    for i in 1..=records {
        let _ = match i % 11 {
            0 => writeln!(text, "{}", session(i, "the")),
            1 => writeln!(text, "{}\r", session(i, "cat")),
            2 => writeln!(text, " \t"),
            3 => writeln!(text, "{{\"documents\":[{{}}],\"id\":1.0}}"),
            4 => writeln!(text, "{}", &session(i, "cat")[..60]),
            5 => writeln!(
                text,
                "{{\"id\":\"a{i}\",\"status\":\"answered\",\"answer\":\"Yes [S1]. No.\",\"citations\":[],\"context\":{{\"sources\":[{{\"marker\":\"S1\",\"chunk_id\":\"c\",\"document_id\":\"d\"}}]}}}}"
            ),
            _ => writeln!(text, "{}", session(i, "cat")),
        };
        if i == records / 2 {
            for length in [900_000, 1_200_000] {
                let _ = writeln!(text, "{{\"x\":\"{}\",{}", "y".repeat(length), &session(i, "cat")[1..]);
            }
        }
    }
    text.push_str(&session(0, "hat"));
    text.into_bytes()
}
