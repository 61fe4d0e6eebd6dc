from __future__ import annotations

import pytest

from tailpipe.config.settings import LogLevels
from tailpipe.errors import UsageError


@pytest.mark.parametrize(
    ("text", "level", "named"),
    [
        ("debug", "debug", {}),
        ("OFF", "off", {}),
        ("info,botocore=debug", "info", {"botocore": "debug"}),
        (
            "botocore = Debug , urllib3.connectionpool=info, error",
            "error",
            {"botocore": "debug", "urllib3.connectionpool": "info"},
        ),
        ("py4j=info", "warning", {"py4j": "info"}),
    ],
)
def test_a_level_and_those_of_named_loggers(text: str, level: str, named: dict[str, str]) -> None:
    assert LogLevels.parse(text) == LogLevels(level, named)


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("loud", 'there is no level "loud"', "the levels are: debug, info, warning, error, off"),
        ("inof", 'there is no level "inof"', 'did you mean "info"?'),
        ("info,", 'there is no level ""', "write LEVEL, or LEVEL,NAME=LEVEL, such as info,botocore=debug"),
        ("botocore=", 'there is no level ""', "write LEVEL, or LEVEL,NAME=LEVEL, such as info,botocore=debug"),
        ("=debug", '"" is not the name of a logger', "write LEVEL, or LEVEL,NAME=LEVEL, such as info,botocore=debug"),
        (
            "bo to=debug",
            '"bo to" is not the name of a logger',
            "write LEVEL, or LEVEL,NAME=LEVEL, such as info,botocore=debug",
        ),
        ("a=info,a=debug", '"a" is duplicated', "write LEVEL, or LEVEL,NAME=LEVEL, such as info,botocore=debug"),
        (
            "info,debug",
            "it has two levels, info and debug",
            "write LEVEL, or LEVEL,NAME=LEVEL, such as info,botocore=debug",
        ),
    ],
)
def test_another_spelling_is_refused_with_how_to_write_it(text: str, what: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        LogLevels.parse(text)
    assert caught.value.message == f'TAILPIPE_LOG_LEVEL is "{text}": {what}'
    assert caught.value.hint == hint
