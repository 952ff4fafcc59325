// SPDX-License-Identifier: Apache-2.0
// What libfabric looks up in libmrc-fi.so.
#include <rdma/fabric.h>
#include <rdma/providers/fi_prov.h>

#include "fi_provider/info.h"

extern "C" __attribute__((visibility("default"))) fi_provider *fi_prov_ini()
{
    fi_provider &made = mrc::fi_provider::provider();
    fi_param_define(&made, "iface", FI_PARAM_STRING,
                    "Interface whose address endpoints have for connecting by TCP (default: the first that is no "
                    "docker, lo or virbr)");
    return &made;
}
