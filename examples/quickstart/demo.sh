#!/usr/bin/env bash
# Shows the product on the config beside this script; `make demo` calls it with the private environment.
set -euo pipefail
cd "$(dirname "$0")/../.."
export TAILPIPE_INSTALL_DIR="$PWD/.demo"
export TAILPIPE_CONFIG_PATH="examples/quickstart/config"
rm -rf "$TAILPIPE_INSTALL_DIR"

show() {
  printf '\n\033[1m$ %s\033[0m\n' "$*"
  "$@"
}

show tailpipe --version
show tailpipe config check
show tailpipe partition list
show tailpipe table show access_log
show tailpipe format show regex.access
show tailpipe schema show recent
