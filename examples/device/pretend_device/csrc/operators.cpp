// The operators: those that make and look at memory natively, the others on the CPU.
#include "device.h"
#include "faults.h"
#include "window.h"

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <algorithm>

namespace pretend {
namespace {

using at::Tensor;

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

// Queue work on tensors of the CPU: it runs below autograd, as every kernel does.
template <class Work>
void queue(c10::DeviceIndex device, Work work) {
  enqueue(device, [work] {
    at::AutoDispatchBelowADInplaceOrView guard;
    work();
  });
}

// ---------------------------------------------------------------------------------------- memory

void check_options(std::optional<c10::Layout> layout, std::optional<bool> pinned) {
  TORCH_CHECK(c10::layout_or_default(layout) == c10::kStrided, "pretend has strided tensors only");
  TORCH_CHECK(!c10::pinned_memory_or_default(pinned), "Only dense CPU tensors can be pinned");
}

Tensor empty(
    c10::IntArrayRef size,
    std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout,
    std::optional<c10::Device> device,
    std::optional<bool> pinned,
    std::optional<c10::MemoryFormat> format) {
  check_options(layout, pinned);
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return at::detail::empty_generic(
      size, c10::GetAllocator(c10::kPrivateUse1), kKeys, c10::dtype_or_default(dtype), format);
}

Tensor empty_strided(
    c10::IntArrayRef size,
    c10::IntArrayRef stride,
    std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout,
    std::optional<c10::Device> device,
    std::optional<bool> pinned) {
  check_options(layout, pinned);
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return at::detail::empty_strided_generic(
      size, stride, c10::GetAllocator(c10::kPrivateUse1), kKeys, c10::dtype_or_default(dtype));
}

// ATen's own functions for this grow a storage with a copy by the host.
void resize_to(const Tensor& self, c10::IntArrayRef size, at::OptionalIntArrayRef stride) {
  at::native::resize_impl_cpu_(self.unsafeGetTensorImpl(), size, stride, /*resize_storage=*/false);
  const auto bytes = at::detail::computeStorageNbytes(
      self.sizes(), self.strides(), self.dtype().itemsize(), self.storage_offset());
  if (self.numel() != 0 && bytes > self.storage().nbytes()) {
    at::native::resize_bytes_nocuda(self.storage(), bytes);
  }
}

const Tensor& resize_(const Tensor& self, c10::IntArrayRef size, std::optional<c10::MemoryFormat> format) {
  resize_to(self, size, std::nullopt);
  if (format.has_value()) {
    self.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  }
  return self;
}

Tensor& set_storage(
    Tensor& self, c10::Storage source, int64_t offset, c10::IntArrayRef size, c10::IntArrayRef stride) {
  at::native::checkSetStorage(self, source, offset, size, stride);
  self.unsafeGetTensorImpl()->set_storage_offset(offset);
  resize_to(self, size, stride.data() ? at::OptionalIntArrayRef(stride) : std::nullopt);
  return self;
}

// No argument: a tensor without elements, on memory of its own.
Tensor& set_nothing(Tensor& self) {
  const c10::DeviceGuard guard(self.device());
  return at::native::set_(
      self, c10::Storage(c10::Storage::use_byte_size_t(), 0, c10::GetAllocator(c10::kPrivateUse1), true));
}

Tensor view(const Tensor& self, c10::IntArrayRef size) {
  return at::native::view(fault("view_copies") ? self.clone() : self, size);
}

// ---------------------------------------------------------------------------------------- copies

// What is wrong with a copy has to be said when it is asked for: work that raises ends the process.
void check_copy(const Tensor& self, const Tensor& target) {
  at::TensorIteratorConfig()
      .add_output(target)
      .add_const_input(self)
      .resize_outputs(false)
      .check_all_same_dtype(false)
      .check_all_same_device(false)
      .build();
}

bool is_same_memory(const Tensor& self, const Tensor& target) {
  return self.is_alias_of(target) && self.dtype() == target.dtype() && self.sizes() == target.sizes() &&
      self.strides() == target.strides() && self.storage_offset() == target.storage_offset() &&
      self.is_conj() == target.is_conj() && self.is_neg() == target.is_neg();
}

Tensor copy_from(const Tensor& self, const Tensor& target, bool /*non_blocking*/) {
  if (is_same_memory(self, target)) {
    return target;
  }
  check_copy(self, target);
  if (target.numel() == 0) {
    return target;
  }
  if (self._is_zerotensor()) {
    return target.zero_();
  }
  if (self.is_complex() && !target.is_complex() && target.scalar_type() != c10::kBool) {
    TORCH_WARN_ONCE("Casting complex values to real discards the imaginary part");
  }
  const auto from = self.device(), to = target.device();
  if (from.is_cpu()) {
    // The host may go on and change the source before the copy has run.
    auto staged = self.clone();
    queue(to.index(), [staged, written = in_window(target)] { written.copy_(staged); });
  } else if (to.is_cpu()) {
    synchronize_current(from.index());
    target.copy_(in_window(self));
  } else if (from == to) {
    queue(to.index(), [read = in_window(self), written = in_window(target)] { written.copy_(read); });
  } else {
    synchronize_current(from.index());
    synchronize_current(to.index());
    in_window(target).copy_(in_window(self));
  }
  return target;
}

Tensor copy_from_and_resize(const Tensor& self, const Tensor& target) {
  resize_(target, self.sizes(), std::nullopt);
  return copy_from(self, target, false);
}

at::Scalar local_scalar_dense(const Tensor& self) {
  synchronize_current(self.device().index());
  return at::_local_scalar_dense(in_window(self));
}

Tensor& fill_(Tensor& self, const at::Scalar& value) {
  // Raises where the dtype cannot hold the value, which is not asked of a single element.
  at::empty({std::min<int64_t>(self.numel(), 2)}, self.options().device(c10::kCPU)).fill_(value);
  queue(self.device().index(), [written = in_window(self), value] { written.fill_(value); });
  return self;
}

Tensor& zero_(Tensor& self) {
  queue(self.device().index(), [written = in_window(self)] { written.zero_(); });
  return self;
}

// A tensor that is zero and has no memory.
Tensor zero_tensor(
    c10::IntArrayRef size,
    std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout,
    std::optional<c10::Device> device,
    std::optional<bool> pinned) {
  check_options(layout, pinned);
  const c10::DeviceGuard guard(c10::device_or_default(device));
  at::native::ZeroTensorAllocator allocator(c10::Device(c10::kPrivateUse1, current_device()));
  return at::detail::empty_generic(
      size, &allocator, kKeys.add(c10::DispatchKey::ZeroTensor), c10::dtype_or_default(dtype), std::nullopt);
}

// -------------------------------------------------------------------------------------- the rest

void on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  run_on_cpu(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("resize_", resize_);
  library.impl("set_.source_Storage", TORCH_FN(static_cast<Tensor& (*)(Tensor&, c10::Storage)>(at::native::set_)));
  library.impl("set_.source_Storage_storage_offset", set_storage);
  library.impl("set_", set_nothing);
  library.impl("set_.source_Tensor", TORCH_FN(at::native::set_tensor_));
  library.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  library.impl("view", view);
  library.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  library.impl("unfold", TORCH_FN(at::native::unfold));
  library.impl("view_as_real", TORCH_FN(at::native::view_as_real));
  library.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
  library.impl("conj_physical_", torch::CppFunction::makeFromBoxedFunction<&on_cpu>());
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("_local_scalar_dense", local_scalar_dense);
  library.impl("fill_.Scalar", fill_);
  library.impl("zero_", zero_);
  library.impl("_efficientzerotensor", zero_tensor);
}

// Copies read and write conjugates and negatives as they are; made real first, they would be copied first.
TORCH_LIBRARY_IMPL(aten, Conjugate, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&on_cpu>());
}

// The operators for which the CPU has a kernel of its own are called as they are. Without this PyTorch
// would compose many of them of others, whose nodes, warnings and checks are not those of the CPU.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findOp(name);
    if (name.name.rfind("aten::", 0) == 0 && op->hasKernelForDispatchKey(c10::DispatchKey::CPU) &&
        !op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) {
      const auto full = name.name + (name.overload_name.empty() ? "" : "." + name.overload_name);
      library.impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&on_cpu>());
    }
  }
}

// Autocast does nothing for operators that it has no rule for.
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFallthrough());
}

} // namespace
} // namespace pretend
