"""The library of named patterns: the usual names, each written for RE2, which neither looks around nor goes back.

Where others look around to keep a number or an address from being cut out of a longer one, the patterns
here rely on what stands around them in the layout.
"""

from __future__ import annotations

from collections.abc import Mapping

_TEXT = {
    "WORD": r"\b\w+\b",
    "NOTSPACE": r"\S+",
    "SPACE": r"\s*",
    "DATA": r".*?",
    "GREEDYDATA": r".*",
    "GREEDYMULTILINE": r"(?s:.*)",
    "NOTDQUOTE": r'[^"]*',
    "QUOTEDSTRING": r'"(?:[^"\\]|\\.)*"|' + r"'(?:[^'\\]|\\.)*'|" + r"`(?:[^`\\]|\\.)*`",
    "QS": r"%{QUOTEDSTRING}",
    "QUOTEDTEXT": r'(?:[^"\\]|\\.)*',
    "USERNAME": r"[a-zA-Z0-9._-]+",
    "USER": r"%{USERNAME}",
    "EMAILLOCALPART": r"[a-zA-Z0-9!#$%&'*+/=?^_`{|}~.-]+",
    "EMAILADDRESS": r"%{EMAILLOCALPART}@%{HOSTNAME}",
    "UUID": r"[A-Fa-f0-9]{8}-(?:[A-Fa-f0-9]{4}-){3}[A-Fa-f0-9]{12}",
    "URN": r"urn:[0-9A-Za-z][0-9A-Za-z-]{0,31}:(?:%[0-9a-fA-F]{2}|[0-9A-Za-z()+,.:=@;$_!*'/?#-])+",
    "LOGLEVEL": (
        r"(?i:alert|trace|debug|notice|information|info|warning|warn|error|err|critical|crit|fatal|severe"
        r"|emergency|emerg|panic)"
    ),
}

_NUMBERS = {
    "INT": r"[+-]?[0-9]+",
    "BASE10NUM": r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?",
    "NUMBER": r"%{BASE10NUM}",
    "BASE16NUM": r"[+-]?(?:0[xX])?[0-9A-Fa-f]+",
    "BASE16FLOAT": r"[+-]?(?:0[xX])?(?:[0-9A-Fa-f]+(?:\.[0-9A-Fa-f]*)?|\.[0-9A-Fa-f]+)",
    "POSINT": r"[1-9][0-9]*",
    "NONNEGINT": r"[0-9]+",
    "BOOLEAN": r"(?i:true|false)",
}

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_HEX = r"[0-9A-Fa-f]{1,4}"

_NETWORK = {
    "CISCOMAC": r"(?:[A-Fa-f0-9]{4}\.){2}[A-Fa-f0-9]{4}",
    "WINDOWSMAC": r"(?:[A-Fa-f0-9]{2}-){5}[A-Fa-f0-9]{2}",
    "COMMONMAC": r"(?:[A-Fa-f0-9]{2}:){5}[A-Fa-f0-9]{2}",
    "MAC": r"%{CISCOMAC}|%{WINDOWSMAC}|%{COMMONMAC}",
    "IPV4": rf"(?:{_OCTET}\.){{3}}{_OCTET}",
    "IPV6": (
        "(?:"
        rf"(?:{_HEX}:){{6}}(?:{_HEX}:{_HEX}|%{{IPV4}})"
        rf"|::(?:{_HEX}:){{0,5}}(?:{_HEX}:{_HEX}|%{{IPV4}})"
        + "".join(
            rf"|(?:{_HEX}:){{0,{left}}}{_HEX}::(?:{_HEX}:){{0,{4 - left}}}(?:{_HEX}:{_HEX}|%{{IPV4}})"
            for left in range(5)
        )
        + rf"|(?:{_HEX}:){{0,5}}{_HEX}::{_HEX}|(?:{_HEX}:){{0,6}}{_HEX}::|::{_HEX}|::"
        r")(?:%[0-9A-Za-z._-]+)?"
    ),
    "IP": r"%{IPV6}|%{IPV4}",
    "HOSTNAME": r"[0-9A-Za-z_](?:[0-9A-Za-z_-]{0,62})(?:\.[0-9A-Za-z_](?:[0-9A-Za-z_-]{0,62}))*\.?",
    "HOST": r"%{HOSTNAME}",
    "IPORHOST": r"%{IP}|%{HOSTNAME}",
    "HOSTPORT": r"%{IPORHOST}:%{POSINT}",
}

_PATHS = {
    "UNIXPATH": r"(?:/[^\s/]*)+",
    "TTY": r"/dev/(?:pts|tty[pq]?)[a-z0-9]*/?[0-9]*",
    "WINPATH": r"(?:[A-Za-z]:|\\)(?:\\[^\\?*\s]*)+",
    "PATH": r"%{UNIXPATH}|%{WINPATH}",
    "URIPROTO": r"[A-Za-z][A-Za-z0-9+.-]*",
    "URIHOST": r"%{IPORHOST}(?::%{POSINT})?",
    "URIPATH": r"(?:/[A-Za-z0-9$.+!*'(){},~:;=@#%&_-]*)+",
    "URIQUERY": r"[A-Za-z0-9$.+!*'|(){},~@#%&/=:;_?\[\]<>-]*",
    "URIPARAM": r"\?%{URIQUERY}",
    "URIPATHPARAM": r"%{URIPATH}(?:%{URIPARAM})?",
    "URI": r"%{URIPROTO}://(?:%{USER}(?::[^@\s]*)?@)?(?:%{URIHOST})?(?:%{URIPATHPARAM})?",
}

