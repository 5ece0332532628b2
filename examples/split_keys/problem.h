// SPDX-License-Identifier: Apache-2.0
//
// A call whose keys are to be divided: queries, keys and values, a plan, and the output of one whole call.
#ifndef FOVEA_EXAMPLES_SPLIT_KEYS_PROBLEM_H_
#define FOVEA_EXAMPLES_SPLIT_KEYS_PROBLEM_H_

#include <cstddef>
#include <cstdint>

#include "fovea/fovea.hpp"

namespace split_keys {

constexpr uint32_t kHeads = 8, kKeyHeads = 2, kQueries = 4, kKeys = 5000, kDim = 64;
constexpr double kTolerance = 1e-6;  // largest allowed difference from the whole call; values are up to 1

using State = fovea::StreamState<size_t{kHeads} * kQueries, kDim>;
using Workspace = fovea::AttentionWorkspace<kDim>;

// Fills queries, keys and values with random numbers, the same in each process, and makes the plan.
fovea::Status make_problem(fovea::AttentionPlan* plan);

// Begins a stream at key `first` and pushes the keys [first, end).
fovea::Status attend_to_part(const fovea::AttentionPlan& plan, uint32_t first, uint32_t end, State* state,
                             Workspace* workspace, fovea::Stream* stream);

// Worker `index` of `count` takes the keys [part_begin(index, count), part_begin(index + 1, count)).
uint32_t part_begin(uint32_t index, uint32_t count);

// Ends the stream, and prints the difference of its output from one call over all keys. False if it is too large.
bool compare_with_whole_call(const fovea::AttentionPlan& plan, const fovea::Stream& stream, const char* what);

// False, after a message, if the status is an error.
bool works(fovea::Status status);

}  // namespace split_keys

#endif  // FOVEA_EXAMPLES_SPLIT_KEYS_PROBLEM_H_
