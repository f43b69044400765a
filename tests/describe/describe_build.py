"""Hosts as folders of files, and tools as tables from command lines to answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import tool_outputs as outputs

from wholecurve.describe import Capture, capture
from wholecurve.describe.accelerators import NVIDIA_LINKS, NVIDIA_QUERY
from wholecurve.describe.capture import MODULES
from wholecurve.describe.tree import Run

Files = dict[str, str]

PRIVATE = ("node17.corp.example", "aa:bb:cc:dd:ee:ff", "10.11.12.13", "alice", outputs.SECRET, "/srv/secret-project")


def make_tree(root: Path, files: Mapping[str, str]) -> Path:
    """A value that begins with `->` is a symbolic link."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            path.symlink_to(text[2:])
        else:
            path.write_text(text, encoding="utf-8")
    return root


def tools(answers: Mapping[Sequence[str], str]) -> Run:
    table = {tuple(argv): text for argv, text in answers.items()}
    return lambda argv: table.get(tuple(argv))


NO_TOOLS = tools({})


def cpu_files(sockets: int, cores: int, model: str, *, flags: str = "fpu sse2") -> Files:
    """/proc/cpuinfo and topology with two threads a core."""
    files: Files = {}
    blocks = []
    for number in range(sockets * cores * 2):
        socket, core = (number // cores) % sockets, number % cores
        base = f"sys/devices/system/cpu/cpu{number}/topology"
        files |= {f"{base}/physical_package_id": f"{socket}\n", f"{base}/core_id": f"{core}\n"}
        blocks.append(f"processor\t: {number}\nmodel name\t: {model}\nphysical id\t: {socket}\nflags\t\t: {flags}\n")
    return files | {"proc/cpuinfo": "\n".join(blocks)}


def card_files(name: str, *, speed: int, driver: str, ids: tuple[str, str], kind: int = 1) -> Files:
    base = f"sys/class/net/{name}"
    return {
        f"{base}/type": f"{kind}\n",
        f"{base}/speed": f"{speed}\n",
        f"{base}/address": "aa:bb:cc:dd:ee:ff\n",
        f"{base}/device/vendor": f"{ids[0]}\n",
        f"{base}/device/device": f"{ids[1]}\n",
        f"{base}/device/driver": f"->../../bus/pci/drivers/{driver}",
    }


PCI_IDS = """\
# list
10de  NVIDIA Corporation
\t2330  GH100 [H100 SXM5 80GB]
\t\t10de 16c1  subsystem
15b3  Mellanox Technologies
\t1021  MT2910 Family [ConnectX-7]
"""


def gpu_server() -> Files:
    """Two sockets of 48 cores, InfiniBand and Ethernet, NVMe; with things in it that must stay there."""
    files = cpu_files(2, 48, "Intel(R)  Xeon(R) Platinum 8468")
    for number in range(2):
        files |= card_files(f"ib{number}", speed=400_000, driver="mlx5_core", ids=("0x15b3", "0x1021"), kind=32)
        base = f"sys/class/infiniband/mlx5_{number}"
        files |= {f"{base}/ports/1/link_layer": "InfiniBand\n", f"{base}/ports/1/rate": "400 Gb/sec (4X NDR)\n"}
        files |= {f"{base}/node_desc": "node17.corp.example\n"}
    files |= card_files("eth0", speed=25_000, driver="bnxt_en", ids=("0x14e4", "0x16d7"))
    files |= {"sys/class/net/lo/type": "772\n", "sys/class/net/docker0/type": "1\n", "sys/class/net/docker0/speed": "1"}
    for number in range(4):
        files |= {
            f"sys/block/nvme{number}n1/size": "7501476528\n",
            f"sys/block/nvme{number}n1/device/model": "SAMSUNG MZQL23T8HCLS-00A07   \n",
            f"sys/block/nvme{number}n1/device/serial": outputs.SECRET,
            f"sys/block/nvme{number}n1/queue/rotational": "0\n",
        }
    files |= {"sys/block/loop0/size": "1000\n", "sys/block/dm-0/size": "7501476528\n", "sys/block/sda/size": "0\n"}
    return files | {
        "proc/meminfo": "MemTotal:       2113531120 kB\nMemFree: 1 kB\n",
        "proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
        "proc/sys/kernel/hostname": "node17.corp.example\n",
        "etc/hostname": "node17.corp.example\n",
        "etc/hosts": "10.11.12.13 node17.corp.example\n",
        "etc/passwd": "alice:x:1000:1000::/home:/bin/sh\n",
        "etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n',
        "proc/mounts": "/dev/nvme0n1p2 / ext4 rw 0 0\n10.11.12.13:/x /srv/secret-project nfs4 rw 0 0\n",
        "sys/devices/system/node/node0/cpulist": "0-47\n",
        "sys/devices/system/node/node1/cpulist": "48-95\n",
        "sys/devices/system/node/possible": "0-1\n",
        "usr/share/misc/pci.ids": PCI_IDS,
    }


H100_TOOLS = tools({NVIDIA_QUERY: outputs.NVIDIA_H100, NVIDIA_LINKS: outputs.NVIDIA_TOPO, MODULES: outputs.DMIDECODE})


def gpu_capture(root: Path, run: Run = H100_TOOLS, **changes: str) -> Capture:
    files = gpu_server() | changes
    return capture(make_tree(root, files), run, model_path="/srv/secret-project/model")


def cpu_capture(root: Path) -> Capture:
    return capture(
        make_tree(root, cpu_files(1, 4, "AMD EPYC", flags="fpu hypervisor") | {"proc/meminfo": "MemTotal: 8000000 kB"}),
        NO_TOOLS,
    )
