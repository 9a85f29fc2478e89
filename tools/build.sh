#!/usr/bin/env bash
# Builds what is out of date, quietly; a failed build shows where its log says so, or the end of it.
#   tools/build.sh command              build/release, the command only
#   tools/build.sh tests [-DNAME=VALUE]…  build/release, command and tests
#   tools/build.sh asan                 build/asan, the same under the address and undefined-behaviour sanitizers
# Two runs at the same moment are safe: the second waits and then finds everything done.
set -u
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
source "$root/tools/shell.sh"

kind=${1:-command}
shift || true
case $kind in
  command) preset=release target=longformer_cli groups=(build) definitions=() ;;
  tests) preset=release target=all groups=(build test) definitions=(-DLONGFORMER_TESTS=ON "$@") ;;
  asan) preset=asan target=all groups=(build test) definitions=() ;;
  *) fail 2 "build.sh knows command, tests and asan, not \"$kind\"" ;;
esac
dir=$root/build/$preset
log=$dir/build.log
stamp=$dir/.up_to_date

mkdir -p -- "$dir" 2>/dev/null || fail 2 "cannot write $dir: make it writable"
hold_lock "$dir/.lock" "builds build/$preset"
if [[ $kind == command ]] && command_is_current; then
  exit 0  # the run that held the lock did it
fi
"$root/tools/install_dependencies.sh" "${groups[@]}" 9>&- || exit $?
cmake=$(find_cmake) || fail 2 "cmake $kCmakeVersion or newer is needed (Debian 12 has it)"

cache=$dir/CMakeCache.txt
# A directory that was moved or copied keeps the old place in its cache, which cmake refuses.
if [[ -f $cache ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
  say "build/$preset belongs to another place: building it again"
  find "$dir" -mindepth 1 -maxdepth 1 ! -name .lock -exec rm -rf {} +
fi

configure=0
[[ -f $dir/build.ninja && -f $cache ]] || configure=1
for definition in "${definitions[@]}"; do
  name=${definition#-D}
  grep -q "^${name%%=*}:[A-Z]*=${name#*=}$" "$cache" 2>/dev/null || configure=1
done
if ((configure)) && [[ $kind == command ]]; then
  definitions=(-DLONGFORMER_TESTS=OFF -DLONGFORMER_BENCH=OFF)
fi

build() {
  if ((configure)); then
    (cd "$root" && "$cmake" --preset "$preset" "${definitions[@]}") || return 1
  fi
  "$cmake" --build "$dir" --target "$target"
}

if [[ -f $stamp && $kind == tests ]]; then
  say "building the tests in build/$preset (minutes the first time); the log grows in build/$preset/build.log"
elif [[ -f $stamp ]]; then
  say "building build/$preset: some files changed"
else
  say "building build/$preset for the first time (minutes); its log grows in build/$preset/build.log"
fi
# Made before the build, so that an edit while it runs is newer; named so after it, so that a failure is repeated.
: >"$stamp.new" || fail 2 "cannot write $dir: free some space or make it writable"
if ! build >"$log" 2>&1 </dev/null 9>&-; then
  # ninja reports steps that were already running after the failed one; what failed comes first.
  failed=$(sed -n '/^FAILED: /,$p' "$log" | head -n 40)
  { [[ -n $failed ]] && printf '%s\n' "$failed" || tail -n 40 "$log"; } >&2
  fail 1 "the build failed; the whole log is $log. If nothing there explains it: rm -r $dir, and try again"
fi
mv -f -- "$stamp.new" "$stamp"