_TIMES = {
    "MONTH": (
        r"(?:[Jj]an(?:uary|uar)?|[Ff]eb(?:ruary|ruar)?|[Mm](?:a|ä)?r(?:ch|z)?|[Aa]pr(?:il)?|[Mm]a(?:y|i)"
        r"|[Jj]un(?:e|i)?|[Jj]ul(?:y|i)?|[Aa]ug(?:ust)?|[Ss]ep(?:tember)?|[Oo](?:c|k)t(?:ober)?"
        r"|[Nn]ov(?:ember)?|[Dd]e(?:c|z)(?:ember)?)"
    ),
    "MONTHNUM": r"1[0-2]|0?[1-9]",
    "MONTHNUM2": r"0[1-9]|1[0-2]",
    "MONTHDAY": r"0[1-9]|[12][0-9]|3[01]|[1-9]",
    "DAY": (r"Mon(?:day)?|Tue(?:sday)?|Wed(?:nesday)?|Thu(?:rsday)?|Fri(?:day)?|Sat(?:urday)?|Sun(?:day)?"),
    "YEAR": r"[0-9]{4}|[0-9]{2}",
    "HOUR": r"2[0-3]|[01]?[0-9]",
    "MINUTE": r"[0-5][0-9]",
    "SECOND": r"(?:[0-5]?[0-9]|60)(?:[:.,][0-9]+)?",
    "TIME": r"%{HOUR}:%{MINUTE}(?::%{SECOND})?",
    "DATE_US": r"%{MONTHNUM}[/-]%{MONTHDAY}[/-]%{YEAR}",
    "DATE_EU": r"%{MONTHDAY}[./-]%{MONTHNUM}[./-]%{YEAR}",
    "DATE": r"%{DATE_US}|%{DATE_EU}",
    "ISO8601_TIMEZONE": r"Z|[+-]%{HOUR}(?::?%{MINUTE})",
    "ISO8601_SECOND": r"%{SECOND}",
    "ISO8601_HOUR": r"2[0-3]|[01][0-9]",
    "TIMESTAMP_ISO8601": (
        r"[0-9]{4}-%{MONTHNUM}-%{MONTHDAY}[T ]%{HOUR}:?%{MINUTE}(?::?%{SECOND})?(?:%{ISO8601_TIMEZONE})?"
    ),
    "TZ": r"[A-Z]{3,4}",
    "DATESTAMP": r"%{DATE}[- ]%{TIME}",
    "DATESTAMP_RFC822": r"%{DAY} %{MONTH} %{MONTHDAY} %{YEAR} %{TIME} %{TZ}",
    "DATESTAMP_RFC2822": r"%{DAY}, %{MONTHDAY} %{MONTH} %{YEAR} %{TIME} %{ISO8601_TIMEZONE}",
    "DATESTAMP_OTHER": r"%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{TZ} %{YEAR}",
    "DATESTAMP_EVENTLOG": r"[0-9]{4}%{MONTHNUM2}%{MONTHDAY}%{HOUR}%{MINUTE}%{SECOND}",
    "HTTPDATE": r"%{MONTHDAY}/%{MONTH}/%{YEAR}:%{TIME} [+-][0-9]{4}",
    "SYSLOGTIMESTAMP": r"%{MONTH} +%{MONTHDAY} %{TIME}",
}

_LOGS = {
    "PROG": r"[\x21-\x5a\x5c\x5e-\x7e]+",
    "SYSLOGPROG": r"%{PROG:program}(?:\[%{POSINT:pid}\])?",
    "SYSLOGHOST": r"%{IPORHOST}",
    "SYSLOGFACILITY": r"<%{NONNEGINT:facility}\.%{NONNEGINT:priority}>",
    "SYSLOGBASE": (r"%{SYSLOGTIMESTAMP:timestamp} (?:%{SYSLOGFACILITY} )?%{SYSLOGHOST:logsource} +%{SYSLOGPROG}:"),
    "SYSLOGLINE": r"%{SYSLOGBASE} %{GREEDYDATA:message}",
    "HTTPDUSER": r"%{EMAILADDRESS}|%{USER}",
    "HTTPDERROR_DATE": r"%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{YEAR}",
    "COMMONAPACHELOG": (
        r"%{IPORHOST:clientip} %{NOTSPACE:ident} %{NOTSPACE:auth} \[%{HTTPDATE:timestamp}\]"
        r' "(?:%{WORD:verb} %{NOTSPACE:request}(?: HTTP/%{NUMBER:httpversion})?|%{QUOTEDTEXT:rawrequest})"'
        r" (?:%{NONNEGINT:response}|-) (?:%{NONNEGINT:bytes}|-)"
    ),
    "COMBINEDAPACHELOG": r'%{COMMONAPACHELOG} "%{QUOTEDTEXT:referrer}" "%{QUOTEDTEXT:agent}"',
    "HTTPD_COMMONLOG": r"%{COMMONAPACHELOG}",
    "HTTPD_COMBINEDLOG": r"%{COMBINEDAPACHELOG}",
}

PATTERNS: Mapping[str, str] = {**_TEXT, **_NUMBERS, **_NETWORK, **_PATHS, **_TIMES, **_LOGS}
"""Every pattern by its name. A pattern may name others."""
