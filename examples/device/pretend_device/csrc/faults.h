// Mistakes of a device that are made on purpose: PRETEND_FAULT names one, and the suite has to notice it.
#pragma once

#include <cstdlib>
#include <string>

namespace pretend {

inline bool fault(const char* name) {
  static const std::string chosen = [] {
    const char* value = std::getenv("PRETEND_FAULT");
    return std::string(value ? value : "");
  }();
  return chosen == name;
}

} // namespace pretend
