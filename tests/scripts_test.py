#!/usr/bin/env python3
"""The scripts at the root: building once, two runs at once, failures, packages, the default model.

Each test works on a copy of the scripts in a temporary tree, with stand-ins for cmake, apt-get, dpkg-query and pip that
write down how they were called. Nothing is installed, built or fetched.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

CMAKE = r"""#!/usr/bin/env bash
[[ $1 == --version ]] && { echo 'cmake version 3.25.1'; exit 0; }
echo "$*" >>"$TREE/calls/cmake"
if [[ $1 == --preset ]]; then
  mkdir -p "build/$2" && echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" >"build/$2/CMakeCache.txt" && touch "build/$2/build.ninja"
  for argument; do [[ $argument != -D* ]] || echo "${argument#-D}" | sed 's/=/:BOOL=/' >>"build/$2/CMakeCache.txt"; done
  exit 0
fi
sleep "${BUILD_SECONDS:-0}"
[[ ! -e $TREE/broken ]] || { for i in $(seq 100); do echo "step $i"; done; echo 'error: the last line'; exit 1; }
mkdir -p "$2/bin" && cp "$TREE/command" "$2/bin/longformer"
"""

# The command: `convert` writes a model, everything else shows where and how it was called.
COMMAND = r"""#!/usr/bin/env bash
if [[ $1 == convert ]]; then
  echo "$*" >>"$TREE/calls/convert"
  sleep "${CONVERT_SECONDS:-0}"
  [[ -z ${CONVERT_SAYS:-} ]] || { echo "$CONVERT_SAYS" >&2; exit 1; }
  mkdir "${@: -1}" && cp "${@: -2:1}/config.json" "${@: -1}/"
  exit
