// Kernels of the CPU, run on the memory of the device: the operators that have none of their own.
//
// at::native::cpu_fallback copies every argument to the host and every result back. What it makes is right in
// its values; it does not see that two arguments share memory, and it loses what a result shares with one.
#include "window.h"
#include "device.h"
#include "faults.h"
#include "memory.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/ops/_efficientzerotensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>

namespace pretend {

namespace {

// New memory that a kernel asks for, of the device that it works on.
class WindowAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    return window_of(pretend::allocate(bytes, current_device()));
  }
  void copy_data(void* target, const void* source, std::size_t bytes) const override {
    default_copy_data(target, source, bytes);
  }
};

WindowAllocator allocator;

at::Tensor on_storage(const at::Tensor& like, const c10::Storage& storage, c10::DispatchKey key) {
  auto made = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(key), like.dtype());
  auto* impl = made.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  if (like.unsafeGetTensorImpl()->is_wrapped_number()) {
    impl->set_wrapped_number(true);
  }
  made._set_conj(like.is_conj());
  made._set_neg(like.is_neg());
  return made;
}

// The memory of the host that a kernel has made, all of it: more than one result may lie there, or less than
// it holds, and autograd looks at its size.
c10::Storage copy_of(const c10::Storage& made, c10::Device device) {
  const auto bytes = static_cast<int64_t>(made.nbytes());
  const auto on_device = at::empty({bytes}, at::TensorOptions(c10::kByte).device(device));
  on_device.copy_(at::from_blob(const_cast<void*>(made.data()), {bytes}, c10::kByte));
  return on_device.storage();
}

// How often a kernel has written a tensor through other operators, as it may outside of autograd.
int64_t version_of(const at::Tensor& seen) {
  return seen.is_inference() ? 0 : seen._version();
}

} // namespace

at::Tensor Window::operator()(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_privateuseone()) {
    return tensor;
  }
  if (tensor._is_zerotensor()) {
    return at::_efficientzerotensor(tensor.sizes(), tensor.options().device(c10::kCPU));
  }
  for (const auto& [known, seen] : tensors_) {
    if (known.is_same(tensor)) {
      return seen;
    }
  }
  tensors_.emplace_back(tensor, on_storage(tensor, storage_of(tensor.storage()), c10::DispatchKey::CPU));
  return tensors_.back().second;
}

c10::Storage Window::storage_of(const c10::Storage& storage) {
  for (const auto& [known, seen] : storages_) {
    if (known.is_alias_of(storage)) {
      return seen;
    }
  }
  c10::Storage seen(
      c10::Storage::use_byte_size_t(), storage.nbytes(), window_of(storage.data_ptr()), &allocator, true);
  storages_.emplace_back(storage, seen);
  return seen;
}

at::Tensor Window::back(const at::Tensor& seen, c10::Device device) {
  if (!seen.defined()) {
    return seen;
  }
  if (seen._is_zerotensor()) {
    return at::_efficientzerotensor(seen.sizes(), seen.options().device(device));
  }
  for (const auto& [known, in_window] : storages_) {
    if (in_window.is_alias_of(seen.storage())) {
      return on_storage(seen, known, c10::DispatchKey::PrivateUse1);
    }
  }
  storages_.emplace_back(copy_of(seen.storage(), device), seen.storage());
  auto made = on_storage(seen, storages_.back().first, c10::DispatchKey::PrivateUse1);
  if (!made.is_inference()) {
    made.unsafeGetTensorImpl()->set_version_counter(c10::VariableVersion(version_of(seen)));
  }
  return made;
}

void Window::settle(const at::Tensor& seen, const at::Tensor& tensor) {
  for (const auto& [known, in_window] : storages_) {
    if (in_window.is_alias_of(seen.storage()) && in_window.nbytes() != known.nbytes()) {
      known.set_data_ptr_noswap(device_memory_of(in_window.data_ptr()));
      known.set_nbytes(in_window.nbytes());
    }
  }
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(seen.sizes(), seen.strides(), seen.storage_offset());
  for (int64_t i = 0; i < version_of(seen); ++i) {
    tensor.unsafeGetTensorImpl()->bump_version();
  }
}

namespace {

// The device of the tensors of a call, which have to agree: a number of the host may take part.
class CommonDevice {
 public:
  void add(const at::Tensor& tensor, const c10::OperatorHandle& op, const std::string& argument) {
    if (!tensor.defined() || (tensor.is_cpu() && tensor.dim() == 0)) {
      return;
    }
    c10::impl::check_and_update_common_device(
        device_, tensor, op.schema().name().c_str(), argument.c_str());
  }

  c10::Device get() const {
    return device_.value_or(c10::Device(c10::kPrivateUse1, current_device()));
  }

