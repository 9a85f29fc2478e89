# Functions that the shell scripts of this project share. Sourced, never run; needs bash.
# Everything is said on standard error: standard output belongs to the command's answer.

say() { printf 'longformer: %s\n' "$*" >&2; }

# fail CODE MESSAGE…
fail() {
  local code=$1
  shift
  say "$@"
  exit "$code"
}

# version_at_least 3.31.1 3.25
version_at_least() {
  [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]
}

readonly kCmakeVersion=3.25

# Prints a cmake that is new enough; the system's own where another one stands before it in PATH.
find_cmake() {
  local candidate version
  for candidate in cmake /usr/bin/cmake; do
    candidate=$(command -v "$candidate") || continue
    version=$("$candidate" --version 2>/dev/null | sed -n '1s/.*version \([0-9.]*\).*/\1/p')
    if [[ -n $version ]] && version_at_least "$version" "$kCmakeVersion"; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# find_python MINOR MODULE…: prints a Python 3.MINOR or newer that can import the modules.
find_python() {
  local minor=$1 candidate imports=sys
  shift
  (($# == 0)) || imports=$(IFS=,; printf '%s' "$*")
  for candidate in python3 /usr/bin/python3 python3.{14,13,12,11,10}; do
    candidate=$(command -v "$candidate") || continue
    if "$candidate" -c "import sys; sys.exit(sys.version_info < (3, $minor)); " 2>/dev/null &&
      "$candidate" -c "import $imports" >/dev/null 2>&1; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# hold_lock FILE WHAT: takes the lock FILE on descriptor 9 until this process ends. Start children with 9>&-.
hold_lock() {
  { exec 9>"$1"; } 2>/dev/null || fail 2 "cannot write $1: make its directory writable"
  if ! flock -n 9; then
    say "waiting for another run that $2"
    flock 9 || fail 1 "cannot lock $1"
  fi
}

# Whether the command in build/release is newer than everything that it is made of; needs $root. A few milliseconds: an
# error while looking counts as out of date.
command_is_current() {
  local sources=("$root"/{CMakeLists.txt,CMakePresets.json,cmake,include,src,tools/default_model.env})
  [[ -x $root/build/release/bin/longformer &&
    -z $(find "${sources[@]}" -newer "$root/build/release/.up_to_date" -print -quit 2>&1) ]]
}
