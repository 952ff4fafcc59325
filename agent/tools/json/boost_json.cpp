// SPDX-License-Identifier: Apache-2.0
// The code of Boost.JSON, whose headers all tools include: compiled here, once for all of them.
#include <boost/json/src.hpp>
