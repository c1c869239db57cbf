# SPDX-License-Identifier: GPL-2.0-only
"""A machine with Secure Boot that trusts one key, that of Debian's ovmf for tests."""

import subprocess
from pathlib import Path

from harness.kernel import Kernel
from host import Firmware
from system import HOME

_OVMF = Path("/usr/share/OVMF")
_KEY = Path("/usr/share/ovmf/PkKek-1-snakeoil.key")
_CERTIFICATE = _KEY.with_suffix(".pem")
_PASSWORD = "snakeoil"


def key() -> bytes:
    """Without its password."""
    return _printed("openssl", "rsa", "-in", _KEY, "-passin", f"pass:{_PASSWORD}")


def certificate() -> bytes:
    return _printed("openssl", "x509", "-in", _CERTIFICATE, "-outform", "DER")


def firmware(kernel: Kernel) -> Firmware:
    """With that kernel, signed for it as the one of a distribution is for the machines of its users."""
    HOME.mkdir(parents=True, exist_ok=True)
    bare, image = HOME / "key", HOME / f"vmlinuz-{kernel.release}.signed"
    bare.write_bytes(key())
    subprocess.run(["sbsign", "--key", bare, "--cert", _CERTIFICATE, "--output", image, kernel.image], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    code = f"if=pflash,format=raw,unit=0,readonly=on,file={_OVMF}/OVMF_CODE_4M.fd"
    return Firmware(("-drive", code), _OVMF / "OVMF_VARS_4M.snakeoil.fd", image)


def _printed(*command: str | Path) -> bytes:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
