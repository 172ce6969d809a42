// Layers for which PyTorch calls another operator on an accelerator than on the CPU, one without a fallback.
#include "device.h"
#include "window.h"

#include <ATen/ATen.h>
#include <ATen/native/transformers/attention.h>
#include <torch/library.h>

namespace pretend {
namespace {

using at::Tensor;

Tensor convolution(
    const Tensor& input,
    const Tensor& weight,
    const std::optional<Tensor>& bias,
    c10::IntArrayRef stride,
    c10::IntArrayRef padding,
    c10::IntArrayRef dilation,
    bool transposed,
    c10::IntArrayRef output_padding,
    int64_t groups) {
  synchronize_current(input.device().index());
  Window window;
  const auto added = bias.has_value() ? std::optional<Tensor>(window(*bias)) : std::nullopt;
  const auto made = at::convolution(
      window(input), window(weight), added, stride, padding, dilation, transposed, output_padding, groups);
  return window.back(made, input.device());
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& weight,
    c10::IntArrayRef stride,
    c10::IntArrayRef padding,
    c10::IntArrayRef dilation,
    bool transposed,
    c10::IntArrayRef output_padding,
    int64_t groups,
    std::array<bool, 3> mask) {
  synchronize_current(input.device().index());
  Window window;
  const int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  const auto [of_input, of_weight, of_bias] = at::convolution_backward(
      window(grad), window(input), window(weight), c10::IntArrayRef(channels),
      stride, padding, dilation, transposed, output_padding, groups, mask);
  const auto device = input.device();
  return {window.back(of_input, device), window.back(of_weight, device), window.back(of_bias, device)};
}

// The new hidden state, the new cell state, and the gates for the backward.
std::tuple<Tensor, Tensor, Tensor> lstm_cell(
    const Tensor& input_gates,
    const Tensor& hidden_gates,
    const Tensor& cell,
    const std::optional<Tensor>& input_bias,
    const std::optional<Tensor>& hidden_bias) {
  auto sum = hidden_gates + input_gates;
  if (input_bias.has_value() && input_bias->defined()) {
    sum = (hidden_gates + *hidden_bias) + (input_gates + *input_bias);
  }
  const auto gates = sum.chunk(4, 1);
  const Tensor in = gates[0].sigmoid(), forget = gates[1].sigmoid(), made = gates[2].tanh(), out = gates[3].sigmoid();
  const auto next = forget * cell + in * made;
  return {out * next.tanh(), next, at::cat({in, forget, made, out}, 1)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(
    const std::optional<Tensor>& grad_hidden,
    const std::optional<Tensor>& grad_cell,
    const Tensor& cell,
    const Tensor& next,
    const Tensor& workspace,
    bool has_bias) {
  const bool of_hidden = grad_hidden.has_value() && grad_hidden->defined();
  const bool of_cell = grad_cell.has_value() && grad_cell->defined();
  if (!of_hidden && !of_cell) {
    return {};
  }
  const auto gates = workspace.chunk(4, 1);
  const auto &in = gates[0], &forget = gates[1], &made = gates[2], &out = gates[3];
  const auto shown = next.tanh();
  const auto hidden = of_hidden ? *grad_hidden : at::zeros_like(next);
  auto grad = hidden * out * (1 - shown * shown);
  if (of_cell) {
    grad = grad + *grad_cell;
  }
  const auto of_gates = at::cat(
      {grad * made * in * (1 - in), grad * cell * forget * (1 - forget), grad * in * (1 - made * made),
       hidden * shown * out * (1 - out)},
      1);
  return {of_gates, grad * forget, has_bias ? of_gates.sum(0) : Tensor()};
}

// The new hidden state, and for the backward the gates, the old state and what the reset gate has scaled.
std::tuple<Tensor, Tensor> gru_cell(
    const Tensor& input_gates,
    const Tensor& hidden_gates,
    const Tensor& hidden,
    const std::optional<Tensor>& input_bias,
    const std::optional<Tensor>& hidden_bias) {
  const bool biased = input_bias.has_value() && input_bias->defined();
  const auto of_input = (biased ? input_gates + *input_bias : input_gates).chunk(3, 1);
  const auto of_hidden = (biased ? hidden_gates + *hidden_bias : hidden_gates).chunk(3, 1);
  const Tensor reset = (of_hidden[0] + of_input[0]).sigmoid(), keep = (of_hidden[1] + of_input[1]).sigmoid();
  const Tensor made = (of_input[2] + of_hidden[2] * reset).tanh();
  return {(hidden - made) * keep + made, at::cat({reset, keep, made, hidden, of_hidden[2]}, 1)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(
    const Tensor& grad, const Tensor& workspace, bool has_bias) {
  const auto saved = workspace.chunk(5, 1);
  const auto &reset = saved[0], &keep = saved[1], &made = saved[2], &hidden = saved[3], &scaled = saved[4];
  const auto of_made = grad * (1 - keep) * (1 - made * made);
  const auto of_keep = grad * (hidden - made) * keep * (1 - keep);
  const auto of_reset = of_made * scaled * reset * (1 - reset);
  const auto of_input = at::cat({of_reset, of_keep, of_made}, 1);
  const auto of_hidden = at::cat({of_reset, of_keep, of_made * reset}, 1);
  return {of_input, of_hidden, grad * keep, has_bias ? of_input.sum(0) : Tensor(),
          has_bias ? of_hidden.sum(0) : Tensor()};
}

// The kernel that attention takes: PyTorch asks the device, which answers as the CPU would.
int64_t attention(
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const std::optional<Tensor>& mask,
    double dropout,
    bool causal,
    std::optional<double> scale,
    bool grouped) {
  Window window;
  const auto seen = [&](const Tensor& tensor) {
    // Not every kernel has a gradient for the mask.
    return window(tensor).requires_grad_(tensor.requires_grad());
  };
  const auto added = mask.has_value() ? std::optional<Tensor>(seen(*mask)) : std::nullopt;
  return at::_fused_sdp_choice(
      seen(query), seen(key), seen(value), added, dropout, causal, scale, grouped);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("convolution_overrideable", convolution);
  library.impl("convolution_backward_overrideable", convolution_backward);
  library.impl("_thnn_fused_lstm_cell", lstm_cell);
  library.impl("_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward);
  library.impl("_thnn_fused_gru_cell", gru_cell);
  library.impl("_thnn_fused_gru_cell_backward", gru_cell_backward);
}

} // namespace
} // namespace pretend

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &pretend::attention)
} // namespace at::native
