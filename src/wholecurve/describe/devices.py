"""Network cards, storage and devices on the bus of a host, from /sys. No address, no serial number, no device name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from wholecurve.describe.tree import Tree

_NET: Final = "sys/class/net"
_RDMA: Final = "sys/class/infiniband"
_BLOCK: Final = "sys/block"
_PCI: Final = "sys/bus/pci/devices"
_SECTOR: Final = 512
_ETHERNET, _INFINIBAND = 1, 32
_PCI_IDS: Final = ("usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids")

_NO_DISK: Final = re.compile(r"(?:loop|ram|zram|sr|fd|dm-|md|nbd|zd|rbd|drbd)\d*")
"""Block devices that are no disks: made of others, of memory, of files or of the network."""

DISPLAY_CLASSES: Final = ("0x0300", "0x0302", "0x1200")
"""Classes of the bus that accelerators have: display, 3D, processing accelerator."""

VENDORS: Final[Mapping[int, str]] = {
    0x10DE: "NVIDIA",
    0x1002: "AMD",
    0x8086: "Intel",
    0x1DA3: "Habana",
    0x1D0F: "Amazon",
    0x1AE0: "Google",
    0x1E52: "Tenstorrent",
}


def network_cards(tree: Tree) -> list[dict[str, Any]]:
    """Cards of one kind together: {count, kind, speed_mbit, driver, model}. Only what has hardware behind it."""
    names: dict[tuple[str | None, str | None], str | None] = {}
    found: Counter[tuple[str, int | None, str | None, str | None]] = Counter()
    for name in tree.names(_NET):
        base = f"{_NET}/{name}"
        if not tree.exists(f"{base}/device"):
            continue  # made by software: lo, bridges, bonds, tunnels
        kind = {_ETHERNET: "Ethernet", _INFINIBAND: "InfiniBand"}.get(tree.number(f"{base}/type") or 0)
        if kind is None:
            continue
        speed = tree.number(f"{base}/speed")
        ids = (tree.text(f"{base}/device/vendor"), tree.text(f"{base}/device/device"))
        if ids not in names:
            names[ids] = pci_name(tree, *ids)
        driver = tree.link_name(f"{base}/device/driver")
        found[(kind, speed if speed and speed > 0 else None, driver, names[ids])] += 1
    rows = [
        {"count": count, "kind": kind, "speed_mbit": speed, "driver": driver, "model": model}
        for (kind, speed, driver, model), count in found.items()
    ]
    return sorted(rows, key=lambda row: (-(row["speed_mbit"] or 0), str(row)))


def rdma_ports(tree: Tree) -> list[dict[str, Any]]:
    """Ports of RDMA devices: {count, link_layer, rate}, such as 8 of InfiniBand, 400 Gb/sec (4X NDR)."""
    found: Counter[tuple[str, str]] = Counter()
    for device in tree.names(_RDMA):
        for port in tree.names(f"{_RDMA}/{device}/ports"):
            base = f"{_RDMA}/{device}/ports/{port}"
            layer, rate = tree.text(f"{base}/link_layer"), tree.text(f"{base}/rate")
            if layer:
                found[(layer, rate or "")] += 1
    return [{"count": n, "link_layer": layer, "rate": rate} for (layer, rate), n in sorted(found.items())]


def disks(tree: Tree) -> list[dict[str, Any]]:
    """Disks of one kind together: {count, bytes, kind, model}. kind: NVMe SSD, SSD, hard disk, virtual disk."""
    found: Counter[tuple[int, str, str | None]] = Counter()
    for name in tree.names(_BLOCK):
        sectors = tree.number(f"{_BLOCK}/{name}/size")
        if _NO_DISK.match(name) or not sectors or tree.text(f"{_BLOCK}/{name}/removable") == "1":
            continue
        model = tree.text(f"{_BLOCK}/{name}/device/model") or None
        found[(sectors * _SECTOR, _disk_kind(tree, name), model)] += 1
    rows = [{"count": n, "bytes": size, "kind": kind, "model": model} for (size, kind, model), n in found.items()]
    return sorted(rows, key=lambda row: (-row["bytes"], str(row)))


def _disk_kind(tree: Tree, name: str) -> str:
    if name.startswith("nvme"):
        return "NVMe SSD"
    if re.match(r"x?vd[a-z]", name):
        return "virtual disk"
    return "hard disk" if tree.text(f"{_BLOCK}/{name}/queue/rotational") == "1" else "SSD"


def bus_accelerators(tree: Tree) -> list[dict[str, Any]]:
    """What the bus holds of accelerators' classes and makers: {count, vendor, model}. Tells that a tool is missing."""
    found: Counter[tuple[str, str | None]] = Counter()
    for name in tree.names(_PCI):
        base = f"{_PCI}/{name}"
        vendor = VENDORS.get(tree.number(f"{base}/vendor") or 0)
        kind = tree.text(f"{base}/class") or ""
        if vendor is None or not kind.startswith(DISPLAY_CLASSES):
            continue
        if kind.startswith(DISPLAY_CLASSES[0]) and vendor in ("Intel", "Amazon", "Google"):
            continue  # the screen of a server or of a virtual machine
        found[(vendor, pci_name(tree, tree.text(f"{base}/vendor"), tree.text(f"{base}/device")))] += 1
    return [{"count": n, "vendor": vendor, "model": model} for (vendor, model), n in sorted(found.items(), key=str)]


def pci_name(tree: Tree, vendor: str | None, device: str | None) -> str | None:
    """The name of a device by the id list that many systems have; None without the list or the row."""
    if not vendor or not device or not (vendor.startswith("0x") and device.startswith("0x")):
        return None
    for file in _PCI_IDS:
        maker = ""
        for line in tree.lines(file):
            if not line or line.startswith("#"):
                continue
            if not line.startswith("\t"):
                if maker:
                    break  # the next maker: the device is not listed
                if line.lower().startswith(vendor[2:].lower() + " "):
                    maker = line[4:].strip()
            elif maker and not line.startswith("\t\t") and line[1:].lower().startswith(device[2:].lower() + " "):
                return f"{maker} {line[5:].strip()}"
    return None


def filesystem(tree: Tree, path: str) -> str | None:
    """The type of the file system that holds a path, as /proc/mounts says. Neither path nor source is kept."""
    best, kind = "", None
    for line in tree.lines("proc/mounts"):
        fields = line.split()
        if len(fields) < 3:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[1])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind
