#!/usr/bin/env bash
# Makes 30 days of logs, collects them and asks three questions; `make demo` calls it with the private environment.
# DEMO_DAYS is another number of days. Everything is written below .demo in the checkout, and nothing elsewhere.
set -euo pipefail
cd "$(dirname "$0")/../.."
rm -rf .demo
export TAILPIPE_INSTALL_DIR="$PWD/.demo"
export TAILPIPE_CONFIG_PATH="examples/quickstart/config"
export TAILPIPE_DEMO_LOGS="$PWD/.demo/logs"
export TAILPIPE_AUTO_WARMUP=no  # nothing goes on when the demo has ended
unset TAILPIPE_WORKSPACE
python=$(command -v python || command -v python3)
bold= plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
quiet=()
if [ ! -t 2 ]; then quiet=(--no-progress); fi

step() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }

run() {
  printf '%s$ %s%s\n' "$bold" "$*" "$plain"
  "$@"
}

ask() {
  step "$1"
  printf '%s$ tailpipe query "%s"%s\n' "$bold" "$2" "$plain"
  tailpipe query "$2"
}

step "1. A shop, its network and its web server have written logs."
"$python" examples/quickstart/make_logs.py "$TAILPIPE_DEMO_LOGS" --days "${DEMO_DAYS:-30}"

step "2. A config says where they are and what becomes of them: $TAILPIPE_CONFIG_PATH/quickstart.tpc"
run tailpipe config check

step "3. Collect them. Spark starts, then each day is committed on its own, the newest first."
run tailpipe collect ${quiet[@]+"${quiet[@]}"}

ask "4. How does the shop do?" \
  "SELECT level, count(*) AS messages, round(quantile_cont(duration_ms, 0.95), 1) AS p95_ms FROM app_log GROUP BY level ORDER BY messages DESC"
ask "5. Who tries to log in, and fails?" \
  "SELECT tp_source_ip, user_agent, count(*) AS failed, max(tp_timestamp) AS last FROM access_log WHERE status = 401 GROUP BY ALL ORDER BY failed DESC LIMIT 3"
ask "6. What else did they try? One log asks the other." \
  "SELECT tp_date, dstport, count(*) AS refused, sum(bytes) AS bytes FROM flow_log WHERE action = 'REJECT' AND tp_source_ip IN (SELECT tp_source_ip FROM access_log WHERE status = 401) GROUP BY ALL ORDER BY tp_date DESC LIMIT 5"

step "7. Lines that are no requests were kept aside, with the reason."
run tailpipe rejected show access_log.web --limit 3

step "8. Detections examine the rows, and store what they find."
run tailpipe detect --from T-30d

step "9. Collect again: what is there is not taken twice."
run tailpipe collect ${quiet[@]+"${quiet[@]}"}

cat <<END

${bold}That was tailpipe.${plain} Go on asking, with the environment activated (. .venv/bin/activate):
  export TAILPIPE_INSTALL_DIR=$TAILPIPE_INSTALL_DIR TAILPIPE_CONFIG_PATH=$PWD/$TAILPIPE_CONFIG_PATH TAILPIPE_DEMO_LOGS=$TAILPIPE_DEMO_LOGS
  tailpipe query "DESCRIBE access_log"
Open these logs in the browser, with charts, a dashboard and hits:
  tailpipe serve
Then read docs/tutorial.md.
END
