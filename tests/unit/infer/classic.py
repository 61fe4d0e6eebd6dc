"""Logs of well-known systems in their documented layouts, most of which no shipped table is for."""

from __future__ import annotations

__all__ = ["RIGHT", "classic"]

_HOST = (
    "kernel: usb 1-1: new device {n}",
    "cron[7]: started",
    "ntpd[9]: synchronized",
    "dhclient: bound to 192.0.2.{n}",
)
_SSH = ("Invalid user guest from 192.0.2.{n}", "Failed password for root from 192.0.2.{n} port 389{n} ssh2")
_LINES: dict[str, tuple[str, ...]] = {
    "hadoop": ("2015-10-18 18:01:{n:02},978 INFO [main] org.example.mapred.Master: Task {n} began",),
    "hadoop_iso": ("2015-10-18T18:01:{n:02},978 INFO org.example.mapred.Master: Task {n} began",),
    "hadoop_zone": ("2015-10-18T18:01:{n:02}Z WARN org.example.ipc.Client: retry {n}",),
    "mongodb": ("2018-02-05T12:44:{n:02}.677+0000 I NETWORK  [conn{n}] end connection 192.0.2.{n}:55404",),
    "mongodb_old": ("2014-02-05T12:44:{n:02}.677+0000 [conn{n}] query shop.cart: nreturned:{n}",),
    "hdfs": ("081109 2036{n:02} {n} INFO dfs.Node$Responder: Responder {n} for block b_{n} ends",),
    "spark": ("17/06/09 20:10:{n:02} INFO storage.BlockManager: Found block rdd_{n} locally",),
    "zookeeper": ("2015-07-29 17:41:{n:02},747 - INFO  [Peer[myid=1]/0:0:0:0:0:0:0:0:2181:Leader@774] - vote {n}",),
    "openstack": ('nova.log.1 2017-05-16 00:00:{n:02}.008 25746 INFO nova.wsgi [req-{n}] 192.0.2.9 "GET /" len: {n}',),
    "bgl": ("- 11178385{n:02} 2005.06.03 R02-M1-N0 2005-06-03-15.42.{n:02}.363779 R02-M1-N0 RAS KERNEL INFO {n}",),
    "hpc": ("{n} node-{n} unix.hw state_change 1077804742 1 Component {n} changed",),
    "thunderbird": ("- 1131566461 2005.11.09 dn228 Nov 9 12:01:{n:02} dn228/dn228 crond[{n}]: session closed",),
    "windows_cbs": ("2016-09-28 04:30:{n:02}, Info                  CBS    Loaded stack {n}",),
    "linux": tuple("Jun 14 15:16:{n:02} combo " + said for said in _HOST),
    "android": ("03-17 16:13:{n:02}.811  1702  2395 D WindowManager: lock {n}",),
    "healthapp": ("20171223-22:15:{n:02}:606|Step_LSC|30002312|onStep {n}",),
    "apache": ("[Sun Dec 04 04:47:{n:02} 2005] [notice] child {n} began",),
    "proxifier": ("[10.30 16:49:{n:02}] chrome.exe - proxy.example.com:5070 open {n}",),
    "openssh": tuple("Dec 10 06:55:{n:02} lab sshd[242{n:02}]: " + said for said in _SSH),
    "mac": tuple("Jul  1 09:00:{n:02} host-10-105 com.example." + said for said in _HOST),
}
RIGHT: dict[str, set[str]] = {name: set() for name in _LINES} | {
    "linux": {"syslog"},
    "mac": {"syslog"},
    "openssh": {"linux_auth_log"},
    "apache": {"apache_error_log"},
}
"""For each kind, the tables that are right for it."""


def classic(kind: str, count: int = 40) -> list[str]:
    """Lines of a kind."""
    lines = _LINES[kind]
    return [lines[n % len(lines)].format(n=n) for n in range(count)]
