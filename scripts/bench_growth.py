"""What must not grow, for scripts/bench: time per byte on pathological records, memory, start-up.

The records are made here, so that what is right is known: each check's counts of refs are held to it.
"""

import json
import random

from bench_measure import MIB, Job, Trouble, bar, measure, median, start_up, summary

TIMES_ORDINARY = 3  # time per byte of any record, against the ordinary corpora
LINE_SECONDS = 3  # the line of 10 MB with 100,000 refs
LINE_GROWTH = 30  # from 1 MB and 10,000 refs to that
RECORD_FACTOR, RECORD_EXTRA = 2.5, 32 * MIB  # memory of one giant record
PEAK_MIB = 32  # memory of an ordinary corpus at two threads
PEAK_GROWTH_MIB = 2  # from 1 GB to 4 GB
START_UP_MS = 10
START_UP_RUNS = 20
MEMORY_RUNS = 3
LIMIT_SECONDS = 30  # a run that takes longer is stopped
MB = 10**6

WORDS = "the of and to in is that for it as was with be by on not he his but at are this have from or had an".split()


def ref(path, line, start, end):
    """A ref whose object is left open, for a source's polarity and confidence."""
    return '{"path":"%s","start":{"line":%d,"str":"%s"},"end":{"line":%d,"str":"%s"}' % (path, line, start, line, end)


def write_record(path, documents, refs):
    """A session record of documents (path, content as it stands in JSON) and refs, taken in pairs: claim, source."""
    with open(path, "w", encoding="ascii") as file:
        file.write('{"id":"%s","documents":[' % path.stem)
        for i, (name, content) in enumerate(documents):
            file.write('%s{"path":"%s","content":"%s"}' % ("," if i else "", name, content))
        file.write('],"annotations":[')
        refs = iter(refs)
        for i, (claim, source) in enumerate(zip(refs, refs)):
            file.write('%s{"claim":%s},"sources":[' % ("," if i else "", claim))
            file.write('%s,"polarity":"supports","confidence":0.9}]}' % source)
        file.write("]}\n")


def long_line(path, size, count):
    """One line of numbered tokens and words, and refs whose strings are cut from it at a token, so that each
    occurs once; the lengths vary; one ref in a hundred names a token that does not occur."""
    rng = random.Random(7)
    pieces, offsets, length = [], [], 0
    while length < size:
        offsets.append(length)
        pieces.append(f"w{len(offsets):07} {rng.choice(WORDS)} ")
        length += len(pieces[-1])
    line = "".join(pieces)
    apart = 8  # tokens from the start to the end, more than the longest string

    def refs():
        for i in range(count):
            k = rng.randrange(len(offsets) - 2 * apart)
            start, end = offsets[k], offsets[k + apart]
            text = "v0000000" if i % 100 == 99 else line[start : start + 8 + rng.randrange(60)]
            yield ref("output", 1, text, line[end : end + 8 + rng.randrange(60)])

    write_record(path, [("output", line)], refs())
    return count - count // 100, count


def many_lines(path, lines, count):
    """One document of very many lines."""
    rng = random.Random(7)
    content = "\\n".join(f"w{i:07} {' '.join(rng.choices(WORDS, k=8))} {i:07}." for i in range(1, lines + 1))
    numbers = (rng.randrange(1, lines + 1) for _ in range(count))
    write_record(path, [("output", content)], (ref("output", i, f"w{i:07}", f" {i:07}.") for i in numbers))
    return count, count