fi
echo "$PWD: $*"
exit 4
"""

# python3: pip is a stand-in, the rest is real.
PYTHON = r"""#!/usr/bin/env bash
[[ $1 == -m && $2 == pip ]] || exec "$REAL_PYTHON" "$@"
echo "$*" >>"$TREE/calls/pip"
sleep "${PIP_SECONDS:-0}"
[[ -z ${PIP_SAYS:-} ]] || { echo "$PIP_SAYS" >&2; exit 1; }
while [[ $1 != --dest ]]; do shift; done
cp "$TREE"/package.whl "$2/package-0.1.0-py3-none-any.whl"
"""

DPKG_QUERY = """#!/usr/bin/env bash
[[ " ${MISSING:-} " == *" ${@: -1} "* ]] && exit 1
echo 'ii '
"""

APT_GET = """#!/usr/bin/env bash
echo "$*" >>"$TREE/calls/apt-get"
"""


class ScriptsTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory(prefix="longformer scripts ")
        self.addCleanup(temporary.cleanup)
        self.base = Path(temporary.name).resolve()
        self.tree = self.base / "tree"
        for folder in ("tools", "src", "include", "cmake", "calls", "bin"):
            (self.tree / folder).mkdir(parents=True)
        for name in ("longformer", "test"):
            shutil.copy2(ROOT / name, self.tree)
        for path in [*(ROOT / "tools").glob("*.sh"), ROOT / "tools" / "default_model.env"]:
            shutil.copy2(path, self.tree / "tools")
        for name in ("CMakeLists.txt", "CMakePresets.json", "src/a.cc"):
            (self.tree / name).write_text("")
        for name, text in {"cmake": CMAKE, "python3": PYTHON, "dpkg-query": DPKG_QUERY, "apt-get": APT_GET,
                           "ninja": "", "c++": ""}.items():
            self.program(self.tree / "bin" / name, text)
        self.program(self.tree / "command", COMMAND)
        self.package()
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("LONGFORMER_", "XDG_"))}
        self.environment |= {"TREE": str(self.tree), "REAL_PYTHON": sys.executable, "HOME": str(self.base / "home"),
                             "PATH": f"{self.tree / 'bin'}:{os.environ['PATH']}"}

    def program(self, path: Path, text: str) -> None:
        path.write_text(text or "#!/bin/sh\n")
        path.chmod(0o755)

    def package(self) -> None:
        """A wheel with a model in it; the copy of default_model.env gets its hash."""
        wheel = self.tree / "package.whl"
        settings = self.tree / "tools" / "default_model.env"
        folder = re.search(r"^DEFAULT_MODEL_WHEEL_FOLDER=(.*)$", settings.read_text(), re.M)[1]
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(f"{folder}/config.json", "{}\n")
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        settings.write_text(re.sub(r"(?<=SHA256=).*", digest, settings.read_text()))
        self.model_name = re.search(r"^DEFAULT_MODEL_NAME=(.*)$", settings.read_text(), re.M)[1]

    def start(self, *arguments: str | Path, program: Path | None = None, cwd: Path | None = None,
              **environment: str) -> subprocess.Popen:
        return subprocess.Popen([str(program or self.tree / "longformer"), *map(str, arguments)], cwd=cwd or self.base,
                                env=self.environment | environment, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_script(self, *arguments: str | Path, **options) -> tuple[int, str, str]:
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def calls(self, name: str) -> list[str]:
        path = self.tree / "calls" / name
        return path.read_text().splitlines() if path.exists() else []

    def cache(self) -> list[str]:
        folder = self.base / "home" / ".cache" / "longformer"
        return sorted(path.name for path in folder.iterdir() if path.name != ".lock") if folder.exists() else []

    # Building

    def test_builds_once_and_again_after_a_change(self) -> None:
        code, out, err = self.run_script("info", "x y")
        self.assertEqual((code, out), (4, f"{self.base}: info x y\n"))
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertEqual(len(self.calls("cmake")), 2)
        self.assertEqual(self.run_script("info"), (4, f"{self.base}: info\n", ""))
        self.assertEqual(len(self.calls("cmake")), 2)
        (self.tree / "src" / "b.cc").write_text("")
        self.run_script("info")
        self.assertEqual(len(self.calls("cmake")), 3)
        (self.tree / "src" / "b.cc").unlink()
        self.run_script("info")
        self.assertEqual(len(self.calls("cmake")), 4)

    def test_an_edit_during_the_build_is_built_next_time(self) -> None:
        process = self.start("info", BUILD_SECONDS="0.5")
        while len(self.calls("cmake")) < 2:
            time.sleep(0.02)
        (self.tree / "src" / "a.cc").write_text("changed")
        process.communicate(timeout=60)
        self.run_script("info")
        self.assertEqual(len(self.calls("cmake")), 3)

    def test_works_through_a_link_from_any_folder(self) -> None:
        elsewhere = self.base / "else where"
        elsewhere.mkdir()
        (elsewhere / "lf").symlink_to(self.tree / "longformer")
        code, out, _ = self.run_script("info", "a.txt", program=elsewhere / "lf", cwd=elsewhere, CDPATH=str(self.base))
        self.assertEqual((code, out), (4, f"{elsewhere}: info a.txt\n"))

    def test_failed_build_shows_the_end_of_its_log(self) -> None:
        (self.tree / "broken").touch()
        for _ in range(2):
            code, out, err = self.run_script("info")
            self.assertEqual((code, out), (1, ""))
            self.assertIn("error: the last line", err)
            self.assertNotIn("step 5\n", err)
            self.assertIn("build/release/build.log", err)
        (self.tree / "broken").unlink()
        self.assertEqual(self.run_script("info")[:2], (4, f"{self.base}: info\n"))

    def test_two_first_runs_build_once(self) -> None:
        processes = [self.start("info", BUILD_SECONDS="0.5") for _ in range(3)]
        for process in processes:
            out, _ = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out), (4, f"{self.base}: info\n"))
        self.assertEqual(len(self.calls("cmake")), 2)

    def test_a_moved_tree_is_built_again(self) -> None:
        self.run_script("info")
        moved = self.base / "moved"
        shutil.copytree(self.tree, moved)
        os.utime(moved / "src" / "a.cc")
        code, out, _ = self.run_script("info", program=moved / "longformer", TREE=str(moved))
        self.assertEqual((code, out), (4, f"{self.base}: info\n"))
        self.assertIn(f"={moved}\n", (moved / "build" / "release" / "CMakeCache.txt").read_text())

    # Packages

    def test_missing_packages_are_named_when_they_may_not_be_installed(self) -> None:
        code, out, err = self.run_script("info", MISSING="libdnnl-dev zlib1g-dev", LONGFORMER_NO_INSTALL="1")
        self.assertEqual((code, out), (2, ""))
        sudo = "" if os.geteuid() == 0 else "sudo "
        self.assertIn(f"{sudo}apt-get update && {sudo}apt-get install -y --no-install-recommends libdnnl-dev zlib1g-dev\n", err)
        self.assertEqual(self.calls("apt-get") + self.calls("cmake"), [])

    def test_root_installs_what_is_missing(self) -> None:
        code, _, err = self.run_script("info", MISSING="libhwy-dev")
        if os.geteuid() == 0:
            self.assertEqual(code, 4)
            self.assertRegex(self.calls("apt-get")[-1], r"^install -y --no-install-recommends libhwy-dev ")
            self.assertIn("installing Debian packages: libhwy-dev", err)
        else:
            self.assertEqual((code, self.calls("apt-get")), (2, []))

    # The default model

    def test_model_is_made_once(self) -> None:
        for expected_calls in (1, 1):
            code, out, err = self.run_script("search", "query", "file")
            self.assertEqual((code, out), (4, f"{self.base}: search query file\n"), err)
            self.assertEqual(len(self.calls("pip")), expected_calls)
            self.assertEqual(self.cache(), [self.model_name])
        self.assertEqual(err, "")
        model = self.base / "home" / ".cache" / "longformer" / self.model_name
        self.assertIn("Apache-2.0", (model / "origin.txt").read_text())
        settings = dict(line.split("=") for line in (ROOT / "tools" / "default_model.env").read_text().splitlines()
                        if line.startswith("DEFAULT"))
        window, period = settings["DEFAULT_MODEL_WINDOW"], settings["DEFAULT_MODEL_PERIOD"]
        self.assertIn(f"--to-long 4096 --attention-window {window} --position-period {period} ", self.calls("convert")[0])
        self.assertTrue(self.model_name.endswith(f"-w{window}-p{period}"), "the name must change with the settings")

    def test_cache_follows_the_environment(self) -> None:
        script = self.tree / "tools" / "default_model.sh"
        for environment, expected in [({"LONGFORMER_HOME": "/a b"}, "/a b"),
                                      ({"XDG_CACHE_HOME": "/c"}, "/c/longformer"),
                                      ({"XDG_CACHE_HOME": "relative"}, f"{self.base}/home/.cache/longformer"),
                                      ({}, f"{self.base}/home/.cache/longformer")]:
            code, out, _ = self.run_script("--directory", program=script, **environment)
            self.assertEqual((code, out), (0, f"{expected}/{self.model_name}\n"))

    def test_model_is_not_made_where_it_is_not_used(self) -> None:
        for arguments in (["search", "q", "--model", "m"], ["embed", "--model=m", "f"], ["search", "--help"],
                          ["info"], ["convert", "a", str(self.base / "b")], ["--version"], []):
            self.run_script(*arguments)
        self.assertEqual((self.calls("pip"), self.cache()), ([], []))
        self.run_script("tokenize", "--", "--model")
        self.assertEqual(len(self.calls("pip")), 1)

    def test_two_runs_make_one_model(self) -> None:
        self.run_script("info")
        processes = [self.start("search", PIP_SECONDS="0.5") for _ in range(3)]
        self.assertEqual([process.wait(timeout=60) for process in processes], [4, 4, 4])
        for process in processes:
            process.communicate()
        self.assertEqual((len(self.calls("pip")), self.cache()), (1, [self.model_name]))

    def expect_no_model(self, code: int, message: str, **environment: str) -> None:
        got, out, err = self.run_script("search", **environment)
        self.assertEqual((got, out), (code, ""), err)
        self.assertIn(message, err)
        self.assertEqual(self.cache(), [])

    def test_failures_leave_nothing(self) -> None:
        self.run_script("info")
        self.expect_no_model(2, "ERROR: no route", PIP_SAYS="ERROR: no route")
        self.expect_no_model(2, "no space for the default model", PIP_SAYS="[Errno 28] No space left on device")
        self.expect_no_model(1, "cannot convert", CONVERT_SAYS="broken")
        self.expect_no_model(2, "no space for the default model", CONVERT_SAYS="write: No space left on device")
        self.expect_no_model(2, "LONGFORMER_HOME", LONGFORMER_HOME="/dev/null/cache")
        with open(self.tree / "package.whl", "ab") as wheel:
            wheel.write(b"x")
        self.expect_no_model(2, "is not the file that was expected")

    def test_interrupted_runs_leave_nothing(self) -> None:
        self.run_script("info")
        script = self.tree / "tools" / "default_model.sh"
        for stage in ("PIP_SECONDS", "CONVERT_SECONDS"):
            process = self.start(program=script, **{stage: "5"})
            while not self.calls("pip" if stage == "PIP_SECONDS" else "convert"):
                time.sleep(0.02)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=10)
            self.assertEqual((process.returncode, self.cache()), (143, []))
        process = self.start(program=script, CONVERT_SECONDS="5")
        while len(self.calls("convert")) < 2:
            time.sleep(0.02)
        process.kill()
        process.wait(timeout=10)
        for stream in (process.stdout, process.stderr):
            stream.close()
        self.assertEqual(self.run_script("search")[0], 4)
        self.assertEqual(self.cache(), [self.model_name])

    # ./test

    def test_bad_options_of_the_test_script(self) -> None:
        for arguments in (["--frobnicate"], ["--cases", "0"], ["--cases", "many"], ["--filter"], ["--oracle", "--sanitize"]):
            code, out, _ = self.run_script(*arguments, program=self.tree / "test")
            self.assertEqual((code, out), (2, ""), arguments)
        self.assertEqual(self.calls("cmake"), [])


if __name__ == "__main__":
    unittest.main()
