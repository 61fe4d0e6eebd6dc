"""Two collectors, one store and one reader; a day is replaced, and a tag keeps the old rows. `make demo-store` runs it.

The three hosts are directories below .demo-store in the checkout, or below the directory that is given.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = {
    "web-1": ("store.tpc", "shop.tpc", "web-1.tpc"),
    "web-2": ("store.tpc", "shop.tpc", "web-2.tpc"),
    "reader": ("store.tpc",),
}
REQUESTS = {"web-1": 100, "web-2": 80}  # on each day
LOAD_TEST = 40  # requests to web-1 that nobody wants to count
PATHS = (
    "SELECT parse_filename(tp_source_location) AS file, count(DISTINCT tp_source_location) AS paths, "
    "count(DISTINCT server) AS hosts, count(*) AS rows, count(DISTINCT tp_id) AS ids "
    "FROM shop_log GROUP BY file ORDER BY file"
)
DAYS = (
    "SELECT tp_date, count(*) FILTER (server = 'web-1') AS web_1, count(*) FILTER (server = 'web-2') AS web_2 "
    "FROM shop_log GROUP BY tp_date ORDER BY tp_date"
)


def main(home: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
    (home / "lake").mkdir(parents=True)  # the store; tailpipe creates none, as a missing one may be a missing mount
    shutil.copytree(ROOT / "examples/shared/config", home / "config")
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=back) for back in (3, 2, 1)]
    step("1. Two web servers have written logs of three days. The files have the same paths on both hosts.")
    for host, count in REQUESTS.items():
        for day in days:
            write_log(home, host, day, count)
    write_log(home, "web-1", days[-1], REQUESTS["web-1"], LOAD_TEST)
    print("   " + ", ".join(f"shop-logs/{day}.jsonl" for day in days))

    step("2. Each host collects its own files and pushes them to the store.")
    collect(home, "web-1")
    collect(home, "web-2")

    step("3. A reader has the store block alone. It pulls the catalog and queries the rows of both hosts.")
    run(home, "reader", "pull")
    run(home, "reader", "query", DAYS)

    step("4. Each path is on both hosts, and still every row has its own id.")
    run(home, "reader", "query", PATHS)

    step(f"5. On {days[-1]}, web-1 got requests of a load test. A tag names the version that has them.")
    run(home, "reader", "tag", "create", "with-load-test")

    step("6. The config gets a filter, and web-1 collects the day again. The rows of web-2 stay.")
    turn_on_filter(home / "config/shop.tpc")
    collect(home, "web-1", "--overwrite", "--from", str(days[-1]), "--to", str(days[-1]))

    step("7. The reader pulls, and sees the new day.")
    run(home, "reader", "pull")
    run(home, "reader", "query", DAYS)

    step("8. The tag still shows the old rows.")
    run(home, "reader", "query", DAYS, "--tag", "with-load-test")

    step("9. The log of the partition shows which host changed what, and when.")
    run(home, "reader", "log", "shop_log.prod")
    print("\nThat was a shared store. docs/shared-store.md tells how to set up yours.")


def write_log(home: Path, host: str, day: date, requests: int, load_test: int = 0) -> None:
    """Write the log of one day, with the requests of a load test at its end."""
    path = home / host / "shop-logs" / f"{day}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    agents = ["browser"] * requests + ["load-test"] * load_test
    start = datetime(day.year, day.month, day.day, 9, tzinfo=UTC)
    lines = (
        {"time": f"{start + timedelta(minutes=number):%Y-%m-%dT%H:%M:%SZ}", "server": host, "agent": agent}
        for number, agent in enumerate(agents)
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def turn_on_filter(config: Path) -> None:
    text = config.read_text()
    config.write_text(text.replace("# filter = ", "filter = "))
    print(f"   filter = {text.partition('# filter = ')[2].splitlines()[0]}")


def collect(home: Path, host: str, *arguments: str) -> None:
    """Collect as this host. Its files are moved to the path that both hosts have in their config, and back."""
    own, same = home / host / "shop-logs", home / "shop-logs"
    own.rename(same)
    run(home, host, "collect", "--no-progress", *arguments)
    same.rename(own)


def step(text: str) -> None:
    print(f"\n{text}", flush=True)


def run(home: Path, host: str, *arguments: str) -> None:
    """Run `tailpipe` as this host."""
    env = {name: value for name, value in os.environ.items() if name != "TAILPIPE_WORKSPACE"}
    env |= {"DEMO_STORE": str(home), "TAILPIPE_INSTALL_DIR": str(home / host / "tailpipe")}
    env["TAILPIPE_CONFIG_PATH"] = ":".join(str(home / "config" / name) for name in CONFIGS[host])
    env["TAILPIPE_AUTO_WARMUP"] = "no"  # nothing goes on when the demo has ended
    shown = (json.dumps(one) if " " in one else one for one in arguments)
    print(f"{host}$ tailpipe {' '.join(shown)}", flush=True)
    done = subprocess.run([sys.executable, "-m", "tailpipe", *arguments], env=env, check=False, cwd=ROOT)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / ".demo-store")
