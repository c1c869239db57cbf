# SPDX-License-Identifier: GPL-2.0-only
"""PostgreSQL with pgbench and psql."""

import re
from contextlib import contextmanager
from typing import Iterator

from harness import case
from stage import Stage, over_smcd, over_smcr

PORT = 5432
BIN = "/usr/lib/postgresql/15/bin"
DATA = "/tmp/postgresql"
# PostgreSQL refuses to run as root.
USER = "setpriv --reuid=nobody --regid=nogroup --clear-groups"
CLIENTS, EACH = 4, 25
TRANSACTIONS = CLIENTS * EACH
SETTINGS = ("fsync=off", "autovacuum=off", "shared_buffers=32MB", "unix_socket_directories=",
            "listen_addresses=*", "max_wal_size=64MB")


def prepare(stage: Stage, data: str) -> None:
    """A new cluster in the folder data, which asks for no password."""
    stage.server.run(f"""set -e
        rm -rf {data} && mkdir {data} && chown nobody {data} && cd /tmp
        {USER} {BIN}/initdb -D {data} -U nobody -A trust --locale=C --no-sync
        echo 'host all all 0.0.0.0/0 trust' >>{data}/pg_hba.conf""", 400)


def to(stage: Stage, port: int) -> str:
    """The options of a client."""
    return f"-h {stage.address} -p {port} -U nobody"


@contextmanager
def postgres(stage: Stage, data: str, port: int) -> Iterator[None]:
    settings = " ".join(f"-c {setting}" for setting in SETTINGS)
    with stage.serving(f"{USER} {BIN}/postgres -D {data} -p {port} {settings}", port):
        stage.client.wait_for(stage.client_command(f"{BIN}/pg_isready {to(stage, port)}"))
        yield


def transactions(said: str) -> int:
    found = re.search(r"transactions actually processed: (\d+)", said)
    assert found and re.search(r"failed transactions: 0 ", said), said
    return int(found[1])


def postgresql(stage: Stage) -> dict:
    prepare(stage, DATA)
    server = to(stage, PORT)
    psql = f"{BIN}/psql -X -A -t {server} postgres"
    with postgres(stage, DATA, PORT):
        stage.run(f"{BIN}/pgbench -i -q --no-vacuum {server} postgres")
        done = [transactions(stage.run(f"{BIN}/pgbench -n -c {CLIENTS} -t {EACH} {options}"
                                       f" {server} postgres").out)
                for options in ("", "-S -M prepared", "-S -C")]
        balanced = stage.run(f"{psql} -c 'select (select count(*) from pgbench_history),"
                             " (select sum(abalance) from pgbench_accounts)"
                             " = (select sum(delta) from pgbench_history)'").out
        rows = stage.run(f"{psql} -c 'select aid, filler from pgbench_accounts order by aid'").out
        # psql cancels a query over a connection of its own.
        cancelled = stage.run(f"timeout --signal=INT 3 {psql} -c 'select pg_sleep(100)'",
                              check=False)
    stage.server.run(f"rm -r {DATA}")
    assert "canceling statement due to user request" in cancelled.err, f"{cancelled}"
    return {"done": done, "balanced": balanced, "rows": rows.count("\n"), "cancelled": cancelled.rc}


@case(on="ours+ours")
def postgresql_over_smcr(vm):
    over_smcr(vm, postgresql)


@case(on="ours")
def postgresql_over_smcd(vm):
    over_smcd(vm, postgresql)
