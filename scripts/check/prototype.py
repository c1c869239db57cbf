# SPDX-License-Identifier: GPL-2.0-only
"""The functions that a header of net/smc/kernel/abi/ declares, for all who go by these headers."""

import re

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# Begins at the start of a line, and has no body.
PROTOTYPE = re.compile(r"^(?!static|typedef|#)[A-Za-z][\w \t*]*?\b(\w+)\([^;{}]*\);", re.MULTILINE)


def without_comments(text):
    """The text with comments replaced by blanks, so that the lines keep their numbers."""
    return COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def declared(text):
    """Declarations in a text without comments, as (line, name)."""
    for match in PROTOTYPE.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match[1]
