// SPDX-License-Identifier: Apache-2.0
// Which of the faults that reports add up to are named, and since when. Hosts find the same fault some 100 ms one after
// the other, and find it gone so as well: what one host alone would be blamed for in between waits for the others.
//
// a fault                          is
// of a host to whom none reports   named at once: nobody else is there to be waited for
// that is new                      named when it has been found for `patience`
// that may be two things           named when it has been found for `unsure_patience`: others may tell yet
// that is new, beside a sure one   named when it has been found for `doubt`: until then the other one stays as it was
// of a switch, beside its link     named as any that is new: what fewer and fewer hosts find looks smaller, not larger
// that is gone                     taken back, unless another waits beside it
//
// Sans-IO, times as arguments.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <vector>

#include "protocol/types.h"
#include "service/fabric_map/fault_merge.h"

namespace mrc::service
{

struct fault_change {
    fabric_fault fault; // state MRC_LINK_GOOD: it is gone
    protocol::instant at;
    bool is_renamed = false; // what is gone is known more exactly by another name
};

class fault_board
{
public:
    static constexpr protocol::duration patience = std::chrono::milliseconds{150};
    static constexpr protocol::duration unsure_patience = std::chrono::milliseconds{300};
    static constexpr protocol::duration doubt = std::chrono::milliseconds{1500};

    struct named_fault {
        fabric_fault fault;
        protocol::instant since;
    };

    // What is found now, as merge_reports() sorts it; `alone`: by this host only. What has changed in what is named.
    [[nodiscard]] std::vector<fault_change> take(std::span<const fabric_fault> found, bool alone,
                                                 protocol::instant now);
    [[nodiscard]] const std::map<fault_place, named_fault> &named() const { return named_; }
    // Something was found, named or taken back lately: others' reports matter now.
    [[nodiscard]] bool is_alert(protocol::instant now) const { return !waiting_.empty() || now < calm_from_; }

private:
    static constexpr protocol::duration alert = std::chrono::seconds{3};

    [[nodiscard]] bool may_be_named(const fabric_fault &fault, bool alone, protocol::instant now) const;
    void name(const fabric_fault &fault, protocol::instant now, std::vector<fault_change> &changes);
    void take_back(std::span<const fabric_fault> found, protocol::instant now, std::vector<fault_change> &changes);

    std::map<fault_place, named_fault> named_;
    std::map<fault_place, protocol::instant> waiting_; // found since
    protocol::instant calm_from_ = protocol::instant::min();
};

} // namespace mrc::service
