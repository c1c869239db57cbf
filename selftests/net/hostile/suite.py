# SPDX-License-Identifier: GPL-2.0-only
"""Cases of a hostile peer: how they are registered, run, and reported as TAP."""

import argparse
import re
import time
from typing import Any, Callable


class Failed(Exception):
    """The target did something wrong."""


def expect(condition: bool, text: str) -> None:
    if not condition:
        raise Failed(text)


class Suite:
    def __init__(self) -> None:
        self._cases: list[tuple[str, Callable[[Any], None]]] = []

    def case(self, function: Callable[[Any], None]) -> Callable[[Any], None]:
        """Registers function(scene)."""
        self._cases.append((function.__name__, function))
        return function

    def variants(self, **values: Any) -> Callable:
        """One case for each value: function(scene, value)."""
        def register(function: Callable[[Any, Any], None]) -> Callable:
            for name, value in values.items():
                self._cases.append((f"{function.__name__}_{name}",
                                    lambda scene, value=value: function(scene, value)))
            return function

        return register

    def messages(self, **makers: Callable[[Any], bytes]) -> Callable:
        """One case for each message: function(scene, maker(scene))."""
        def register(function: Callable[[Any, bytes], None]) -> Callable:
            for name, make in makers.items():
                self._cases.append((f"{function.__name__}_{name}",
                                    lambda scene, make=make: function(scene, make(scene))))
            return function

        return register

    def run(self, scene: Any, only: str) -> int:
        """Runs the cases whose names match; the exit status."""
        chosen = [(name, run) for name, run in self._cases if re.search(only, name)]
        failed = 0

        print(f"TAP version 13\n1..{len(chosen)}", flush=True)
        for number, (name, run) in enumerate(chosen, 1):
            start_s = time.monotonic()
            try:
                run(scene)
                print(f"ok {number} - {name} # {time.monotonic() - start_s:.1f} s", flush=True)
            # Whatever failed, the next case can run.
            except Exception as error:
                failed += 1
                print(f"not ok {number} - {name}\n# {type(error).__name__}: {error}", flush=True)
        print(f"# {len(chosen)} cases, {failed} failed")
        return 1 if failed or not chosen else 0

    def main(self, make_scene: Callable[[argparse.Namespace], Any],
             args: argparse.Namespace) -> int:
        """Runs the cases that args.only chooses, then closes the scene's host; the exit status."""
        scene = make_scene(args)
        try:
            return self.run(scene, args.only)
        finally:
            scene.host.close()


def parser(description: str, first_port: int) -> argparse.ArgumentParser:
    """The options of every hostile peer. The target's programs listen on first_port and the next
    one."""
    result = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--interface", default="eth0")
    result.add_argument("--address", required=True)
    result.add_argument("--target", required=True)
    result.add_argument("--echo-port", type=int, default=first_port)
    result.add_argument("--control-port", type=int, default=first_port + 1)
    result.add_argument("--eid", required=True)
    result.add_argument("--only", default="")
    return result
