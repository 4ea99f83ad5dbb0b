#!/bin/sh
# Prints the path of a Chromium for the browser tests: $CHROMIUM, an installed one, or one that the
# script installs from the distribution's packages. The script prefers the headless shell, which
# takes a third less processor time than the browser. With --browser, an installed shell is ignored:
# benchmarks measure the browser that people use. All messages go to stderr.
set -eu
shell="chromium-headless-shell chrome-headless-shell"
if [ "${1:-}" = --browser ]; then shell=; fi
find_chromium() {
  for name in "${CHROMIUM:-}" $shell chromium chromium-browser google-chrome google-chrome-stable; do
    [ -n "$name" ] && command -v "$name" 2>/dev/null && return 0
  done
  return 1
}
find_chromium && exit 0
as_root=
if [ "$(id -u)" != 0 ]; then as_root="sudo -n"; fi
if command -v apt-get >/dev/null 2>&1; then
  $as_root apt-get update -qq >&2 || true
  # Besides the shell, one test needs the browser. Ubuntu has no package of the shell.
  for packages in "chromium chromium-headless-shell" chromium; do
    echo "installing $packages for the browser tests" >&2
    $as_root apt-get install -y -qq --no-install-recommends $packages >&2 || true
    find_chromium && exit 0
  done
fi
echo "no Chromium found and none could be installed: install one, or set CHROMIUM to its path" >&2
exit 1
