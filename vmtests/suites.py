# SPDX-License-Identifier: Apache-2.0
"""The suites: programs in suites/, each with a NAME.toml beside it that says what it needs."""

import dataclasses
import os
import pathlib
import tomllib

FOLDER = pathlib.Path(__file__).resolve().parent / "suites"


@dataclasses.dataclass(frozen=True)
class end:
    """One end of a link: which machine, and what the device is called there."""

    machine: int
    device: str


@dataclasses.dataclass(frozen=True)
class link:
    """A pair of network devices with a cable between them that lies outside the machines."""

    ends: tuple
    model: str = "virtio-net-pci,host_mtu=9000"  # QEMU's device and its properties; {end} is a or b


@dataclasses.dataclass(frozen=True)
class machine_shape:
    """What a suite runs on. Suites whose machines are alike, but for memory, share one boot."""

    count: int = 1
    cpus: int = 2
    memory_mb: int = 1024
    init: str = "plain"  # or systemd, which then runs the suite as a service
    links: tuple = ()
    kernel_options: tuple = ()
    qemu: tuple = ()  # further arguments

    def alike(self):
        return dataclasses.replace(self, memory_mb=0)


@dataclasses.dataclass(frozen=True)
class suite:
    name: str
    about: str
    seconds: int  # that it may take in an emulated machine
    quick: bool = False  # runs where none is named
    modules: tuple = ()  # loaded beforehand; a kernel without them skips the suite
    machine: machine_shape = machine_shape()


def names():
    return sorted(path.name for path in FOLDER.iterdir() if path.suffix == "" and os.access(path, os.X_OK))


def load(name):
    return parse(name, (FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def parse(name, text):
    """A suite from its declaration; ValueError names what is wrong in it."""
    where = f"vmtests/suites/{name}.toml"
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{where}: {error}") from error
    of_machine = table.pop("machine", {})
    of_machine["links"] = [_link(f"{where}, link {number}", entry, of_machine.get("count", 1))
                           for number, entry in enumerate(table.pop("link", []))]
    table["machine"] = _made(where + ", [machine]", machine_shape, of_machine)
    if table["machine"].init not in ("plain", "systemd"):
        raise ValueError(f"{where}: init is '{table['machine'].init}'; allowed: plain, systemd")
    return _made(where, suite, {"name": name, **table})


def _link(where, table, machines):
    ends = []
    for text in table.get("ends", []):
        number, _, device = text.partition(":")
        if not number.isdigit() or int(number) >= machines or not 0 < len(device) < 16:
            raise ValueError(f"{where}: end '{text}' is not MACHINE:DEVICE with a machine below {machines}")
        ends.append(end(int(number), device))
    if len(ends) != 2:
        raise ValueError(f"{where}: a link has two ends, this has {len(ends)}")
    return _made(where, link, {**table, "ends": ends})


def _made(where, kind, table):
    """An object of a class from a table: every key known, every value of the default's type."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    unknown = sorted(set(table) - set(fields))
    if unknown:
        raise ValueError(f"{where}: unknown {', '.join(unknown)}; allowed: {', '.join(fields)}")
    table = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    for key, value in table.items():
        if type(value) is not fields[key].type:
            raise ValueError(f"{where}: {key} is {value!r}; it must be {fields[key].type.__name__}")
    missing = [name for name, field in fields.items() if name not in table and field.default is dataclasses.MISSING]
    if missing:
        raise ValueError(f"{where}: {', '.join(missing)} is missing")
    return kind(**table)


def by_machine(chosen):
    """Suites in groups that share a boot: [(machine, [suite, …]), …]."""
    groups = {}
    for one in chosen:
        groups.setdefault(one.machine.alike(), []).append(one)
    return [(dataclasses.replace(shape, memory_mb=max(one.machine.memory_mb for one in group)), group)
            for shape, group in groups.items()]
