// SPDX-License-Identifier: Apache-2.0
//
// The backend as ggml sees it: one device, in addition to the processor's own, whose tensors are in the processor's memory.
#include <cstdio>
#include <cstring>
#include <new>

#include "context.h"
#include "ggml-backend-impl.h"

namespace fovea_ggml {
namespace {

const Operator* const kOperators[] = {&kMultiply, &kMultiplyExperts, &kAttend, &kDelta, &kGate, &kNormalize};

const Operator* operator_of(const ggml_tensor* node) {
  for (const Operator* one : kOperators) {
    if (one->op == node->op) return one;
  }
  return nullptr;
}

// ---- The backend.

Context& context_of(ggml_backend_t backend) { return *static_cast<Context*>(backend->context); }

ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph) {
  for (int i = 0; i < ggml_graph_n_nodes(graph); ++i) {
    ggml_tensor* const node = ggml_graph_node(graph, i);
    const Operator* const one = operator_of(node);
    const bool wanted = one && !ggml_is_empty(node) && (node->flags & GGML_TENSOR_FLAG_COMPUTE);
    if (wanted && !one->compute(context_of(backend), node)) return GGML_STATUS_FAILED;
  }
  return GGML_STATUS_SUCCESS;
}

void set_threads(ggml_backend_t backend, int threads) { context_of(backend).set_threads(threads); }

ggml_backend_t make_backend(ggml_backend_dev_t device, const char*) {
  static ggml_guid guid = {0x66, 0x6f, 0x76, 0x65, 0x61, 0x2d, 0x67, 0x67,
                           0x6d, 0x6c, 0x9a, 0x1c, 0x5d, 0x3e, 0x70, 0x42};
  ggml_backend_i interface = {};
  interface.get_name = [](ggml_backend_t) { return "fovea"; };
  interface.free = [](ggml_backend_t backend) {
    delete &context_of(backend);
    delete backend;
  };
  interface.graph_compute = compute;
  Context* const context = new (std::nothrow) Context;
  return context ? new (std::nothrow) ggml_backend{&guid, interface, device, context} : nullptr;
}

// ---- Buffers: the processor's own memory, under a name of ours. ggml would otherwise put weights whose kernels it has
// into buffers that rearrange them, and no other backend then sees their rows.

ggml_backend_buffer_type_t buffer_type();

ggml_backend_buffer_t as_ours(ggml_backend_buffer_t buffer) {
  if (buffer) buffer->buft = buffer_type();
  return buffer;
}

// ---- The device.

bool supports(ggml_backend_dev_t, const ggml_tensor* node) {
  if (node->op == GGML_OP_NONE || node->op == GGML_OP_RESHAPE || node->op == GGML_OP_VIEW ||
      node->op == GGML_OP_PERMUTE || node->op == GGML_OP_TRANSPOSE) {
    return true;
  }
  const auto fits = [](const ggml_tensor* t) {  // the library counts in 32 bits
    for (const int64_t count : t->ne) {
      if (count < 1 || count > INT32_MAX) return false;
    }
    return true;
  };
  for (const ggml_tensor* source : node->src) {
    if (source && !fits(source)) return false;
  }
  const Operator* const one = operator_of(node);
  return one && fits(node) && one->takes(node);
}

ggml_backend_dev_t device();

ggml_backend_reg_t registration() {
  static ggml_backend_reg made = [] {
    ggml_backend_reg_i interface = {};
    interface.get_name = [](ggml_backend_reg_t) { return "fovea"; };
    interface.get_device_count = [](ggml_backend_reg_t) { return size_t{1}; };
    interface.get_device = [](ggml_backend_reg_t, size_t) { return device(); };
    interface.get_proc_address = [](ggml_backend_reg_t, const char* name) {
      return std::strcmp(name, "ggml_backend_set_n_threads") == 0 ? reinterpret_cast<void*>(set_threads) : nullptr;
    };
    return ggml_backend_reg{GGML_BACKEND_API_VERSION, interface, nullptr};
  }();
  return &made;
}

ggml_backend_dev_t device() {
  static ggml_backend_device made = [] {
    ggml_backend_device_i interface = {};
    interface.get_name = [](ggml_backend_dev_t) { return "fovea"; };
    interface.get_description = [](ggml_backend_dev_t) { return "fovea: attention and products on the processor"; };
    interface.get_memory = [](ggml_backend_dev_t, size_t* free, size_t* total) { *free = *total = 0; };
    interface.get_type = [](ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_ACCEL; };
    interface.get_props = [](ggml_backend_dev_t of, ggml_backend_dev_props* props) {
      *props = {};
      props->name = of->iface.get_name(of);
      props->description = of->iface.get_description(of);
      props->type = GGML_BACKEND_DEVICE_TYPE_ACCEL;
      props->caps.buffer_from_host_ptr = true;
    };
    interface.init_backend = make_backend;
    interface.get_buffer_type = [](ggml_backend_dev_t) { return buffer_type(); };
    interface.buffer_from_host_ptr = [](ggml_backend_dev_t, void* data, size_t bytes, size_t) {
      return as_ours(ggml_backend_cpu_buffer_from_ptr(data, bytes));
    };
    interface.supports_op = supports;
    interface.supports_buft = [](ggml_backend_dev_t, ggml_backend_buffer_type_t type) {
      return ggml_backend_buft_is_host(type);
    };
    return ggml_backend_device{interface, registration(), nullptr};
  }();
  return &made;
}

ggml_backend_buffer_type_t buffer_type() {
  static ggml_backend_buffer_type made = [] {
    ggml_backend_buffer_type_i interface = {};
    interface.get_name = [](ggml_backend_buffer_type_t) { return "fovea"; };
    interface.alloc_buffer = [](ggml_backend_buffer_type_t, size_t bytes) {
      return as_ours(ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), bytes));
    };
    interface.get_alignment = [](ggml_backend_buffer_type_t) {
      return ggml_backend_buft_get_alignment(ggml_backend_cpu_buffer_type());
    };
    interface.is_host = [](ggml_backend_buffer_type_t) { return true; };
    return ggml_backend_buffer_type{interface, device(), nullptr};
  }();
  return &made;
}

// Whether the program's ggml has the structures and numbers that this file was compiled with.
bool is_same_ggml() {
  const char* const version = ggml_version();
  const size_t length = std::strlen(FOVEA_GGML_VERSION);
  bool same = std::strncmp(version, FOVEA_GGML_VERSION, length) == 0 && (!version[length] || version[length] == '-') &&
              std::strcmp(ggml_type_name(GGML_TYPE_Q6_K), "q6_K") == 0;
  for (const Operator* one : kOperators) same = same && std::strcmp(ggml_op_name(one->op), one->name) == 0;
  if (!same)
    std::fprintf(stderr, "fovea: for ggml " FOVEA_GGML_VERSION " alone, this is %s: it goes on without\n", version);
  return same;
}

}  // namespace

bool is_ours(ggml_backend_buffer* buffer) { return buffer && buffer->buft == buffer_type(); }

}  // namespace fovea_ggml

// ggml calls these two. A score of 0 means that the backend cannot be used.
extern "C" {
GGML_BACKEND_API int ggml_backend_score(void);
GGML_BACKEND_API ggml_backend_reg_t ggml_backend_init(void);
}
int ggml_backend_score(void) { return fovea_ggml::is_same_ggml() ? 1 : 0; }
ggml_backend_reg_t ggml_backend_init(void) { return fovea_ggml::registration(); }
