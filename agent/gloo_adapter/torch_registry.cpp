// SPDX-License-Identifier: Apache-2.0
// PyTorch's choice by GLOO_DEVICE_TRANSPORT: its table of Gloo devices gets the name MRC.
//
// The table is in libtorch_cpu, which may be loaded before this library (ctypes, an import hook) or after it
// (LD_PRELOAD). Before: it is filled as soon as this library is there. After: PyTorch asks for its table by the
// function below, which stands in front of its own, and gets it filled.
#include <memory>
#include <string>

#include <c10/util/Registry.h>
#include <dlfcn.h>
#include <gloo/transport/device.h>

#include "gloo_adapter/create_device.h"

namespace
{

using device_registry = c10::Registry<std::string, std::shared_ptr<gloo::transport::Device>, const std::string &,
                                      const std::string &>; // by interface and host name, of which MRC needs neither
using registry_function = device_registry *(*)();

constexpr const char *symbol = "_ZN4c10d18GlooDeviceRegistryB5cxx11Ev";
constexpr const char *transport = "MRC";

// Null: libtorch_cpu is not loaded.
device_registry *torch_registry()
{
    for (const char *name : {"libtorch_cpu.so", "libtorch_cpu.so.1.13"}) {
        void *library = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
        if (library == nullptr)
            continue;
        if (void *found = ::dlsym(library, symbol); found != nullptr)
            return reinterpret_cast<registry_function>(found)();
    }
    return nullptr;
}

void fill(device_registry &registry)
{
    if (!registry.Has(transport))
        registry.Register(transport, [](const std::string & /*interface*/, const std::string & /*host*/) {
            return mrc::gloo_adapter::create_device();
        });
}

[[gnu::constructor]] void fill_at_once()
{
    if (device_registry *registry = torch_registry(); registry != nullptr)
        fill(*registry);
}

} // namespace

namespace c10d
{

// NOLINTNEXTLINE(readability-identifier-naming): PyTorch's name
[[gnu::visibility("default")]] device_registry *GlooDeviceRegistry()
{
    device_registry *registry = torch_registry();
    if (registry != nullptr)
        fill(*registry);
    return registry;
}

} // namespace c10d
