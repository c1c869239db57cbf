# SPDX-License-Identifier: GPL-2.0-only
"""nginx, with a folder of its own and one server of HTTP in it."""

from contextlib import contextmanager
from typing import Iterator

from stage import Stage


@contextmanager
def nginx(stage: Stage, home: str, port: int, http: str) -> Iterator[None]:
    """home: its folder, which exists. http: the http section of its configuration."""
    stage.server.put(f"{home}/nginx.conf", f"""
daemon off;
user root;
worker_processes 1;
pid {home}/pid;
error_log {home}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    {http}
}}
""".encode())
    with stage.serving(f"nginx -p {home} -e {home}/error.log -c {home}/nginx.conf", port):
        yield
