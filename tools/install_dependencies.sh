#!/usr/bin/env bash
# Installs the Debian packages that are missing for a kind of work:
#   tools/install_dependencies.sh build|test|model|oracle|fuzz…
# Only root installs, and nobody does when LONGFORMER_NO_INSTALL=1: then the one line to run is printed, exit 2.
# Programs that are already there in another way (a newer cmake in PATH) count. Elsewhere than on Debian nothing is
# checked: the build itself will name what is missing.
set -u
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
source "$root/tools/shell.sh"

# ocl-icd-opencl-dev: the CMake file of libdnnl-dev asks for it, though it only recommends the package.
# poppler-utils: pdftotext, which reads PDF files when the command runs.
readonly build_libraries=(libdnnl-dev ocl-icd-opencl-dev libhwy-dev nlohmann-json3-dev libcli11-dev zlib1g-dev libssl-dev
  libxml2-dev libzip-dev libsqlite3-dev libcurl4-openssl-dev libpcre2-dev libpng-dev poppler-utils)

have() { command -v "$1" >/dev/null; }

installed() {
  [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null) == ii* ]]
}

missing_for() {
  local package
  case $1 in
    build)
      find_cmake >/dev/null || echo cmake
      have ninja || echo ninja-build
      have c++ || echo g++
      have pkg-config || echo pkg-config
      for package in "${build_libraries[@]}"; do
        installed "$package" || echo "$package"
      done
      ;;
    test)
      installed libgtest-dev || echo libgtest-dev
      have clang-format-14 || echo clang-format-14
      have python3 || echo python3
      ;;
    model) find_python 8 pip >/dev/null || echo python3-pip ;;
    fuzz)
      for package in clang-14 libclang-rt-14-dev libomp-14-dev; do
        installed "$package" || echo "$package"
      done
      ;;
    oracle) find_python 10 venv ensurepip >/dev/null || echo python3-venv ;;
    *) fail 2 "install_dependencies.sh knows build, test, model, oracle and fuzz, not \"$1\"" ;;
  esac
}

(($# > 0)) || fail 2 "name what to install for: build, test, model, oracle or fuzz"
missing=()
if have dpkg-query && have apt-get; then
  for group in "$@"; do
    found=$(missing_for "$group") || exit $?
    [[ -z $found ]] || mapfile -t -O "${#missing[@]}" missing <<<"$found"
  done
fi
((${#missing[@]} > 0)) || exit 0

install=(apt-get install -y --no-install-recommends "${missing[@]}")
if ((EUID != 0)) || [[ ${LONGFORMER_NO_INSTALL:-} == 1 ]]; then
  sudo=
  ((EUID == 0)) || sudo='sudo '
  say "some Debian packages are missing; this line installs them:"
  printf '%s\n' "${sudo}apt-get update && ${sudo}${install[*]}" >&2
  exit 2
fi

log=$(mktemp) || fail 2 "cannot make a temporary file: free some space in ${TMPDIR:-the temporary directory}"
trap 'rm -f "$log"' EXIT
say "installing Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# An update that fails in part (one source of several) may still be enough; the installation decides.
apt-get -q update >"$log" 2>&1 </dev/null || true
if ! "${install[@]}" -q -o DPkg::Lock::Timeout=600 >>"$log" 2>&1 </dev/null; then
  tail -n 15 "$log" >&2
  say "the installation failed; try it by hand:"
  printf '%s\n' "apt-get update && ${install[*]}" >&2
  exit 2
fi
for group in "$@"; do
  if [[ $group == build ]] && ! find_cmake >/dev/null; then
    fail 2 "cmake $kCmakeVersion or newer is needed (Debian 12 has it); this system offers $(cmake --version | head -n 1)"
  fi
done
