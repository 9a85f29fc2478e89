#!/usr/bin/env bash
# Makes build/oracle-venv, the Python environment with the reference implementation and the peers of bench/targets, and
# prints its interpreter.
# Made once; made again when the list of packages below changes.
set -u
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
source "$root/tools/shell.sh"

readonly packages=(torch==2.13.0 transformers==4.57.6 tokenizers==0.22.2 safetensors numpy sentencepiece==0.2.3 protobuf sentence-transformers==5.7.0
  onnx==1.23.2 onnxruntime==1.32.0 scikit-learn==1.9.1 seqeval==1.2.2 pytrec-eval-terrier==0.5.11)
# The next release of the reference, beside the other in a folder of its own: what is saved must load in both.
readonly next_release=transformers==5.24.0
venv=$root/build/oracle-venv
contents="$venv ${packages[*]} $next_release"
stamp=$venv/complete.txt
log=$root/build/oracle-venv.log

mkdir -p -- "$root/build" 2>/dev/null || fail 2 "cannot write $root/build: make it writable"
hold_lock "$root/build/.oracle-venv.lock" "makes build/oracle-venv"
# The interpreter is started once: an environment that was moved, or whose Python went away, is made again.
if [[ -f $stamp && $(<"$stamp") == "$contents" ]] && "$venv/bin/python" -c '' 2>/dev/null; then
  printf '%s\n' "$venv/bin/python"
  exit 0
fi

"$root/tools/install_dependencies.sh" oracle 9>&- || exit $?
python=$(find_python 10 venv ensurepip) || fail 2 "the comparison with the reference needs Python 3.10 or newer with venv"
say "making build/oracle-venv with ${packages[*]} (minutes)"
pip_install() {
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --progress-bar off "$@"
}
make_environment() {
  rm -rf -- "$venv" &&
    "$python" -m venv "$venv" &&
    pip_install "${packages[@]}" &&
    pip_install --target "$venv/next-release" "$next_release"
}
if ! make_environment >"$log" 2>&1 </dev/null 9>&-; then
  tail -n 15 "$log" >&2
  fail 2 "build/oracle-venv could not be made (it needs a network and about 2 GB; up to 8 GB with the GPU build of PyTorch); the whole log is $log"
fi
printf '%s' "$contents" >"$stamp"
printf '%s\n' "$venv/bin/python"
