"""Whether both checkers of scripts/bench say the same of every line of a corpus.

- The verdicts are the same bytes with one thread and with two, and a verdict a line that wc counts.
- What Python calls invalid (no JSON, or a member is missing) is malformed here, and the tape refuses as many lines.
- Python lists `polarity` and `confidence` as errors where the contract calls the record malformed
  (`unknown_polarity`, `confidence_out_of_range`): any other record is malformed here exactly if Python lists one
  of the two.
- In the records that are left, line, id and the number of refs are the same, and the same refs are broken, but
  for one rule that Python does not have: a start that ends after the end ends (`boundaries_reversed`). A ref
  that is broken here alone is looked up in the corpus, and must be so.
"""

import filecmp
import json


class Disagreement(Exception):
    """The two checkers do not say the same of a line."""


def compare(kind, corpus, one, two, python, tape, wc):
    """Holds the outputs to each other; what they agree on. Without Python's there is little to hold."""
    if not filecmp.cmp(one, two, shallow=False):
        raise Disagreement(f"{kind}: -j1 and -j2 do not write the same bytes")
    lines = int(wc.read_text().split()[0])
    if not python:
        return {"lines": lines}
    count = {"lines": 0, "invalid": 0, "malformed": 0, "refs": 0, "broken": 0, "broken_here_alone": 0}
    with open(corpus, "rb") as records, open(one, "rb") as verdicts, open(python, "rb") as listed:
        for raw, verdict, errors in zip(records, verdicts, listed):
            count["lines"] += 1
            compare_line(f"{kind}, line {count['lines']}", raw, json.loads(verdict), json.loads(errors), count)
        rest = [file.readline() for file in (records, verdicts, listed)]
    if any(rest) or count["lines"] != lines:
        raise Disagreement(f"{kind}: wc counts {lines} lines, only {count['lines']} are in both outputs")
    refused = int(tape.read_text().split()[1])
    if refused != count["invalid"]:
        raise Disagreement(f"{kind}: the tape refuses {refused} lines, Python {count['invalid']}")
    return count


def compare_line(where, raw, verdict, listed, count):
    malformed = verdict["status"] == "malformed"
    if "error" in listed:
        count["invalid"] += 1
        return expect(malformed, where, "invalid for Python, not malformed here")
    members = {code for _, _, code in listed["errors"]} & {"polarity", "confidence"}
    codes = {error["code"] for error in verdict["errors"]} & {"unknown_polarity", "confidence_out_of_range"}
    here = codes or verdict["status"]
    expect(malformed == bool(members) == bool(codes), where, f"Python lists {members}, here it is {here}")
    if malformed:
        count["malformed"] += 1
        return None
    refs = verdict["counts"]["refs"]
    expect(verdict["line"] == listed["line"] and verdict["id"] == listed["id"], where, "another line or id")
    expect(refs["total"] == listed["refs"], where, f"{listed['refs']} refs for Python, {refs['total']} here")
    theirs = {(annotation, source) for annotation, source, _ in listed["errors"]}
    here = {place(error["pointer"]) for error in verdict["errors"]}
    expect(len(here) == refs["total"] - refs["valid"], where, "the errors and the counts differ")
    expect(theirs <= here, where, f"broken for Python alone: {sorted(theirs - here)}")
    record = json.loads(raw) if here - theirs else None
    for annotation, source in here - theirs:
        expect(ends_before(record, annotation, source), where, f"broken here alone: {annotation}, {source}")
    count["refs"] += refs["total"]
    count["broken"] += len(theirs)
    count["broken_here_alone"] += len(here - theirs)


def expect(holds, where, what):
    if not holds:
        raise Disagreement(f"{where}: {what}")


def place(pointer):
    """The ref of a pointer, as Python names it: annotation, and source or -1 for the claim."""
    parts = pointer.split("/")
    return int(parts[2]), -1 if parts[3] == "claim" else int(parts[4])


def ends_before(record, annotation, source):
    """Whether a ref's end begins no earlier than its start, and yet ends before the start ends."""
    cited = record["annotations"][annotation]
    ref = cited["claim"] if source < 0 else cited["sources"][source]
    content = next(document["content"] for document in record["documents"] if document["path"] == ref["path"])
    start, end = ref["start"], ref["end"]
    if start["line"] != end["line"]:
        return False
    line = content.split("\n")[start["line"] - 1]
    begins, ends = line.find(start["str"]), line.find(end["str"])
    return 0 <= begins <= ends and begins + len(start["str"]) > ends + len(end["str"])
