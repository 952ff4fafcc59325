-- SPDX-License-Identifier: Apache-2.0
--
-- MRC in Wireshark and tshark: headers of data and control packets, the EV, outer uSIDs, the ICRC, and notes on what
-- went wrong. Layouts and names are those of docs/protocol.md, section 1. For Wireshark 4.0 and newer, Lua 5.2 to 5.4.
--
--   wireshark -X lua_script:scripts/wireshark/mrc.lua CAPTURE
--   tshark -X lua_script:scripts/wireshark/mrc.lua -r CAPTURE -Y 'mrc.rtx == 1'
--
-- or copy it to the personal plug-in folder (Help, About, Folders). RoCEv2 shares port 4791: packets without MRC's
-- service bits go on to Wireshark's own dissector.

local mrc = Proto("mrc", "Multipath Reliable Connection")

mrc.prefs.check_icrc = Pref.bool("Verify the ICRC", true, "Compute the ICRC of packets that were captured whole")
mrc.prefs.block = Pref.string("SRv6 block", "fcbb:bb00", "Groups that outer addresses with uSIDs begin with")

local PORTS = {4791, 4971}
local BTH_BYTES, ICRC_BYTES = 12, 4

local OPCODES = {
    [0xC6] = "WRITE First", [0xC7] = "WRITE Middle", [0xC8] = "WRITE Last", [0xC9] = "WRITE Last with immediate",
    [0xCA] = "WRITE Only", [0xCB] = "WRITE Only with immediate", [0xD1] = "Transport ACK",
    [0xD8] = "Endpoint request", [0xD9] = "Endpoint response", [0xDC] = "SACK", [0xDD] = "NACK", [0xDE] = "Probe",
}
local WITH_IMMEDIATE = {[0xC9] = true, [0xCB] = true}
local NACK_REASONS = {
    [0x01] = "trimmed", [0x02] = "trimmed at the last hop", [0x06] = "no bitmap", [0x07] = "no packet buffer",
    [0x0A] = "no resource", [0x0B] = "PSN outside the window", [0x19] = "unexpected event",
}
local FEEDBACK = {[0] = "none", [1] = "skip once", [2] = "always skip"}
local OPERATIONS = {[0] = "port status update", [1] = "EV probe"}
local SYNDROMES = {
    [0x1F] = "ACK", [0x60] = "NAK: PSN sequence", [0x61] = "NAK: invalid request", [0x62] = "NAK: remote access",
    [0x63] = "NAK: remote operation",
}
local DSCP_TRIMMED = {[12] = "Trimmed on the way", [16] = "Trimmed at the last hop"}

local f = {}
local function field(kind, name, text, ...)
    f[name] = ProtoField[kind]("mrc." .. name, text, ...)
end

