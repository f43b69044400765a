"""Answers of vendors' tools, written after their documented formats; with the serial numbers that must not get out."""

from __future__ import annotations

import json

SECRET = "SERIAL-1322422012345"

NVIDIA_H100 = "NVIDIA H100 80GB HBM3, 81559, 550.54.15, 5, 16\n" * 8
NVIDIA_MIXED = "NVIDIA L40S, 46068, 550.54.15, 4, 16\nNVIDIA A10, 23028, 550.54.15, [N/A], [N/A]\n"

NVIDIA_TOPO = """\
\x1b[4m\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\tNV18\tNV18\tPIX\t0-47,96-143\t0\t\tN/A
GPU1\tNV18\t X \tNV18\tNV18\tNODE\t0-47,96-143\t0\t\tN/A
GPU2\tNV18\tNV18\t X \tNV18\tSYS\t48-95,144-191\t1\t\tN/A
GPU3\tNV18\tNV18\tNV18\t X \tSYS\t48-95,144-191\t1\t\tN/A
NIC0\tPIX\tNODE\tSYS\tSYS\t X

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes
  NV#  = Connection traversing a bonded set of # NVLinks
"""
NVIDIA_TOPO_PCIE = "\tGPU0\tGPU1\nGPU0\t X \tSYS\t0-7\nGPU1\tSYS\t X \t0-7\n"
NVIDIA_TOPO_BRIDGE = "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV4\tSYS\nGPU1\tNV4\t X \tSYS\nGPU2\tSYS\tSYS\t X \n"

_AMD_CARD = {
    "asic": {
        "market_name": "AMD Instinct MI300X",
        "vendor_id": "0x1002",
        "asic_serial": SECRET,
        "oam_id": 3,
        "num_compute_units": 304,
    },
    "bus": {
        "bdf": "0000:0c:00.0",
        "max_pcie_width": 16,
        "max_pcie_speed": {"value": 32, "unit": "GT/s"},
        "pcie_interface_version": "Gen 5",
        "slot_type": "OAM",
    },
    "driver": {"name": "amdgpu", "version": "6.8.5"},
    "vram": {"type": "HBM3", "vendor": "SAMSUNG", "size": {"value": 196592, "unit": "MB"}},
}
AMD_STATIC = json.dumps([{"gpu": number, **_AMD_CARD} for number in range(8)])
AMD_STATIC_NEW = json.dumps({"gpu_data": [{"gpu": number, **_AMD_CARD} for number in range(8)]})

_ROCM_CARD = {
    "Card Series": "AMD Instinct MI250X",
    "Card Model": "0x7408",
    "Card Vendor": "Advanced Micro Devices, Inc. [AMD/ATI]",
    "Serial Number": SECRET,
    "VRAM Total Memory (B)": "68702699520",
    "VRAM Total Used Memory (B)": "11075584",
}
ROCM = "WARNING: AMD GPU device(s) is/are in a low-power state.\n" + json.dumps(
    {"card0": _ROCM_CARD, "card1": _ROCM_CARD, "system": {"Driver version": "6.3.6"}}
)

XPU_LIST = json.dumps(
    {
        "device_list": [
            {
                "device_function_type": "physical",
                "device_id": number,
                "device_name": "Intel(R) Data Center GPU Max 1550",
                "device_type": "GPU",
                "pci_bdf_address": "0000:18:00.0",
                "uuid": SECRET,
                "vendor_name": "Intel(R) Corporation",
            }
            for number in range(2)
        ]
    }
)
XPU_DEVICE = json.dumps(
    {
        "device_name": "Intel(R) Data Center GPU Max 1550",
        "driver_version": "I915_23.8.20",
        "memory_physical_size_byte": "137438953472",
        "pcie_generation": "5",
        "pcie_max_link_width": "16",
        "serial_number": SECRET,
    }
)

HABANA = "HL-225, 98304 MiB, 1.16.0-fc3a2b1\n" * 8

NEURON = json.dumps(
    [
        {
            "neuron_device": number,
            "bdf": "00:1e.0",
            "connected_to": [1 - number],
            "nc_count": 2,
            "memory_size": 34359738368,
            "neuron_processes": [{"pid": 123, "command": f"serve --key {SECRET}"}],
        }
        for number in range(2)
    ]
)

TPU = """\
TPU Chips
┏━━━━━━━━━━━━━┳━━━━━━━━━━━━━━┳━━━━━━━━━┳━━━━━━┓
┃ Chip        ┃ Type         ┃ Devices ┃ PID  ┃
┡━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━╇━━━━━━┩
│ /dev/vfio/0 │ TPU v6e chip │ 1       │ 4242 │
│ /dev/vfio/1 │ TPU v6e chip │ 1       │ None │
└─────────────┴──────────────┴─────────┴──────┘
"""

_MODULE = f"""\
Handle 0x0025, DMI type 17, 92 bytes
Memory Device
\tArray Handle: 0x0023
\tTotal Width: 80 bits
\tSize: 96 GB
\tForm Factor: DIMM
\tLocator: DIMM_A0
\tType: DDR5
\tSpeed: 5600 MT/s
\tManufacturer: Somebody
\tSerial Number: {SECRET}
\tConfigured Memory Speed: 4800 MT/s
"""
_EMPTY = """\
Handle 0x0026, DMI type 17, 92 bytes
Memory Device
\tSize: No Module Installed
\tType: Unknown
\tSpeed: Unknown
"""
DMIDECODE = "# dmidecode 3.4\nGetting SMBIOS data from sysfs.\n\n" + "\n".join([_MODULE] * 24 + [_EMPTY] * 8)
