-- SPDX-License-Identifier: Apache-2.0
--
-- PSNs over time, as lines of comma-separated values for a plot: when which packet of a queue pair went by, on which
-- EV, and up to where the receiver had everything. Beside mrc.lua:
--
--   tshark -q -X lua_script:scripts/wireshark/mrc.lua -X lua_script:scripts/wireshark/mrc_psn.lua -r CAPTURE
--
-- time            seconds since the capture began
-- source, dqp     sender's address, and the queue pair at the other end; a SACK's and a NACK's go the other way
-- kind            data, again (sent again), sack, nack, probe
-- psn             of data; up to where all has arrived (sack); what was refused (nack)
-- ev              of the packet itself

local KINDS = {[0xDC] = "sack", [0xDD] = "nack", [0xDE] = "probe"}
local FIRST_DATA, LAST_DATA = 0xC6, 0xCB

local opcode, again = Field.new("mrc.opcode"), Field.new("mrc.rtx")
local psn, dqp, ev = Field.new("mrc.psn"), Field.new("mrc.dqp"), Field.new("mrc.ev")

local function kind_of(code)
    if code >= FIRST_DATA and code <= LAST_DATA then
        return tonumber(again().value) == 1 and "again" or "data"
    end
    return KINDS[code]
end

local lines = {}
local tap = Listener.new("frame") -- a filter could not name fields of scripts

function tap.packet(pinfo)
    local code = opcode()
    local kind = code and kind_of(code.value)
    if kind then
        lines[#lines + 1] = string.format("%.9f,%s,0x%06x,%s,%u,0x%x", pinfo.rel_ts, tostring(pinfo.src), dqp().value,
                                          kind, psn().value, ev().value)
    end
end

function tap.draw()
    print("time,source,dqp,kind,psn,ev")
    for _, line in ipairs(lines) do
        print(line)
    end
end

function tap.reset()
    lines = {}
end
