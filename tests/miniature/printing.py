"""Prints rubbish at every opportunity."""

import os
import sys

from impl import ones

from .wrapping import Namespace

RUBBISH = '{"steps": []}\n\x00not a trace\n' * 50


def _printing(*args, **keywords):
    print(RUBBISH)
    print(RUBBISH, file=sys.stderr)
    sys.__stdout__.write(RUBBISH)
    os.write(1, RUBBISH.encode())
    os.write(2, RUBBISH.encode())
    return ones(*args, **keywords)


namespace = Namespace(ones=_printing)
