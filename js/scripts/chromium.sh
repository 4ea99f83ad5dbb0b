#!/bin/sh
# Prints the path of a Chromium for the browser tests: $CHROMIUM, one that is
# installed, or one that is installed now from Debian's packages. All messages go
# to stderr.
set -eu
find_chromium() {
  for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
    [ -n "$name" ] && command -v "$name" 2>/dev/null && return 0
  done
  return 1
}
find_chromium && exit 0
as_root=
if [ "$(id -u)" != 0 ]; then as_root="sudo -n"; fi
if command -v apt-get >/dev/null 2>&1; then
  echo "installing chromium for the browser tests" >&2
  { $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends chromium; } >&2 || true
  find_chromium && exit 0
fi
echo "no Chromium found and none could be installed: install one, or set CHROMIUM to its path" >&2
exit 1
