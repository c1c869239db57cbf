#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A server and its clients with asyncio's streams.

    asyncio_streams.py serve PORT
    asyncio_streams.py connect ADDRESS PORT

Each client sends what its number says, says that it is done, and gets the SHA-256 of it and all of
it back. One of them resets its connection instead, which the server has to see. The last line is a
count.
"""

import asyncio
import hashlib
import random
import socket
import struct
import sys

CLIENTS = 30
BROKEN = 7
RESET = struct.pack("ii", 1, 0)


def content(number: int) -> bytes:
    return random.Random(number).randbytes(number * 9973 + 1)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        got = await reader.read()
        writer.write(hashlib.sha256(got).digest() + got)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
    except ConnectionError as error:
        print(type(error).__name__, flush=True)


async def serve(port: int) -> None:
    server = await asyncio.start_server(answer, "0.0.0.0", port, backlog=CLIENTS)
    async with server:
        await server.serve_forever()


async def exchange(address: str, port: int, number: int) -> bool:
    reader, writer = await asyncio.open_connection(address, port)
    sent = content(number)
    if number == BROKEN:
        writer.write(sent[:-1])
        await writer.drain()
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        writer.transport.abort()
        return False
    writer.write(sent)
    writer.write_eof()
    got = await reader.read()
    writer.close()
    await writer.wait_closed()
    return got == hashlib.sha256(sent).digest() + sent


async def connect(address: str, port: int) -> None:
    done = await asyncio.gather(*(exchange(address, port, number) for number in range(CLIENTS)))
    print(f"{sum(done)} of {CLIENTS}")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve(int(sys.argv[2])))
    else:
        asyncio.run(connect(sys.argv[2], int(sys.argv[3])))