field("uint32", "ev", "Entropy value", base.HEX)
field("string", "usids", "uSIDs still to go")
field("uint8", "opcode", "Opcode", base.HEX, OPCODES)
field("uint8", "se", "Solicited event", base.DEC, nil, 0x40)
field("uint8", "pad", "Bytes of padding", base.DEC, nil, 0x30)
field("uint16", "p_key", "Partition key", base.HEX)
field("uint24", "dqp", "Destination queue pair", base.HEX)
field("uint8", "a", "Acknowledge request", base.DEC, nil, 0x80)
field("uint8", "rtx", "Sent again", base.DEC, nil, 0x20)
field("uint8", "ts", "Time stamp follows", base.DEC, nil, 0x10)
field("uint24", "psn", "PSN", base.HEX)
field("uint16", "id", "Endpoint operation", base.HEX)
field("uint16", "rqmsn", "Number of the message with immediate", base.HEX)
field("uint16", "msn", "Message number", base.HEX)
field("uint16", "tx_timestamp", "Time stamp (128 ns)", base.HEX)
field("uint16", "tsr", "Unit of the time stamp", base.DEC, nil, 0x8000)
field("uint16", "ftype", "Type of the time stamp", base.HEX, nil, 0x000F)
field("uint64", "va", "Address", base.HEX)
field("uint32", "r_key", "Remote key", base.HEX)
field("uint32", "dmalen", "Bytes of the whole message", base.DEC)
field("uint32", "imm", "Immediate", base.HEX)
field("uint16", "m", "Feedback on the EV", base.DEC, FEEDBACK, 0x0060)
field("uint16", "pr", "Answers a probe", base.DEC, nil, 0x0002)
field("int16", "ack_psn_offset", "Offset of the PSN that caused it", base.DEC)
field("uint24", "ack_psn", "PSN that caused it", base.HEX)
field("uint16", "probe_id", "Probe", base.HEX)
field("uint32", "entropy", "EV of the packet that caused it", base.HEX)
field("uint16", "spdcid", "Requester's queue pair, low 16 bits", base.HEX)
field("uint16", "dpdcid", "Responder's queue pair, low 16 bits", base.HEX)
field("uint24", "cack_psn", "All have arrived up to PSN", base.HEX)
field("uint8", "cc_type", "Type of congestion control", base.HEX, nil, 0xF0)
field("uint8", "cc_fl", "Its flags", base.HEX, nil, 0x0F)
field("uint8", "mpr", "Receive window (128 PSNs)", base.DEC)
field("int16", "sack_offset", "Offset of the bitmap", base.DEC)
field("uint64", "sack_bitmap", "Arrived beyond that", base.HEX)
field("uint16", "ooo_count", "PSNs beyond", base.DEC, nil, 0x7FFF)
field("uint8", "restore_cwnd", "The penalty's cuts are taken back", base.DEC, nil, 0x80)
field("uint8", "rcv_cwnd_pen", "Penalty of the receiver", base.DEC, nil, 0x7F)
field("uint24", "rcvd_bytes", "Bytes received (256)", base.HEX)
field("uint8", "nack_reason", "Reason", base.HEX, NACK_REASONS)
field("uint8", "vendor_info", "Vendor information", base.HEX)
field("uint24", "nack_psn", "PSN refused", base.HEX)
field("uint16", "op", "Operation", base.DEC, OPERATIONS)
field("uint32", "port_status_mask", "Ports that can be reached", base.HEX)
field("uint8", "syndrome", "Syndrome", base.HEX, SYNDROMES)
field("uint24", "completed", "Messages completed", base.HEX)
field("bytes", "payload", "Payload")
field("bytes", "padding", "Padding")
field("uint32", "icrc", "ICRC", base.HEX)
field("bool", "icrc_good", "ICRC is right")

