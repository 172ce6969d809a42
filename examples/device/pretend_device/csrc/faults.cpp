// no_sync              a stream does not wait for the event that another has recorded
// view_copies          a view is a copy
// no_bump              what is written in place keeps its version
// tie                  amax sends its gradient to the first of equal maxima
// gradient_on_host     a gradient is left on the host
// torch_fallback       the fallback copies arguments and results, and loses what they share
// clamped_index        an index outside of a tensor is taken for its last one
// hang, abort          a kernel does not end; a kernel ends the process
#include "faults.h"

#include <ATen/ATen.h>
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

namespace pretend {
namespace {

// The kernel that hangs or aborts.
constexpr const char* kDeadly = "aten::cumsum";

void clamp_index(const c10::OperatorHandle& op, std::vector<c10::IValue>* stack) {
  const auto begin = stack->size() - op.schema().arguments().size();
  const auto self = (*stack)[begin].toTensor();
  auto& index = (*stack)[begin + 2];
  if (self.dim() != 0) {
    index = index.toTensor().clamp(0, self.size((*stack)[begin + 1].toInt()) - 1);
  }
}

at::Tensor amax(const at::Tensor& self, at::IntArrayRef dims, bool keepdim) {
  auto found = self;
  std::vector<int64_t> reduced(dims.begin(), dims.end());
  if (reduced.empty()) {
    for (int64_t dim = 0; dim < self.dim(); ++dim) {
      reduced.push_back(dim);
    }
  }
  for (const auto dim : reduced) {
    found = std::get<0>(at::max(found, dim, /*keepdim=*/true));
  }
  return keepdim ? found : found.squeeze(reduced);
}

// The name of the fault is read before the operators are registered: those of this file may depend on it.
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, library) {
  if (fault("tie")) {
    library.impl("amax", amax);
  }
}

} // namespace

bool fault(const char* name) {
  static const std::string chosen = [] {
    const char* value = std::getenv("PRETEND_FAULT");
    return std::string(value ? value : "");
  }();
  return chosen == name;
}

bool spoiled(const c10::OperatorHandle& op, std::vector<c10::IValue>* stack) {
  const auto& name = op.schema().name();
  if (fault("torch_fallback")) {
    at::native::cpu_fallback(op, stack);
    return true;
  }
  if (name == kDeadly && fault("abort")) {
    std::abort();
  }
  while (name == kDeadly && fault("hang")) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  if ((name == "aten::index_select" || name == "aten::gather") && fault("clamped_index")) {
    clamp_index(op, stack);
  }
  return false;
}

} // namespace pretend
