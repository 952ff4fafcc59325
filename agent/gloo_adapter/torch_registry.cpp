// SPDX-License-Identifier: Apache-2.0
// PyTorch's choice by GLOO_DEVICE_TRANSPORT: its table of Gloo devices gets the name MRC.
//
// The table is in libtorch_cpu, which may be loaded before this library (ctypes, an import hook) or after it
// (LD_PRELOAD). Before: it is filled as soon as this library is there. After: PyTorch asks for its table by the
// function below, which stands in front of its own, and gets it filled.
#include <memory>
#include <string>
#include <string_view>

#include <c10/util/Registry.h>
#include <dlfcn.h>
#include <gloo/transport/device.h>
#include <link.h>

#include "gloo_adapter/create_device.h"

namespace
{

using device_registry = c10::Registry<std::string, std::shared_ptr<gloo::transport::Device>, const std::string &,
                                      const std::string &>; // by interface and host name, of which MRC needs neither
using registry_function = device_registry *(*)();

constexpr const char *symbol = "_ZN4c10d18GlooDeviceRegistryB5cxx11Ev";
constexpr const char *transport = "MRC";

// Null: libtorch_cpu is not loaded, whatever its version.
device_registry *torch_registry()
{
    std::string path;
    ::dl_iterate_phdr(
        [](dl_phdr_info *loaded, std::size_t, void *into) {
            const std::string_view name{loaded->dlpi_name};
            if (name.find("/libtorch_cpu.so") == std::string_view::npos)
                return 0;
            *static_cast<std::string *>(into) = name;
            return 1;
        },
        &path);
    void *library = path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    void *found = library == nullptr ? nullptr : ::dlsym(library, symbol);
    return found == nullptr ? nullptr : reinterpret_cast<registry_function>(found)();
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
