// Tensors of the CPU on the memory of the device, for the kernels of this backend.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

namespace pretend {

// The tensors of one kernel, seen through the window: one that is given twice is one there, too, and two that
// share memory do.
class Window {
 public:
  // A tensor of the CPU on the same bytes; a tensor of the host, or an undefined one, as it is.
  at::Tensor operator()(const at::Tensor& tensor);
  // A tensor that a kernel made or got through this window, as one of the device.
  at::Tensor back(const at::Tensor& seen, c10::Device device);
  // Give a tensor the shape and the memory that a kernel gave it: one of `out=` is resized.
  void settle(const at::Tensor& seen, const at::Tensor& tensor);

 private:
  c10::Storage storage_of(const c10::Storage& storage);

  std::vector<std::pair<at::Tensor, at::Tensor>> tensors_; // of the device, in the window
  std::vector<std::pair<c10::Storage, c10::Storage>> storages_; // of the device, of the window
};

// One tensor on its own.
inline at::Tensor in_window(const at::Tensor& tensor) {
  return Window()(tensor);
}

// Wait for what is queued, then run a kernel of the CPU in the window, and put its results on the device.
void run_on_cpu(const c10::OperatorHandle& op, std::vector<c10::IValue>* stack);

} // namespace pretend
