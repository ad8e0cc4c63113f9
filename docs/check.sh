#!/bin/sh
# Checks the book: generated parts are fresh, no link is dead, the commands shown in the chapters work, and mdBook builds
# it. Needs cargo; installs mdBook into target/mdbook where there is none (two to three minutes on two cores).
set -eu
cd "$(dirname "$0")/.."

cargo course book --check --commands

if command -v mdbook >/dev/null 2>&1; then
    mdbook=mdbook
else
    root="${CARGO_TARGET_DIR:-target}/mdbook"
    mdbook="$root/bin/mdbook"
    [ -x "$mdbook" ] || cargo install --quiet --locked --no-default-features --root "$root" --version 0.4.52 mdbook
fi
# mdBook goes on after an error in a page and exits with 0: what it says counts.
log=$("$mdbook" build docs 2>&1) || { echo "$log"; exit 1; }
if echo "$log" | grep -E 'WARN|ERROR'; then
    exit 1
fi
echo "the book is in docs/book"
