# SPDX-License-Identifier: GPL-2.0-only
"""What selftests/bench/applications measures: servers, and clients that say a figure."""

import re
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Callable, ContextManager, Iterator

import memcached
import postgresql
import redis_server
import sockperf
from nginx import nginx
from stage import Stage

from table import Row

NGINX_PORT, IPERF3_PORT = 8080, 5201
_PARALLEL = 8


@dataclass(frozen=True)
class Server:
    """port: of the server over TCP; the one that smc_run starts has the next. prepare: runs once in
    a guest for each of the two."""

    port: int
    serve: Callable[[Stage, int], ContextManager]
    prepare: Callable[[Stage, int], None] | None = None

    def port_of(self, stage: Stage) -> int:
        return self.port + bool(stage.launcher)


@dataclass(frozen=True)
class Workload(Row):
    """options: the client's command line. figure: finds the result in the client's output. adrift:
    how many connections the client may give up before they are established."""

    server: Server
    figure: str
    adrift: int = 0

    def client(self, stage: Stage, seconds: int) -> str:
        """The client's command line."""
        return self.options.format(address=stage.address, port=self.server.port_of(stage),
                                   seconds=seconds)

    def run(self, stage: Stage, seconds: int) -> float:
        command = self.client(stage, seconds)
        result = stage.run(command)
        said = sockperf.plain(result.out + result.err)
        found = re.search(self.figure, said)
        assert found and float(found[1]) > 0, f"{command}: {said}"
        return float(found[1])


@contextmanager
def _redis_server(stage: Stage, port: int) -> Iterator[None]:
    with stage.serving(f"redis-server --port {port} --save '' --protected-mode no --dir /tmp"
                       " --loglevel warning", port):
        # GET looks for the keys that SET leaves.
        stage.run(f"redis-cli -h {stage.address} -p {port} set key:__rand_int__ VXK")
        yield


def _home(port: int) -> str:
    return f"/tmp/bench-nginx-{port}"


def _prepare_nginx(stage: Stage, port: int) -> None:
    www = f"{_home(port)}/www"
    stage.server.run(f"mkdir -p {www} && head -c 612 /dev/zero >{www}/small"
                     f" && head -c 65536 /dev/zero >{www}/large")


def _nginx(stage: Stage, port: int) -> ContextManager:
    http = (f"sendfile on; keepalive_requests 1000000;"
            f" server {{ listen {port}; root {_home(port)}/www; }}")
    return nginx(stage, _home(port), port, http)


def _data(port: int) -> str:
    return f"/tmp/bench-postgresql-{port}"


def _prepare_postgresql(stage: Stage, port: int) -> None:
    # Over TCP, whatever is measured.
    plain = replace(stage, launcher="")
    postgresql.prepare(plain, _data(port))
    with _postgresql(plain, port):
        plain.run(f"{postgresql.BIN}/pgbench -i -q --no-vacuum {postgresql.to(plain, port)}"
                  " postgres")


def _postgresql(stage: Stage, port: int) -> ContextManager:
    return postgresql.postgres(stage, _data(port), port)


def _started_by(command: str) -> Callable[[Stage, int], ContextManager]:
    """Starts a server that needs nothing but its command line."""
    @contextmanager
    def serve(stage: Stage, port: int) -> Iterator[None]:
        with stage.serving(command.format(address=stage.address, port=port), port):
            yield

    return serve


REDIS = Server(redis_server.PORT, _redis_server)
NGINX = Server(NGINX_PORT, _nginx, _prepare_nginx)
MEMCACHED = Server(memcached.PORT, _started_by(
    "memcached -u nobody -l {address} -p {port} -U 0 -m 64 -t 1"))
SOCKPERF = Server(sockperf.PORT, _started_by("sockperf server --tcp -i {address} -p {port}"))
IPERF3 = Server(IPERF3_PORT, _started_by("iperf3 -s -4 -p {port}"))
POSTGRESQL = Server(postgresql.PORT, _postgresql, _prepare_postgresql)

_REDIS = f"redis-benchmark -h {{address}} -p {{port}} -c {_PARALLEL} -q --csv"
_WRK = f"wrk -t 1 -c {_PARALLEL} -d {{seconds}}s --timeout 20s http://{{address}}:{{port}}"
_SOCKPERF = "--tcp -i {address} -p {port} -t {seconds}"
_PGBENCH = (f"{postgresql.BIN}/pgbench -n -S -M prepared -c 4 -T {{seconds}} -h {{address}}"
            " -p {port} -U nobody postgres")


def _redis(command: str, each_second: int, pipelined: int) -> str:
    return f"{_REDIS} -t {command.lower()} -P {pipelined} -n $(({{seconds}} * {each_second}))"


WORKLOADS = (
    *(Workload(f"redis-benchmark {command}{pipelined}", _redis(command, each_second, depth), "1/s",
               True, REDIS, rf'"{command}","([0-9.]+)"')
      for pipelined, depth, each_second in (("", 1, 6000), (" -P 16", 16, 40000))
      for command in ("SET", "GET")),
    Workload("nginx, wrk, 612 bytes", f"{_WRK}/small", "1/s", True, NGINX,
             r"Requests/sec: +([0-9.]+)", _PARALLEL),
    Workload("nginx, wrk, 64 KiB", f"{_WRK}/large", "1/s", True, NGINX,
             r"Requests/sec: +([0-9.]+)", _PARALLEL),
    Workload("memcached, memcaslap",
             f"memcaslap -s {{address}}:{{port}} -T 1 -c {_PARALLEL} -t {{seconds}}s", "1/s", True,
             MEMCACHED, r"TPS: (\d+)"),
    Workload("sockperf ping-pong, 64 bytes, one way", f"sockperf ping-pong -m 64 {_SOCKPERF}",
             "µs", False, SOCKPERF, r"Latency is ([0-9.]+) usec"),
    Workload("sockperf throughput, 4000 bytes", f"sockperf throughput -m 4000 {_SOCKPERF}", "MB/s",
             True, SOCKPERF, r"BandWidth is ([0-9.]+) MBps"),
    Workload("iperf3", "iperf3 -c {address} -p {port} -f m -t {seconds}", "Mbit/s", True, IPERF3,
             r"([0-9.]+) Mbits/sec +receiver"),
    Workload("pgbench, select only", _PGBENCH, "1/s", True, POSTGRESQL, r"tps = ([0-9.]+)"),
)
