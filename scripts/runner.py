"""What the scripts share: finding the command, running it, telling what failed."""

import argparse
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def arguments(description):
    """The folder that a script is given, and the command that it runs."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--binary", type=pathlib.Path, help="the command to run")
    options = parser.parse_args()
    return options.folder.resolve(), find_binary(options.binary)


def find_binary(given=None):
    """The command: given, named by SOURCECHECK, or built here."""
    named = given or os.environ.get("SOURCECHECK")
    built = [ROOT / "target" / profile / "sourcecheck" for profile in ("release", "debug")]
    for candidate in [named] if named else built:
        if pathlib.Path(candidate).is_file():
            return str(pathlib.Path(candidate).resolve())
    raise SystemExit(f"no sourcecheck to run{f' at {named}' if named else ''}; build it with: cargo build --release")


def run(binary, arguments, cwd=None, stdin=None, env=None):
    """Runs the command and returns its exit code, standard output and standard error."""
    environment = dict(os.environ, **(env or {}))
    done = subprocess.run(
        [binary, *map(str, arguments)], cwd=cwd, input=stdin if stdin is not None else b"", env=environment, capture_output=True
    )
    return done.returncode, done.stdout, done.stderr


class Tally:
    """Counts checks, and prints each that fails."""

    def __init__(self, name):
        self.name, self.passed, self.failed = name, 0, 0

    def check(self, holds, what):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"{self.name}: FAILED {what}")
        return holds

    def finish(self):
        """The closing line, and the exit code."""
        print(f"{self.name}: {self.passed} passed, {self.failed} failed")
        raise SystemExit(1 if self.failed or not self.passed else 0)
