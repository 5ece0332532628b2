// SPDX-License-Identifier: Apache-2.0
#include "context.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#if defined(_OPENMP)
#include <omp.h>
#else
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>
#endif

namespace fovea_ggml {
namespace {

// With OpenMP the threads are those that ggml's own operators run on: the program has one pool, and none waits while the
// other works. Without it threads live as long as a call: ggml's own wait busily for some time after each graph.
int run_tasks(void* self, size_t tasks, void (*task)(void* arg, size_t index, uint32_t worker), void* arg) {
  const uint32_t workers = static_cast<const fovea_executor*>(self)->workers;
#if defined(_OPENMP)  // always as many as in ggml's regions: libgomp ends threads that a smaller one leaves out
#pragma omp parallel for schedule(dynamic) num_threads(static_cast<int>(workers)) if (workers > 1)
  for (size_t i = 0; i < tasks; ++i) task(arg, i, static_cast<uint32_t>(omp_get_thread_num()));
#else
  std::atomic<size_t> next{0};
  const auto work = [&](uint32_t worker) {
    for (size_t i = next++; i < tasks; i = next++) task(arg, i, worker);
  };
  std::vector<std::thread> others;
  try {
    for (uint32_t worker = 1; worker < std::min<size_t>(workers, tasks); ++worker) others.emplace_back(work, worker);
  } catch (const std::system_error&) {
    // The system has no more threads: those that it has do all.
  }
  work(0);
  for (std::thread& other : others) other.join();
#endif
  return 0;
}

}  // namespace

Context::Context() { set_threads(GGML_DEFAULT_N_THREADS); }

Context::~Context() { std::free(memory_); }

void Context::set_threads(int threads) {
  executor_ = {run_tasks, &executor_, static_cast<uint32_t>(std::clamp(threads, 1, 4096))};
}

char* Context::memory(size_t bytes) {
  if (bytes >= bytes_) {
    std::free(memory_);
    bytes_ = (bytes + bytes / 4 + 4096) & ~size_t{4095};
    memory_ = static_cast<char*>(std::aligned_alloc(FOVEA_WORKSPACE_ALIGNMENT, bytes_));
    if (!memory_) bytes_ = 0;
  }
  return memory_;
}

int format_of(ggml_type type) {
  switch (type) {
    case GGML_TYPE_F32: return FOVEA_F32;
    case GGML_TYPE_F16: return FOVEA_F16;
    case GGML_TYPE_BF16: return FOVEA_BF16;
    case GGML_TYPE_Q8_0: return FOVEA_Q8_0;
    case GGML_TYPE_Q4_0: return FOVEA_Q4_0;
    case GGML_TYPE_Q4_1: return FOVEA_Q4_1;
    case GGML_TYPE_Q4_K: return FOVEA_Q4_K;
    case GGML_TYPE_Q6_K: return FOVEA_Q6_K;
    case GGML_TYPE_Q5_0: return FOVEA_Q5_0;
    case GGML_TYPE_Q5_1: return FOVEA_Q5_1;
    case GGML_TYPE_IQ4_NL: return FOVEA_IQ4_NL;
    case GGML_TYPE_MXFP4: return FOVEA_MXFP4;
    case GGML_TYPE_Q5_K: return FOVEA_Q5_K;
    case GGML_TYPE_IQ4_XS: return FOVEA_IQ4_XS;
    case GGML_TYPE_TQ2_0: return FOVEA_TQ2_0;
    case GGML_TYPE_Q3_K: return FOVEA_Q3_K;
    case GGML_TYPE_Q2_K: return FOVEA_Q2_K;
    default: return -1;
  }
}

bool has_rows(const ggml_tensor* tensor) {
  bool whole = tensor->nb[0] == ggml_type_size(tensor->type);
  for (int i = 1; i < GGML_MAX_DIMS; ++i) whole = whole && tensor->nb[i] % unit_of(tensor->type) == 0;
  return whole;
}

bool widens(const ggml_tensor* rows) {
  return rows->nb[0] == ggml_type_size(rows->type) &&
         (rows->type == GGML_TYPE_F32 || ggml_get_type_traits(rows->type)->to_float);
}

void widen(const ggml_tensor* rows, const void* row, float* out) {
  if (rows->type == GGML_TYPE_F32) {
    std::copy_n(static_cast<const float*>(row), rows->ne[0], out);
  } else {
    ggml_get_type_traits(rows->type)->to_float(row, out, rows->ne[0]);
  }
}

bool report(const ggml_tensor* node, fovea_status status) {
  if (status == FOVEA_OK) return true;
  std::fprintf(stderr, "fovea: %s, %s: %s\n", ggml_op_name(node->op), node->name, fovea_status_string(status));
  return false;
}

}  // namespace fovea_ggml
