# SPDX-License-Identifier: Apache-2.0
"""scripts/wireshark/mrc.lua in tshark, against the packets of tests/vectors, whose fields an independent encoder has
written down: every field of every golden packet, and no error in any hostile one."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib

from tshark import SCRIPTS, tshark

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINKTYPE_RAW = 101  # packets begin with their IP header
IP_BYTES, UDP_BYTES = 40, 8
# Keys of golden.txt that are not MRC's, or are checked by themselves.
NOT_MRC = {"ip", "src", "dst", "tc", "flow_label", "hop_limit", "sport", "dport", "ip_id", "ip_df", "transport",
           "bytes", "payload", "icrc"}


def vectors(name):
    """(name, keys) of each packet in a file of tests/vectors."""
    found, current = [], None
    for line in (ROOT / "tests/vectors" / name).read_text("utf-8").splitlines():
        if line.startswith("["):
            current = {}
            found.append((line.strip("[]"), current))
        elif current is not None and "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            current[key.strip()] = value.strip()
    return found


def write_capture(path, packets):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, LINKTYPE_RAW))
        for number, packet in enumerate(packets):
            file.write(struct.pack("<IIII", number, 0, len(packet), len(packet)) + packet)


def read_by_tshark(packets, *arguments, **options):
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "capture.pcap")
        write_capture(capture, packets)
        return tshark(capture, *arguments, **options)


def dissected(packets):
    """What tshark makes of packets: {field: value} of each, and the process with what it complained of."""
    done = read_by_tshark(packets, "-T", "json", "-J", "mrc", "--no-duplicate-keys")
    return [fields_of(packet["_source"]["layers"].get("mrc", {})) for packet in json.loads(done.stdout)], done


def fields_of(tree):
    """All fields of a tree, however deep."""
    found = {}
    for name, value in tree.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                found.update(fields_of(each))
            else:
                found[name] = each
    return found


def expected(keys):
    """The fields that the dissector has to show for a golden packet."""
    fields = {f"mrc.{key}": value for key, value in keys.items() if key not in NOT_MRC and not key.startswith("outer_")}
    if "syndrome" in keys:
        fields["mrc.completed"] = fields.pop("mrc.msn")
    return {name: int(value, 0) for name, value in fields.items()}


@unittest.skipUnless(shutil.which("tshark"), "tshark is not installed")
class dissector(unittest.TestCase):
    def test_every_field_of_every_golden_packet(self):
        golden = vectors("golden.txt")
        shown, done = dissected([bytes.fromhex(keys["bytes"]) for _, keys in golden])
        self.assertNotIn("Lua", done.stdout + done.stderr)
        self.assertEqual(len(shown), len(golden))
        for (name, keys), fields in zip(golden, shown):
            with self.subTest(name):
                self.assertEqual({key: int(fields[key], 0) for key in expected(keys)}, expected(keys))
                self.assertEqual(fields.get("mrc.payload", "").replace(":", ""), keys.get("payload", ""))
                self.assertEqual(int(fields["mrc.icrc"], 0), int(keys["icrc"], 0))
                self.assertEqual(fields["mrc.icrc_good"], "1")
                self.assertEqual("mrc.usids" in fields, "outer_dst" in keys)
                self.assertEqual("mrc.note.retransmission" in fields, keys["rtx"] == "1")

    def test_a_changed_byte_shows(self):
        name, keys = vectors("golden.txt")[0]
        packet = bytearray.fromhex(keys["bytes"])
        packet[-5] ^= 1  # of the payload
        (fields,), _ = dissected([bytes(packet)])
        self.assertEqual(fields["mrc.icrc_good"], "0", name)
        self.assertIn("mrc.note.bad_icrc", fields)

    def test_hostile_packets_raise_no_error(self):
        hostile = vectors("hostile.txt")
        shown, done = dissected([bytes.fromhex(keys["bytes"]) for _, keys in hostile])
        self.assertNotIn("Lua", done.stdout + done.stderr)
        seen = {note for fields in shown for note in fields if note.startswith("mrc.note.")}
        self.assertLessEqual({"mrc.note.short", "mrc.note.trimmed", "mrc.note.bad_icrc", "mrc.note.opcode"}, seen)

    def test_psns_over_time(self):
        golden = [keys for _, keys in vectors("golden.txt")]
        done = read_by_tshark([bytes.fromhex(keys["bytes"]) for keys in golden], "-q",
                              scripts=("mrc.lua", "mrc_psn.lua"))
        header, *lines = done.stdout.splitlines()
        self.assertEqual(header, "time,source,dqp,kind,psn,ev")
        kinds = {**{0xC6 + n: ("data", "again") for n in range(6)}, 0xDC: ("sack",) * 2, 0xDD: ("nack",) * 2,
                 0xDE: ("probe",) * 2}
        wanted = [f"{keys['src']},0x{int(keys['dqp'], 0):06x},{kinds[int(keys['opcode'], 0)][int(keys['rtx'])]},"
                  f"{int(keys['psn'], 0)},0x{int(keys['ev'], 0):x}"
                  for keys in golden if int(keys["opcode"], 0) in kinds]
        self.assertEqual([line.split(",", 1)[1] for line in lines], wanted)

    def test_an_ev_that_is_another_protocols_port(self):
        def between(source, destination, payload):
            name, keys = vectors("golden.txt")[0]
            self.assertNotIn("outer_dst", keys, name)
            head = bytearray.fromhex(keys["bytes"])[:IP_BYTES]
            struct.pack_into(">H", head, 4, UDP_BYTES + len(payload))
            return bytes(head) + struct.pack(">HHHH", source, destination, UDP_BYTES + len(payload), 0) + payload

        data = bytes.fromhex(vectors("golden.txt")[0][1]["bytes"])[IP_BYTES + UDP_BYTES:]
        query = bytes.fromhex("000101000001000000000000" "0161" "00" "00010001")  # for the address of "a"
        for port in (53, 123, 4789, 6343, 40000):
            (fields,), _ = dissected([between(port, 4791, data)])
            self.assertEqual(int(fields["mrc.ev"], 0) & 0xFFFF, port)
        for source, destination in ((40000, 53), (4791, 53), (53, 4791)):
            done = read_by_tshark([between(source, destination, query)], "-T", "fields", "-e", "dns.qry.name")
            self.assertEqual(done.stdout, "a\n", f"{source} to {destination}")

    def test_roce_goes_on_to_its_own_dissector(self):
        packet = bytearray.fromhex(vectors("golden.txt")[0][1]["bytes"])
        packet[48] = 0x0A  # RC WRITE Only
        (fields,), _ = dissected([bytes(packet)])
        self.assertEqual(fields, {})


# Loads the scripts where anything that Wireshark would have is anything, and 5.2's libraries are nothing; then the CRC.
IN_LATER_LUA = """
local anything, protocol = setmetatable({}, {}), {}
local meta = getmetatable(anything)
meta.__index = function() return anything end
meta.__call = meta.__index
setmetatable(protocol, meta)
local found = {bit = false, bit32 = false, Proto = function() return protocol end}
setmetatable(_G, {__index = function(_, name) if found[name] ~= nil then return found[name] end return anything end})
for _, script in ipairs(arg) do dofile(script) end

local function upvalue(of, wanted, seen)
    for n = 1, 255 do
        local name, value = debug.getupvalue(of, n)
        if name == wanted then return value end
        if not name then return nil end
        if type(value) == "function" and not seen[value] then
            seen[value] = true
            local inner = upvalue(value, wanted, seen)
            if inner then return inner end
        end
    end
end
local state = upvalue(rawget(protocol, "dissector"), "crc_over", {})(0xFFFFFFFF, "123456789")
print(string.format("%08x", state ~ 0xFFFFFFFF))
"""


@unittest.skipUnless(shutil.which("lua5.4"), "lua5.4 is not installed")
class lua_of_later_wiresharks(unittest.TestCase):
    def test_runs_the_scripts(self):
        done = subprocess.run(["lua5.4", "-", *map(str, sorted(SCRIPTS.glob("*.lua")))], input=IN_LATER_LUA,
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.stderr, done.stdout), ("", f"{zlib.crc32(b'123456789'):08x}\n"))


if __name__ == "__main__":
    unittest.main()
