"""What the scripts share: finding the command, running it, telling what failed."""

import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()


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
    built = [TARGET / profile / "sourcecheck" for profile in ("release", "debug")]
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


def with_packages(*names):
    """Goes on in a virtual environment under target/ that has these packages, made where there is none."""
    own = TARGET / "venv"
    if pathlib.Path(sys.prefix).resolve() == own.resolve():
        return
    python = own / "bin" / "python"
    steps = [[sys.executable, "-m", "venv", own], [python, "-m", "pip", "install", "--quiet", *names]]
    if not has_packages(python, names):
        print(f"installing {', '.join(names)} into {own}", file=sys.stderr)
        for step in steps:
            if subprocess.run(step, stdout=sys.stderr).returncode != 0:
                raise SystemExit(f"cannot install {', '.join(names)} into {own}")
    sys.stdout.flush()
    os.execv(python, [python, *sys.argv])


def has_packages(python, names):
    found = "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))"
    return python.exists() and subprocess.run([python, "-c", found, *names]).returncode == 0


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
