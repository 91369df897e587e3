#!/bin/sh
# packaging/apt.sh LIST WHY
# Installs what is missing of a list of Debian packages when run as root; else says what to install
# and WHY. Does nothing on other systems, and never fails: nothing in a list is indispensable.
set -eu
list=$1 why=$2

say() { printf '%s\n' "$*" >&2; }

command -v dpkg-query >/dev/null 2>&1 || exit 0

# Names that installed packages provide count too: Debian 13 and Ubuntu renamed many libraries.
present=$(
    dpkg-query -W -f '${db:Status-Status}, ${Package}, ${Provides}\n' |
        sed -n 's/^installed, //p' | sed 's/([^)]*)//g' | tr -s ', ' '\n'
)
missing=
for package in $(sed 's/#.*//' "$list"); do
    printf '%s\n' "$present" | grep -qxF "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    say "$why: sudo apt-get install$missing"
    exit 0
fi
say "Installing$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086  # several packages, several words
{ apt-get update -qq && apt-get install -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends $missing; } >&2 ||
    say "Could not install$missing. $why."