 private:
  std::optional<c10::Device> device_;
};

// One call of an operator: its arguments on the device, and in the window.
class Call {
 public:
  Call(const c10::OperatorHandle& op, std::vector<c10::IValue>* stack) : op_(op), stack_(stack) {
    const auto count = op.schema().arguments().size();
    arguments_.assign(stack->end() - count, stack->end());
    for (size_t i = 0; i < count; ++i) {
      check_device(i);
    }
  }

  void run() {
    synchronize_current(device_.get().index());
    const auto begin = stack_->size() - arguments_.size();
    for (size_t i = 0; i < arguments_.size(); ++i) {
      (*stack_)[begin + i] = entering(arguments_[i], op_.schema().arguments()[i]);
    }
    const std::vector<c10::IValue> entered(stack_->begin() + begin, stack_->end());
    try {
      op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack_);
    } catch (...) {
      settle(entered); // what it had done before it failed
      throw;
    }
    settle(entered);
    for (size_t i = 0; i < op_.schema().returns().size(); ++i) {
      auto& value = (*stack_)[begin + i];
      value = leaving(value, op_.schema().returns()[i]);
    }
  }

 private:
  // Indices of the host are taken for tensors of the device.
  void check_device(size_t i) {
    const auto& name = op_.schema().arguments()[i].name();
    const auto& value = arguments_[i];
    if (value.isTensor()) {
      device_.add(value.toTensor(), op_, name);
    } else if (value.isTensorList()) {
      for (const auto& one : value.toTensorVector()) {
        device_.add(one, op_, name);
      }
    }
  }

  c10::IValue entering(const c10::IValue& value, const c10::Argument& argument) {
    if (value.isTensor()) {
      return window_(value.toTensor());
    }
    if (value.isTensorList()) {
      c10::List<at::Tensor> seen;
      for (const auto& one : value.toTensorVector()) {
        seen.push_back(window_(one));
      }
      return seen;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> seen;
      for (const auto& one : value.toOptionalTensorVector()) {
        seen.push_back(one.has_value() ? std::optional<at::Tensor>(window_(*one)) : std::nullopt);
      }
      return seen;
    }
    if (value.isDevice()) {
      return c10::Device(c10::kCPU);
    }
    if (value.isGenerator()) {
      return drawing(value.toGenerator());
    }
    if (value.isNone() && argument.type()->str() == "Generator?") {
      return drawing(default_generator(device_.get().index()));
    }
    return value;
  }

  // After the call, for the arguments that it has written.
  void settle(const std::vector<c10::IValue>& entered) {
    for (size_t i = 0; i < entered.size(); ++i) {
      const auto* alias = op_.schema().arguments()[i].alias_info();
      if (alias == nullptr || !alias->isWrite()) {
        continue;
      }
      if (entered[i].isTensor()) {
        settle(entered[i].toTensor(), arguments_[i].toTensor());
      } else if (entered[i].isTensorList()) {
        const auto seen = entered[i].toTensorVector(), written = arguments_[i].toTensorVector();
        for (size_t j = 0; j < seen.size(); ++j) {
          settle(seen[j], written[j]);
        }
      }
    }
  }

  void settle(const at::Tensor& seen, const at::Tensor& written) {
    if (written.defined() && written.is_privateuseone() && !is_settled(seen)) {
      window_.settle(seen, written);
      if (fault("no_bump") && !written.is_inference()) {
        // What has saved the tensor looks at the counter that it had.
        written.unsafeGetTensorImpl()->set_version_counter(c10::VariableVersion(written._version() - 1));
      }
      written_.emplace_back(seen, written);
    }
  }

  // One that is given twice is written once.
  bool is_settled(const at::Tensor& seen) const {
    return std::any_of(
        written_.begin(), written_.end(), [&](const auto& pair) { return pair.first.is_same(seen); });
  }

  c10::IValue leaving(const c10::IValue& value, const c10::Argument& argument) {
    if (value.isTensor()) {
      return leaving(value.toTensor());
    }
    if (value.isTensorList()) {
      c10::List<at::Tensor> made;
      for (const auto& one : value.toTensorVector()) {
        made.push_back(leaving(one));
      }
      return made;
    }
    return value;
  }

  // A written argument that is returned is that argument.
  at::Tensor leaving(const at::Tensor& seen) {
    for (const auto& [in_window, written] : written_) {
      if (in_window.is_same(seen)) {
        return written;
      }
    }
    if (op_.schema().name() == "aten::tanh_backward" && fault("gradient_on_host")) {
      return seen;
    }
    return window_.back(seen, device_.get());
  }

  const c10::OperatorHandle& op_;
  std::vector<c10::IValue>* stack_;
  std::vector<c10::IValue> arguments_;
  CommonDevice device_;
  Window window_;
  std::vector<std::pair<at::Tensor, at::Tensor>> written_; // in the window, on the device
};

} // namespace

void run_on_cpu(const c10::OperatorHandle& op, std::vector<c10::IValue>* stack) {
  if (!spoiled(op, stack)) {
    Call(op, stack).run();
  }
}

} // namespace pretend
