# SPDX-License-Identifier: Apache-2.0
"""What `up` can be asked for: defaults, the topology file, flags over it, and the checks on the result."""

import dataclasses
import pathlib
import re
import tomllib

from . import toml_text
from .errors import any_of, lab_error
from .impairments import parse_impairment

FABRIC_KINDS = ("srv6", "direct", "bridge", "router")
SWITCH_KINDS = ("xdp", "kernel")
XDP_MODES = ("native", "generic")
ENGINES = ("auto", "xdp", "af_xdp")

# Plane has 3 bits in the default EV; leaf, spine and downlink numbers are a uSID's low 8 bits; 1280 is IPv6's least.
RANGES = {
    "planes": (1, 8),
    "leaves": (1, 256),
    "spines": (1, 256),
    "hosts": (1, 65536),
    "mtu": (1280, 9216),
    "queues": (1, 64),
}
FLAGS = ("ipv4",)
CHOICES = {"fabric": FABRIC_KINDS, "switch": SWITCH_KINDS, "mode": XDP_MODES, "host_mode": XDP_MODES, "engine": ENGINES}

# "-h0" at the end would make the prefix look like an instance of another lab.
PREFIX_PATTERN = re.compile(r"[a-z][a-z0-9-]{0,23}")
HOST_NAME = re.compile(r"h(0|[1-9]\d*)")


@dataclasses.dataclass
class lab_options:
    """One lab as it was asked for; everything else is derived from it."""

    planes: int = 4
    leaves: int = 2
    spines: int = 2
    hosts: int = 2
    mtu: int = 3400
    queues: int = 1
    fabric: str = "srv6"
    switch: str = "xdp"
    mode: str = "native"
    host_mode: str = "native"
    engine: str = "auto"
    ipv4: bool = False  # SRv6: hosts have IPv4 MRC addresses, too; else: only these
    places: dict = dataclasses.field(default_factory=dict)  # host number as text -> [leaf, downlink]
    impairments: list = dataclasses.field(default_factory=list)  # [a, b, {name: value}]
    here: list = dataclasses.field(default_factory=list)  # nodes on this machine; none named: all
    devices: dict = dataclasses.field(default_factory=dict)  # "NODE:PORT" -> network device instead of a veth's end
    extra_config: dict = dataclasses.field(default_factory=dict)  # merged into every mrcd configuration


def check_prefix(prefix):
    if not PREFIX_PATTERN.fullmatch(prefix) or re.search(r"-h\d+$|-$", prefix):
        raise lab_error(
            f"prefix '{prefix}' is not usable; allowed: up to 24 of a-z, 0-9 and -, a letter first, "
            "not ending in '-' or in '-h' and a number"
        )
    return prefix


def check_value(name, key, value):
    """One scalar option, from a flag or from the topology file; `name` is what the user calls it."""
    if key in RANGES:
        low, high = RANGES[key]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise lab_error(f"{name} is {value!r}; allowed: a whole number from {low} to {high}")
    elif key in FLAGS:
        if not isinstance(value, bool):
            raise lab_error(f"{name} is {value!r}; allowed: true or false")
    elif value not in CHOICES[key]:
        raise lab_error(f"{name} is {value!r}; allowed: {any_of(CHOICES[key])}")
    return value


def _host_place(where, entry, places):
    unknown = set(entry) - {"name", "leaf", "downlink"}
    if unknown:
        raise lab_error(f"{where}: [[host]] has unknown key '{min(unknown)}'; allowed: name, leaf, downlink")
    name = entry.get("name")
    match = HOST_NAME.fullmatch(name) if isinstance(name, str) else None
    if not match:
        raise lab_error(f"{where}: [[host]] name is {name!r}; allowed: h0, h1, …")
    for key in ("leaf", "downlink"):
        value = entry.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 255:
            raise lab_error(f"{where}: [[host]] {name}: {key} is {value!r}; allowed: a whole number from 0 to 255")
    places[match.group(1)] = [entry["leaf"], entry["downlink"]]


def _impairment_entry(where, entry):
    ends = [entry.get("a"), entry.get("b")]
    if not all(isinstance(end, str) for end in ends):
        raise lab_error(f"{where}: [[impair]] needs the two ends of a link as a = \"…\" and b = \"…\"")
    values = {key: value for key, value in entry.items() if key not in ("a", "b")}
    return [*ends, parse_impairment(f"{where}: [[impair]] {ends[0]} {ends[1]}", values)]


def parse_device(where, text):
    """NODE:PORT=DEVICE as (NODE:PORT, DEVICE)."""
    end, _, device = str(text).partition("=")
    if not re.fullmatch(r"[^:\s]+:[^:\s]+", end) or not re.fullmatch(r"[^/:\s]{1,15}", device):
        raise lab_error(f"{where} is {text!r}; allowed: NODE:PORT=DEVICE, such as h0:p0=eth1")
    return end, device


def _names(where, value):
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise lab_error(f"{where} is {value!r}; allowed: a list of nodes, such as [\"h0\", \"p0t0-0\"]")
    return value


def load_topology_file(path):
    """The options and the prefix (or None) of a topology file."""
    try:
        content = tomllib.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise lab_error(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise lab_error(f"{path}: not TOML: {error}") from error
    options = lab_options()
    prefix = None
    for key, value in content.items():
        if key in RANGES or key in CHOICES or key in FLAGS:
            setattr(options, key, check_value(f"{path}: {key}", key, value))
        elif key == "prefix" and isinstance(value, str):
            prefix = check_prefix(value)
        elif key == "host" and isinstance(value, list):
            for entry in value:
                _host_place(path, entry, options.places)
        elif key == "here":
            options.here = _names(f"{path}: here", value)
        elif key == "devices" and isinstance(value, dict):
            options.devices = dict(parse_device(f"{path}: devices", f"{end}={name}") for end, name in value.items())
        elif key == "impair" and isinstance(value, list):
            options.impairments += [_impairment_entry(path, entry) for entry in value]
        else:
            allowed = any_of([*RANGES, *CHOICES, *FLAGS, "prefix", "here", "[devices]", "[[host]]", "[[impair]]"])
            raise lab_error(f"{path}: unknown key '{key}'; allowed: {allowed}")
    return options, prefix


def load_extra_config(path):
    """The tables of a configuration file, which mrcd itself checks later."""
    try:
        content = tomllib.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        toml_text.render(content)  # dates, which mrcd knows nothing to do with
    except OSError as error:
        raise lab_error(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise lab_error(f"{path}: not TOML: {error}") from error
    except TypeError as error:
        raise lab_error(f"{path}: {error}; no key of mrcd takes that") from error
    return content
