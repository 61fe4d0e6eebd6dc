"""What holds for every test: nothing is set for it, interrupts are heard, and property tests try the same examples and
judge no speed."""

import os
import signal
import threading

from hypothesis import HealthCheck, settings

# What people set for their own work would lead the tests, and all that they start, to other configs and accounts, and
# tell them the size of another terminal.
for _name in [name for name in os.environ if name.startswith(("TAILPIPE_", "AWS_"))] + ["COLUMNS", "LINES", "LESS"]:
    if _name != "TAILPIPE_UPDATE_GOLDEN":
        os.environ.pop(_name, None)
os.environ["TAILPIPE_AUTO_WARMUP"] = "no"  # nothing goes on after a test

# A busy machine is slow, and a change must not be refused for an example that nobody has tried before.
settings.register_profile(
    "steady", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# New examples with each run, for those who look for what is still wrong.
settings.register_profile("searching", derandomize=False, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

# What a script runs in the background ignores interrupts, and so does all that it starts in turn.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