def giant_record(path, size, documents=5, refs_each=20):
    """Documents of many lines with escapes, and few refs."""
    rng = random.Random(7)
    block = []
    while sum(map(len, block[-1:])) * len(block) < MB:
        words = rng.choices(WORDS, k=12)
        block.append(f'w{len(block):07} \\"{" ".join(words[:6])}\\"\\t{" ".join(words[6:])} caf\\u00e9.')
    text = "\\n".join(block) + "\\n"
    repeats = max(1, size // documents // len(text))

    def refs():
        for i in range(documents * refs_each):
            line = rng.randrange(repeats * len(block))
            yield ref(f"doc-{i % documents}", line + 1, f"w{line % len(block):07}", "caf\\u00e9.")

    write_record(path, [(f"doc-{i}", text * repeats) for i in range(documents)], refs())
    return documents * refs_each, documents * refs_each


def one_character(path, size, count):
    """A line and boundaries that are all one character, repeated: none is unique."""
    refs = (ref("output", 1, "a" * (1 + i % 1000), "a" * (1 + (i + 500) % 1000)) for i in range(count))
    write_record(path, [("output", "a" * size)], refs)
    return 0, count


def many_documents(path, count):
    """As many documents as refs."""
    rng = random.Random(7)
    documents = [(f"doc-{i:06}", f"w{i:07} {' '.join(rng.choices(WORDS, k=8))} {i:07}.") for i in range(count)]
    refs = (ref(f"doc-{i:06}", 1, f"w{i:07}", f" {i:07}.") for i in range(count))
    write_record(path, documents, refs)
    return count, count


def shapes(shrink):
    """Name, file, and how the file is made, each `shrink` times smaller than promised."""
    n = lambda full: full // shrink
    return [
        ("line of 1 MB, 10,000 refs", "line-small", lambda p: long_line(p, n(MB), n(10_000))),
        ("line of 10 MB, 100,000 refs", "line-large", lambda p: long_line(p, n(10 * MB), n(100_000))),
        ("1,000,000 lines, 100,000 refs", "lines", lambda p: many_lines(p, n(1_000_000), n(100_000))),
        ("record of 200 MB", "giant", lambda p: giant_record(p, n(200 * MB))),
        ("one repeated character", "repeated", lambda p: one_character(p, n(MB), n(10_000))),
        ("100,000 documents", "documents", lambda p: many_documents(p, n(100_000))),
    ]


def make(shrink, work, say):
    """The records, made once: name, file, and the counts of refs that the check must find."""
    made = []
    for name, stem, maker in shapes(shrink):
        path, counts = work / f"{stem}-{shrink}.jsonl", work / f"{stem}-{shrink}.counts"
        if not counts.exists():
            say(f"making {path.name}")
            counts.write_text(json.dumps(maker(path)))
        made.append((name, stem, path, tuple(json.loads(counts.read_text()))))
    return made


def check_counts(name, out, wanted):
    with open(out, encoding="utf-8") as file:
        verdict = json.loads(file.readline())
    refs = verdict.get("counts", {}).get("refs", {})
    if (refs.get("valid"), refs.get("total")) != wanted:
        raise Trouble(f"{name}: {wanted[0]} of {wanted[1]} refs hold, the check says {refs or verdict['errors'][:3]}")


def measure_shapes(binary, made, work, runs, say):
    """Every record, in turn, one thread: its summaries by stem. A record that takes too long is not run again."""
    taken = {stem: [] for _, stem, _, _ in made}
    for turn in range(runs):
        say(f"growth, run {turn + 1} of {runs}")
        for name, stem, path, wanted in made:
            if any(run.stopped for run in taken[stem]):
                continue
            out = work / f"{stem}.verdicts"
            job = Job([binary, "--json", "-j1", path], out, codes=(0, 1, 2))
            taken[stem].append(measure([job], work, LIMIT_SECONDS))
            if turn == 0 and not taken[stem][0].stopped:
                check_counts(name, out, wanted)
    return {stem: summary(taken[stem], path.stat().st_size) for _, stem, path, _ in made}


def shape_bars(made, rows, ordinary, tiny):
    """The bars of the records. `ordinary` is CPU seconds per byte of the ordinary corpora, `tiny` of the tiny ones."""
    seconds = lambda stem, field: None if rows[stem]["stopped"] else rows[stem][field]["median"]
    bars = []
    for name, stem, _, _ in made:
        cpu = seconds(stem, "cpu")
        relative = cpu / rows[stem]["bytes"] / ordinary if cpu and ordinary else None
        held = TIMES_ORDINARY if ordinary and not stem.startswith("line-") else None
        bars.append(bar(f"{name}: time per byte / ordinary", relative, at_most=held, unit="x"))
    if ordinary and tiny:
        bars.append(bar("tiny records: time per byte / ordinary", tiny / ordinary, at_most=TIMES_ORDINARY, unit="x"))
    bars.append(bar("line of 10 MB: wall", seconds("line-large", "wall"), at_most=LINE_SECONDS, unit=" s"))
    small, large = seconds("line-small", "cpu"), seconds("line-large", "cpu")
    bars.append(bar("line of 10 MB / line of 1 MB: CPU", large and large / small, at_most=LINE_GROWTH, unit="x"))
    most = (RECORD_FACTOR * rows["giant"]["bytes"] + RECORD_EXTRA) / MIB
    bars.append(bar("record of 200 MB: peak", seconds("giant", "peak"), at_most=round(most, 1), unit=" MiB"))
    return bars


def measure_memory(binary, corpus, shrink, work, say):
    """The small records as often as makes 1 GB and 4 GB, through a pipe, two threads."""
    size = corpus.stat().st_size
    copies = max(1, -(-10**9 // shrink // size))
    taken = {1: [], 4: []}
    for turn in range(MEMORY_RUNS):
        say(f"memory, run {turn + 1} of {MEMORY_RUNS}")
        for times, runs in taken.items():
            job = Job([binary, "--json", "-j2"], piped=(corpus,) * copies * times, codes=(0, 1, 2))
            runs.append(measure([job], work))
    rows = {f"{times} GB through a pipe": summary(runs, size * copies * times) for times, runs in taken.items()}
    one, four = (median(runs, "peak") for runs in taken.values())
    bars = [
        bar("4 GB through a pipe, -j2: peak", four, at_most=PEAK_MIB, unit=" MiB"),
        bar("peak of 4 GB - peak of 1 GB", four - one, at_most=PEAK_GROWTH_MIB, unit=" MiB"),
    ]
    return rows, bars


def measure_start(binary, sample):
    bars, raw = [], {}
    for name, argv in (("--help", [binary, "--help"]), ("one record", [binary, "--json", sample])):
        raw[name] = sorted(start_up(argv, (0, 1, 2), START_UP_RUNS))
        middle = (raw[name][(START_UP_RUNS - 1) // 2] + raw[name][START_UP_RUNS // 2]) / 2
        spread = (raw[name][0], raw[name][-1])
        bars.append(bar(f"start-up, {name}", middle, at_most=START_UP_MS, unit=" ms", spread=spread))
    return raw, bars


def growth(binary, corpus, sample, work, runs, shrink, ordinary, tiny, say):
    """The whole section: rows for the table, bars, and the raw start-up times."""
    made = make(shrink, work, say)
    rows = measure_shapes(binary, made, work, runs, say)
    bars = shape_bars(made, rows, ordinary, tiny)
    named = {name: rows[stem] for name, stem, _, _ in made}
    memory_rows, memory_bars = measure_memory(binary, corpus, shrink, work, say)
    raw, start_bars = measure_start(binary, sample)
    return {**named, **memory_rows}, bars + memory_bars + start_bars, raw
