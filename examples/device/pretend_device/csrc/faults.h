// Mistakes of a device, made on purpose: PRETEND_FAULT names one, and the suite has to notice it.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <vector>

namespace pretend {

bool fault(const char* name);

// Run an operator in the way of the chosen fault; false where that has none of its own.
bool spoiled(const c10::OperatorHandle& op, std::vector<c10::IValue>* stack);

} // namespace pretend
