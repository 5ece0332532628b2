// SPDX-License-Identifier: Apache-2.0
//
// As main.cc, with processes: mpiexec -n 4 split_keys_mpi. Each process attends to its part of the keys; MPI_Reduce
// merges the states by merge_images on their images, whose format is the same on every machine.
// Exit code of the process of rank 0: 0, or 1 when the result is wrong or a call fails.
#include <mpi.h>

#include <cstdio>

#include "examples/split_keys/problem.h"

namespace split_keys {
namespace {

using Bytes = fovea::Span<std::byte>;

fovea::AttentionPlan plan;
State state, left, right;
Workspace workspace;
std::byte image[sizeof(State)], reduced[sizeof(State)];

// into[i] = from[i] merged with into[i], all of them images.
void merge_images(void* from, void* into, int* count, MPI_Datatype*) {
  fovea::Stream a, b;
  for (int i = 0; i < *count; ++i) {
    const Bytes from_image(static_cast<std::byte*>(from) + i * sizeof(State), sizeof(State));
    const Bytes into_image(static_cast<std::byte*>(into) + i * sizeof(State), sizeof(State));
    if (!works(a.import_from(plan, left, from_image)) || !works(b.import_from(plan, right, into_image)) ||
        !works(b.merge(a)) || !works(b.export_to(into_image))) {
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

int run(int rank, int processes) {
  const uint32_t index = static_cast<uint32_t>(rank), count = static_cast<uint32_t>(processes);
  fovea::Stream stream;
  if (!works(make_problem(&plan)) ||
      !works(
          attend_to_part(plan, part_begin(index, count), part_begin(index + 1, count), &state, &workspace, &stream)) ||
      !works(stream.export_to(image))) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Datatype image_type;
  MPI_Op merge;
  MPI_Type_contiguous(static_cast<int>(sizeof(State)), MPI_BYTE, &image_type);
  MPI_Type_commit(&image_type);
  MPI_Op_create(merge_images, /*commute=*/1, &merge);
  MPI_Reduce(image, reduced, 1, image_type, merge, 0, MPI_COMM_WORLD);
  MPI_Op_free(&merge);
  MPI_Type_free(&image_type);
  if (rank != 0) return 0;

  char what[32];
  std::snprintf(what, sizeof what, "%2d processes", processes);
  return works(stream.import_from(plan, state, reduced)) && compare_with_whole_call(plan, stream, what) ? 0 : 1;
}

}  // namespace
}  // namespace split_keys

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, processes = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const int code = split_keys::run(rank, processes);
  MPI_Finalize();
  return code;
}
