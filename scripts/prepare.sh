#!/usr/bin/env bash
# Gets a machine ready for the tests: what is missing is installed on Debian as root, and named elsewhere. Quiet when
# nothing is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

# need PACKAGE PATTERN: Debian's package is missing when no file fits.
need() { compgen -G "$2" >/dev/null || missing+=("$1"); }

missing=()
by_hand=
# Debian's Go is older, so this one is for a person.
command -v go >/dev/null && go list -m >/dev/null || by_hand='Go 1.26 or newer (https://go.dev/dl)'
command -v git >/dev/null || missing+=(git) # go build asks it for the commit
command -v make >/dev/null || missing+=(make)
need ca-certificates '/etc/ssl/certs/ca-certificates.crt'
command -v gcc >/dev/null || missing+=(gcc) # for the race detector
need libc6-dev '/usr/include/stdlib.h'
[ -n "${VLLM_MEDIC_TEST_POSTGRES:-}" ] || command -v initdb >/dev/null || need postgresql '/usr/lib/postgresql/*/bin/initdb'
command -v pgbouncer >/dev/null || need pgbouncer '/usr/sbin/pgbouncer'
# Slack's SDKs are for Node. Where nodejs is not Debian's, npm is a part of it.
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
# What lays messages out, with the fonts that they are measured in.
command -v chromium >/dev/null || missing+=(chromium)
need fonts-dejavu-core '/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf'
need fonts-noto-color-emoji '/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf'
[ -n "$by_hand" ] || [ ${#missing[@]} -gt 0 ] || exit 0

installs=yes
[ "$(id -u)" = 0 ] && [ -f /etc/debian_version ] || installs=
# Everything at once: who has to ask somebody for it asks once.
if [ -n "$by_hand" ]; then
  echo "missing, to be installed by hand: $by_hand" >&2
  [ -z "$installs" ] || [ ${#missing[@]} = 0 ] || echo "missing, installed by this script once that is there: ${missing[*]}" >&2
fi
if [ -z "$installs" ] && [ ${#missing[@]} -gt 0 ]; then
  echo "missing, and only root on Debian can have them installed by this script: ${missing[*]}" >&2
fi
[ -z "$by_hand" ] && [ -n "$installs" ] || exit 1

# apt COMMAND PACKAGE...: apt-get, which says what it did only when it failed.
apt() {
  local log
  log=$(mktemp)
  DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends "$@" >"$log" 2>&1 || { cat "$log" >&2; rm "$log"; return 1; }
  rm "$log"
}

echo "installing ${missing[*]} (about a minute)"
apt update
if [[ " ${missing[*]} " = *" postgresql "* ]]; then
  # The package would start a server of its own at once; the tests start one that is theirs.
  apt install postgresql-common
  sed -i -E 's/^#? *create_main_cluster *=.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
fi
apt install "${missing[@]}"
