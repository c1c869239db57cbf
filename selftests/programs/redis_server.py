# SPDX-License-Identifier: GPL-2.0-only
"""redis-server with redis-benchmark and redis-cli."""

from harness import case
from stage import Stage, over_smcd, over_smcr

PORT = 6379
TESTS = "ping_mbulk,set,get,incr,lpush,lrange_100,mset"
BLOB = "python3 -c 'import random; random.seed(7); print(random.randbytes(700_001).hex())'"


def redis_benchmark(stage: Stage) -> dict:
    with stage.serving(f"redis-server --port {PORT} --save '' --protected-mode no"
                       " --dir /tmp --loglevel warning", PORT):
        cli = f"redis-cli -h {stage.address} -p {PORT}"
        listed = stage.run(f"redis-benchmark -h {stage.address} -p {PORT} -c 10 -n 500 -d 512"
                           f" -P 2 -t {TESTS} -q --csv").out.splitlines()[1:]
        rates = dict(line.replace('"', "").split(",")[:2] for line in listed)
        assert all(float(rate) > 0 for rate in rates.values()), f"{rates}"
        stored = stage.run(f"bash -c \"{BLOB} | {cli} -x set blob\"").out
        fetched = stage.run(f"bash -c '{cli} get blob | sha256sum'").out
        keys = stage.run(f"{cli} dbsize").out
        replies = stage.run(f"bash -c 'seq -f \"rpush numbers %g\" 3000 | {cli} --pipe'").out
    return {"tests": list(rates), "stored": stored, "fetched": fetched, "keys": keys,
            "replies": replies.splitlines()[-1]}


@case(on="ours+ours")
def redis_over_smcr(vm):
    over_smcr(vm, redis_benchmark)


@case(on="ours")
def redis_over_smcd(vm):
    over_smcd(vm, redis_benchmark)