local all_fields = {}
for _, each in pairs(f) do
    all_fields[#all_fields + 1] = each
end
mrc.fields = all_fields

local function note(name, text, group, severity)
    return ProtoExpert.new("mrc.note." .. name, text, group, severity)
end
local notes = {
    retransmission = note("retransmission", "Sent again", expert.group.SEQUENCE, expert.severity.NOTE),
    trimmed = note("trimmed", "Trimmed", expert.group.SEQUENCE, expert.severity.NOTE),
    nack = note("nack", "Refused", expert.group.SEQUENCE, expert.severity.NOTE),
    skip = note("skip", "The packet was marked: congestion on its path", expert.group.SEQUENCE, expert.severity.CHAT),
    penalty = note("penalty", "The receiver is overloaded", expert.group.SEQUENCE, expert.severity.NOTE),
    failure = note("failure", "The queue pair fails", expert.group.RESPONSE_CODE, expert.severity.ERROR),
    bad_icrc = note("bad_icrc", "ICRC is wrong", expert.group.CHECKSUM, expert.severity.ERROR),
    short = note("short", "Headers do not fit into the packet", expert.group.MALFORMED, expert.severity.ERROR),
    opcode = note("opcode", "Unknown opcode", expert.group.PROTOCOL, expert.severity.WARN),
    zero_ev = note("zero_ev", "EV 0 is never sent", expert.group.PROTOCOL, expert.severity.WARN),
}
mrc.experts = notes

-- Of the headers in front, the innermost of which counts.
local headers = {}
for _, name in ipairs({"ipv6.flow", "ipv6.src", "ipv6.dst", "ipv6.tclass.dscp", "ip.src", "ip.dst", "ip.len", "ip.id",
                       "ip.flags.df", "ip.dsfield.dscp", "udp.srcport", "udp.dstport", "udp.length"}) do
    headers[name] = Field.new(name)
end
local function every(name)
    return {headers[name]()}
end
local function innermost(name)
    local found = every(name)
    return found[#found]
end

-- ---- ICRC, docs/protocol.md section 1.12 ----

-- Of unsigned 32-bit numbers. Lua 5.2 has a library; later ones have operators instead, which 5.2 cannot read.
local bits = bit32 or load([[ -- luacheck: ignore
    return {
        band = function(a, b) return a & b end,
        bxor = function(a, b) return a ~ b end,
        rshift = function(a, n) return a >> n end,
    }
]])()
local CRC_AFTER_ONES = 0xDEBB20E3
local crc_steps

local function crc_table()
    if not crc_steps then
        crc_steps = {}
        for byte = 0, 255 do
            local value = byte
            for _ = 1, 8 do
                local carry = value % 2
                value = bits.rshift(value, 1)
                if carry == 1 then
                    value = bits.bxor(value, 0xEDB88320)
                end
            end
            crc_steps[byte] = value
        end
    end
    return crc_steps
end

local function crc_over(state, bytes)
    local steps = crc_table()
    for i = 1, #bytes do
        local index = bits.band(bits.bxor(state, bytes:byte(i)), 0xFF)
        state = bits.bxor(bits.rshift(state, 8), steps[index])
    end
    return state
end

local function big_endian16(value)
    return string.char(math.floor(value / 256) % 256, value % 256)
end

-- The IP and UDP headers with ones for what changes on the way.
local function masked_headers(is_ipv4)
    local udp = big_endian16(innermost("udp.srcport").value) .. big_endian16(innermost("udp.dstport").value) ..
                    big_endian16(innermost("udp.length").value) .. "\255\255"
    if is_ipv4 then
        local may_not_fragment = tostring(innermost("ip.flags.df").value) == "true" or innermost("ip.flags.df").value == 1
        return "\69\255" .. big_endian16(innermost("ip.len").value) .. big_endian16(innermost("ip.id").value) ..
                   (may_not_fragment and "\64\0" or "\0\0") .. "\255\17\255\255" .. innermost("ip.src").range:raw() ..
                   innermost("ip.dst").range:raw() .. udp
    end
    return "\111\255\255\255" .. big_endian16(innermost("udp.length").value) .. "\17\255" ..
               innermost("ipv6.src").range:raw() .. innermost("ipv6.dst").range:raw() .. udp
end

local function icrc_is_right(packet, is_ipv4)
    local length = packet:len()
    local state = crc_over(CRC_AFTER_ONES, masked_headers(is_ipv4))
    state = crc_over(state, packet(0, 4):raw() .. "\255" .. packet(5, length - 5 - ICRC_BYTES):raw())
    local sum = packet(length - ICRC_BYTES, ICRC_BYTES):le_uint()
    return bits.bxor(state, 0xFFFFFFFF) == sum
end

-- ---- headers ----

-- A position in the packet; a header that does not fit raises `short`.
local cursor = {}
cursor.__index = cursor

function cursor.new(packet, last)
    return setmetatable({packet = packet, at = 0, last = last}, cursor)
end

function cursor:header(tree, name, bytes)
    if self.at + bytes > self.last then
        error({short = name})
    end
    local range = self.packet(self.at, bytes)
    self.at = self.at + bytes
    return tree:add(mrc, range, name), range
end

local function add_time_stamp(tree, range)
    tree:add(f.tx_timestamp, range(0, 2))
    tree:add(f.tsr, range(2, 2))
    tree:add(f.ftype, range(2, 2))
end

local function add_peers(tree, range)
    tree:add(f.spdcid, range(0, 2))
    tree:add(f.dpdcid, range(2, 2))
end

local function add_psn(tree, which, base_psn, offset)
    tree:add(f[which], (base_psn + offset) % 0x1000000):set_generated()
end

local function data(at, tree, packet)
    local sub, range = at:header(tree, "METH", 4)
    sub:add(f.rqmsn, range(0, 2))
    sub:add(f.msn, range(2, 2))
    if packet.has_time_stamp then
        sub, range = at:header(tree, "TSETH", 4)
        add_time_stamp(sub, range)
    end
    if packet.trimmed then
        return ", message " .. packet.bytes(BTH_BYTES + 2, 2):uint()
    end
    sub, range = at:header(tree, "RETH", 16)
    sub:add(f.va, range(0, 8))
    sub:add(f.r_key, range(8, 4))
    sub:add(f.dmalen, range(12, 4))
    if WITH_IMMEDIATE[packet.opcode] then
        sub, range = at:header(tree, "ImmDt", 4)
        sub:add(f.imm, range)
    end
    local bytes = at.last - at.at - packet.padding
    if bytes < 0 then
        error({short = "padding"})
    end
    if bytes > 0 then
        tree:add(f.payload, packet.bytes(at.at, bytes))
    end
    if packet.padding > 0 then
        tree:add(f.padding, packet.bytes(at.at + bytes, packet.padding))
    end
    return string.format(", message %u, %u bytes", packet.bytes(BTH_BYTES + 2, 2):uint(), bytes)
end

local function sack(at, tree)
    local sub, range = at:header(tree, "SETH", 28)
    local flags, cack, offset = range(0, 2):uint(), range(13, 3):uint(), range(2, 2):int()
    sub:add(f.m, range(0, 2))
    sub:add(f.pr, range(0, 2))
    local answers_probe = bits.band(flags, 0x0002) ~= 0
    if answers_probe then
        sub:add(f.probe_id, range(2, 2))
    else
        sub:add(f.ack_psn_offset, range(2, 2))
        add_psn(sub, "ack_psn", cack, offset)
    end
    sub:add(f.entropy, range(4, 4))
    add_peers(sub, range(8, 4))
    sub:add(f.cack_psn, range(13, 3))
    sub:add(f.cc_type, range(16, 1))
    sub:add(f.cc_fl, range(16, 1))
    sub:add(f.mpr, range(17, 1))
    sub:add(f.sack_offset, range(18, 2))
    sub:add(f.sack_bitmap, range(20, 8))
    local feedback = bits.band(bits.rshift(flags, 5), 3)
    if feedback ~= 0 then
        sub:add_proto_expert_info(notes.skip, "Feedback: " .. (FEEDBACK[feedback] or "unknown"))
    end
    sub, range = at:header(tree, "CC_STATE", 8)
    sub:add(f.tx_timestamp, range(0, 2))
    sub:add(f.ooo_count, range(2, 2))
    sub:add(f.restore_cwnd, range(4, 1))
    sub:add(f.rcv_cwnd_pen, range(4, 1))
    sub:add(f.rcvd_bytes, range(5, 3))
    local penalty = range(4, 1):uint() % 128
    if penalty > 0 then
        sub:add_proto_expert_info(notes.penalty, string.format("The receiver is overloaded: penalty %u", penalty))
    end
    return string.format(", all up to %06x%s%s", cack, answers_probe and ", answers a probe" or "",
                         feedback ~= 0 and ", " .. (FEEDBACK[feedback] or "?") or "")
end

local function nack(at, tree)
    local sub, range = at:header(tree, "NETH", 20)
    local reason = range(2, 1):uint()
    sub:add(f.nack_reason, range(2, 1))
    sub:add(f.vendor_info, range(3, 1))
    sub:add(f.entropy, range(4, 4))
    add_peers(sub, range(8, 4))
    sub:add(f.nack_psn, range(13, 3))
    sub:add(f.cc_type, range(16, 1))
    sub:add(f.cc_fl, range(16, 1))
    sub:add(f.tx_timestamp, range(18, 2))
    local text = NACK_REASONS[reason] or string.format("reason %02x", reason)
    sub:add_proto_expert_info(reason == 0x19 and notes.failure or notes.nack,
                              string.format("PSN %06x refused: %s", range(13, 3):uint(), text))
    return string.format(", PSN %06x: %s", range(13, 3):uint(), text)
end

local function probe(at, tree)
    local sub, range = at:header(tree, "PETH", 16)
    sub:add(f.vendor_info, range(3, 1))
    sub:add(f.probe_id, range(4, 2))
    add_peers(sub, range(8, 4))
    add_time_stamp(sub, range(12, 4))
    return string.format(", id %04x", range(4, 2):uint())
end

local function endpoint_request(at, tree)
    local sub, range = at:header(tree, "ERTH", 16)
    local operation = range(0, 2):uint() % 4
    sub:add(f.op, range(0, 2), operation)
    sub:add(f.vendor_info, range(3, 1))
    sub:add(f.port_status_mask, range(4, 4))
    add_time_stamp(sub, range(12, 4))
    return ", " .. (OPERATIONS[operation] or "unknown operation")
end

local function endpoint_response(at, tree)
    local sub, range = at:header(tree, "EETH", 36)
    local operation = math.floor(range(0, 2):uint() / 4) % 4
    sub:add(f.op, range(0, 2), operation)
    sub:add(f.tx_timestamp, range(28, 2))
    return ", " .. (OPERATIONS[operation] or "unknown operation")
end

local function acknowledge(at, tree)
    local sub, range = at:header(tree, "AETH", 4)
    local syndrome = range(0, 1):uint()
    sub:add(f.syndrome, range(0, 1))
    sub:add(f.completed, range(1, 3))
    local text = SYNDROMES[syndrome] or string.format("syndrome %02x", syndrome)
    if bits.band(syndrome, 0xE0) == 0x60 then
        sub:add_proto_expert_info(notes.failure, text)
    end
    return string.format(", %s, %u messages", text, range(1, 3):uint())
end

local FOLLOWS = {
    [0xD1] = acknowledge, [0xD8] = endpoint_request, [0xD9] = endpoint_response, [0xDC] = sack, [0xDD] = nack,
    [0xDE] = probe,
}

local function add_bth(at, tree, packet)
    local sub, range = at:header(tree, "BTH", BTH_BYTES)
    sub:add(f.opcode, range(0, 1))
    sub:add(f.se, range(1, 1))
    sub:add(f.pad, range(1, 1))
    sub:add(f.p_key, range(2, 2))
    sub:add(f.dqp, range(5, 3))
    sub:add(f.a, range(8, 1))
    sub:add(f.rtx, range(8, 1))
    sub:add(f.ts, range(8, 1))
    sub:add(f.psn, range(9, 3))
    if packet.opcode == 0xD8 or packet.opcode == 0xD9 then
        sub:add(f.id, range(10, 2))
    end
    packet.padding = bits.band(bits.rshift(range(1, 1):uint(), 4), 3)
    packet.has_time_stamp = bits.band(range(8, 1):uint(), 0x10) ~= 0
    packet.psn = range(9, 3):uint()
    if bits.band(range(8, 1):uint(), 0x20) ~= 0 then
        sub:add_proto_expert_info(notes.retransmission)
        packet.again = true
    end
    return range(5, 3):uint()
end

-- ---- what stands in front ----

-- The uSIDs that an outer address still holds, if it is one of the block; nothing otherwise.
local function usids_of(address)
    local block = mrc.prefs.block:lower():gsub("[^0-9a-f:]", "")
    local bytes = ""
    for group in block:gsub("::.*", ""):gmatch("%x+") do
        bytes = bytes .. big_endian16(tonumber(group, 16) % 65536)
    end
    local raw = address.range:raw()
    if bytes == "" or raw:sub(1, #bytes) ~= bytes then
        return nil
    end
    local found = {}
    for at = #bytes + 1, 15, 2 do
        local usid = raw:byte(at) * 256 + raw:byte(at + 1)
        if usid == 0 then
            break
        end
        found[#found + 1] = string.format("%04x", usid)
    end
    return table.concat(found, " ")
end

local function add_front(tree, packet)
    local source_port = innermost("udp.srcport").value
    local ev = source_port
    if not packet.is_ipv4 then
        ev = innermost("ipv6.flow").value % 65536 * 65536 + source_port
    end
    local item = tree:add(f.ev, ev):set_generated()
    if ev == 0 then
        item:add_proto_expert_info(notes.zero_ev)
    end
    packet.ev = ev
    local outer = every("ipv6.dst")[1]
    local usids = outer and usids_of(outer)
    if usids then
        tree:add(f.usids, usids):set_generated()
    end
    local dscp = innermost(packet.is_ipv4 and "ip.dsfield.dscp" or "ipv6.tclass.dscp")
    local outermost = every("ipv6.tclass.dscp")[1] or dscp
    local trimmed = DSCP_TRIMMED[dscp.value] or DSCP_TRIMMED[outermost.value]
    if trimmed then
        tree:add_proto_expert_info(notes.trimmed, trimmed)
        packet.trimmed = true
    end
end

local function add_icrc(tree, packet)
    local bytes = packet.bytes
    local item = tree:add_le(f.icrc, bytes(bytes:len() - ICRC_BYTES, ICRC_BYTES))
    if not mrc.prefs.check_icrc or bytes:len() < bytes:reported_len() then
        return
    end
    local right = icrc_is_right(bytes, packet.is_ipv4)
    tree:add(f.icrc_good, right):set_generated()
    if not right then
        item:add_proto_expert_info(notes.bad_icrc)
    end
end

-- Wireshark's own by port, where there is one: of RoCEv2, and of what has lower ports.
local others = {}

local function dissect_others(bytes, pinfo, root)
    local low, high = pinfo.src_port, pinfo.dst_port
    if low > high then
        low, high = high, low
    end
    for _, port in ipairs({low, high}) do
        if others[port] then
            -- It fails on what is malformed, and has said so in the tree.
            local fine, taken = pcall(others[port].call, others[port], bytes, pinfo, root)
            if not fine or taken ~= 0 then
                return fine and taken or bytes:len()
            end
        end
    end
    return 0
end

local function is_mrc_port(port)
    for _, each in ipairs(PORTS) do
        if port == each then
            return true
        end
    end
    return false
end

function mrc.dissector(bytes, pinfo, root)
    local length = bytes:len()
    if not is_mrc_port(pinfo.dst_port) or length < 1 or bytes(0, 1):uint() < 0xC0 or bytes(0, 1):uint() > 0xDF then
        return dissect_others(bytes, pinfo, root)
    end
    pinfo.cols.protocol = "MRC"
    local tree = root:add(mrc, bytes())
    local v4, v6 = innermost("ip.dst"), innermost("ipv6.dst")
    local packet = {bytes = bytes, opcode = bytes(0, 1):uint(), padding = 0,
                    is_ipv4 = v4 ~= nil and (v6 == nil or v4.offset > v6.offset)}
    add_front(tree, packet)
    local whole = length == bytes:reported_len() and not packet.trimmed
    local name = OPCODES[packet.opcode] or string.format("opcode %02x", packet.opcode)
    local at = cursor.new(bytes, whole and length - ICRC_BYTES or length)
    local fine, text = pcall(function()
        local queue_pair = add_bth(at, tree, packet)
        local follows = FOLLOWS[packet.opcode] or OPCODES[packet.opcode] and data
        if not follows then
            tree:add_proto_expert_info(notes.opcode)
            return ""
        end
        return string.format(" QP %06x PSN %06x%s%s", queue_pair, packet.psn, follows(at, tree, packet),
                             packet.again and ", sent again" or "")
    end)
    if not fine then
        if type(text) ~= "table" then
            error(text)
        end
        if length == bytes:reported_len() then
            tree:add_proto_expert_info(notes.short, text.short .. " does not fit into the packet")
        end
        text = ", cut off at " .. text.short
    elseif whole then
        add_icrc(tree, packet)
    end
    pinfo.cols.info = string.format("%s%s%s, EV %x", packet.trimmed and "[trimmed] " or "", name, text, packet.ev)
    tree:append_text(", " .. name)
    return length
end

-- Wireshark asks whoever has the lower port first, and the source port is of the EV: any number, that of DNS, too. So
-- MRC is asked in the place of each that could come before it.
local ports = DissectorTable.get("udp.port")
for port = 1, math.max(table.unpack(PORTS)) do
    others[port] = ports:get_dissector(port)
    if others[port] or is_mrc_port(port) then
        ports:add(port, mrc)
    end
end
