// SPDX-License-Identifier: Apache-2.0
//
// The published digests: what each call of the self-test gives on all machines. A change that is meant to change bits sets
// them anew: tests/selftest_test.cc prints the new ones.
#ifndef FOVEA_SRC_SELFTEST_TABLE_H_
#define FOVEA_SRC_SELFTEST_TABLE_H_

#include <stdint.h>

namespace fovea {

// What decides a digest.
enum DigestsBy : uint8_t {
  kEverywhere,     // nothing: it is the same on all targets
  kByRounding,     // whether the target fuses multiply-adds
  kByPartialSums,  // this, and how many partial sums it has: 16, or fewer with one lane and on Helium
};
// The kinds of targets: an index into PublishedDigest::of.
enum DigestKind : uint8_t {
  kFusedDigest,
  kTwiceRoundedDigest,
  kOneLaneFusedDigest,
  kOneLaneDigest,
  kHeliumDigest,
  kDigestKinds
};

struct PublishedDigest {
  uint64_t of[kDigestKinds];
  DigestsBy by;
};
constexpr PublishedDigest everywhere(uint64_t digest) { return {{digest}, kEverywhere}; }
constexpr PublishedDigest by_rounding(uint64_t fused, uint64_t twice) { return {{fused, twice}, kByRounding}; }
constexpr PublishedDigest by_partial_sums(uint64_t fused, uint64_t twice, uint64_t one_lane_fused, uint64_t one_lane,
                                          uint64_t helium) {
  return {{fused, twice, one_lane_fused, one_lane, helium}, kByPartialSums};
}

}  // namespace fovea

// A list for each part. A row: the function of <part>_calls.cc, the call's name, its digests.
// clang-format off
#define FOVEA_SELFTEST_ATTENTION(row) \
  row(attention_plain, "attention: f32", by_rounding(0xdc230cf080fce214u, 0xa7c3dedc1e376a0fu)) \
  row(attention_lse, "attention: causal limit, window, pinned tokens, lse", by_rounding(0x985c3d68e289402bu, 0x0fc7d9ab351c04bau)) \
  row(attention_softcap, "attention: scale, softcap, sinks", by_rounding(0x9833c1b5abe8f8d8u, 0x2a12239e83ecbdd2u)) \
  row(attention_alibi, "attention: ALiBi", by_rounding(0x26bc0c818cadeb38u, 0xfae9905a6f995906u)) \
  row(attention_mask, "attention: mask of f32", by_rounding(0xef9307bd3b132d67u, 0x69d2415e5db046a9u)) \
  row(attention_mask_byte, "attention: mask of bytes", by_rounding(0x7e33d14f517c2d0cu, 0xc9624778e65593d5u)) \
  row(attention_scores, "attention: weights written out", by_rounding(0x4911f8c635d5911au, 0xc3bfd036c4f0b355u)) \
  row(attention_additive, "attention: additive scores", by_rounding(0x4b3e2c3f69135c9bu, 0x008982f858acbf69u)) \
  row(attention_dropout, "attention: dropout", by_rounding(0x40814a8f52cf5dbeu, 0x9f433f990ce11510u)) \
  row(attention_modifier, "attention: modifier of scores", by_rounding(0xf35e98db73dd8132u, 0x125d0fb325b1a2ddu)) \
  row(attention_block_map, "attention: block map", by_rounding(0xbb1028ac449913fcu, 0x53ed01db9f5d1bbeu)) \
  row(attention_key_splits, "attention: split keys", by_rounding(0x1512cd9a1d314040u, 0xd3f9ecc0a08a7fe3u)) \
  row(attention_i8, "attention: integer products", everywhere(0xad6a677a8b894fa8u)) \
  row(attention_i8_tensors, "attention: integer products of tensors of i8", everywhere(0xd0fdeb65d83c6de0u))

#define FOVEA_SELFTEST_SOURCES(row) \
  row(sources_f16, "sources: f16", by_rounding(0xd941b2ee654e0db8u, 0x6d5ce52ad87f364cu)) \
  row(sources_bf16, "sources: bf16", by_rounding(0x3ccd300f02a53bceu, 0xdbfacfce79d7a803u)) \
  row(sources_i8, "sources: i8", by_rounding(0xed47487c00e1d467u, 0xd3dea232bcb40f79u)) \
  row(sources_i4, "sources: i4", by_rounding(0x4349d5121b0e7afeu, 0x6157f74cffe29900u)) \
  row(sources_ggml, "sources: q8_0 and q4_0", by_rounding(0x87f310833f5ef74bu, 0xcdbe84530743d431u)) \
  row(sources_i4_products, "sources: integer products of i4 and q8_0", everywhere(0x3d54014dbc0c6406u)) \
  row(sources_ring, "sources: ring", by_rounding(0xcdd977d22438597bu, 0xe7360ddb16019deeu)) \
  row(sources_pages, "sources: pages", by_rounding(0x17b139b16d807fe4u, 0xd5934c1529b620a1u)) \
  row(sources_ragged, "sources: ragged entries", by_rounding(0xbde04f9156d10961u, 0x5b7ea4ab033441e8u)) \
  row(sources_loader, "sources: loader", by_rounding(0xd941b2ee654e0db8u, 0x6d5ce52ad87f364cu))

#define FOVEA_SELFTEST_STREAM(row) \
  row(stream_f32, "stream: f32", by_rounding(0xb594f40efb023e5au, 0x23fb640068dbdc76u)) \
  row(stream_i8, "stream: integer products", everywhere(0xdec53cb3d6dd9946u))

#define FOVEA_SELFTEST_CACHE(row) \
  row(cache_halves, "cache: f16 and bf16", everywhere(0xd67fc8cba182aea9u)) \
  row(cache_codes, "cache: i8 and i4", everywhere(0x96b493a7f91fe69cu)) \
  row(cache_ggml, "cache: q8_0 and q4_0", everywhere(0x7d5b49ebaddadd85u)) \
  row(cache_rope, "cache: turned keys of f32, values of i8", by_rounding(0x151d16f3327f202du, 0xf668db01c836ce81u))

#define FOVEA_SELFTEST_LINEAR(row) \
  row(linear_f32, "linear: f32", by_rounding(0x882e049576787ec0u, 0xa9f42ec1b7e2d7c2u)) \
  row(linear_q8_0, "linear: q8_0", by_rounding(0x6ae0226cf33bc22au, 0x9206a019da60e8c0u)) \
  row(linear_i8, "linear: integer products of i8", everywhere(0x635d8b456a34ae3fu)) \
  row(linear_i8_tensors, "linear: tensors of i8", everywhere(0x4861f5d402339eadu)) \
  row(linear_i4, "linear: integer products of i4", everywhere(0x7f7d8846dc9a6c75u)) \
  row(linear_q4_1, "linear: tensor of i8 by q4_1", everywhere(0xf4ac4c1ed4b035bbu))

#define FOVEA_SELFTEST_MULTIHEAD(row) \
  row(multihead_f16, "multihead: weights of f16", by_rounding(0x1922392ec1112f96u, 0xc16efed2e3f48ae1u)) \
  row(multihead_i8, "multihead: integer products", everywhere(0x06ca82c8fcf57014u))

#define FOVEA_SELFTEST_DELTA(row) \
  row(delta_gated, "delta: gated delta rule", by_rounding(0x0fb26070f07da09au, 0xb226c5a029c6ba2fu)) \
  row(delta_kimi, "delta: a decay for each element of a key", by_rounding(0xc77b630d6b6ac7c3u, 0x6773b3fa96747924u)) \
  row(delta_linear, "delta: linear attention", by_rounding(0xc8ef6a9a3fdf1793u, 0x0c4c68a8797da7fau))

#define FOVEA_SELFTEST_CONV1D(row) \
  row(conv1d_silu, "conv1d: four taps, SiLU", by_rounding(0x6687ba6031791addu, 0xf7d0c987e31cfa2cu))

#define FOVEA_SELFTEST_NORM(row) \
  row(norm_layer, "norm: layer normalisation", by_rounding(0x87fbc41fa59b69efu, 0xd420a106e5b2aba9u)) \
  row(norm_rms, "norm: root mean square of bf16", by_rounding(0x2390733a0ee2becau, 0x173d87e9307433a0u)) \
  row(norm_activations, "norm: SiLU, sigmoid, ReLU6, hard swish", by_rounding(0x1f86e45f55f0e890u, 0x92f44836e81f76c5u)) \
  row(norm_tanh, "norm: GELU, tanh", by_rounding(0xba60c3a650da6297u, 0x62e9683052c87af3u))

#define FOVEA_SELFTEST_ROPE(row) \
  row(rope_interleaved, "rope: interleaved", by_rounding(0x04e719a9cfea4018u, 0xdd9397a0e5438ce3u)) \
  row(rope_half_split, "rope: half split", by_rounding(0xcd23bcdd85ebf33au, 0x35990d13f6aebec9u))

#define FOVEA_SELFTEST_HADAMARD(row) \
  row(hadamard_rows, "hadamard: rows", everywhere(0x56654b1f949164e2u))

#define FOVEA_SELFTEST_SOFTMAX(row) \
  row(softmax_rows, "softmax: rows", by_partial_sums(0x8d6b89e3ad9322a6u, 0x6e8526fc56184770u, 0xaf9b3832a711e2a6u, 0x8cd578e4d39bb4b2u, 0xf841c4f24c71ca43u)) \
  row(softmax_columns, "softmax: columns", by_rounding(0x4449b16e4f626340u, 0x4c8bdb6caa2966a8u)) \
  row(softmax_log, "softmax: logarithm, of columns", by_rounding(0xd3b7597fc62d0b09u, 0xdb3aae4e5f21bffcu))

#define FOVEA_SELFTEST_TENSORS(row) \
  row(tensors_pairs, "tensors: sum and product", everywhere(0x0bdc8c1206fb5217u)) \
  row(tensors_pooling, "tensors: mean", everywhere(0x8a6cde3626031776u)) \
  row(tensors_embedding, "tensors: rows of i4, and the largest elements", everywhere(0xe9ece903b5bfdcd7u))

#define FOVEA_SELFTEST_HALVES(row) \
  row(halves_attention, "products of halves: attention", everywhere(0x97d829629dd2848eu)) \
  row(halves_attention_one, "products of halves: attention of one token", everywhere(0x3cc88ee0025c775eu)) \
  row(halves_linear, "products of halves: linear", everywhere(0xe200b69960ae614bu)) \
  row(halves_linear_one, "products of halves: linear, one token of f16", everywhere(0x8bc74bef1c15ad25u))

#define FOVEA_SELFTEST_INTEGER_ATTENTION(row) \
  row(integer_attention_many, "integer attention: some rows", everywhere(0xb0aeb0e4a7634f94u)) \
  row(integer_attention_one, "integer attention: one row", everywhere(0x61445b75351a4c93u))

#define FOVEA_SELFTEST_INTEGER_LAYERS(row) \
  row(integer_layers_norm, "integer layers: normalisation", everywhere(0x7b73b838f7cf654eu)) \
  row(integer_layers_pairs, "integer layers: sum and product", everywhere(0xce915fe7c5f8b9e6u)) \
  row(integer_layers_activation, "integer layers: activation by a table", everywhere(0x3717c0f1a52f1025u)) \
  row(integer_layers_hard_swish, "integer layers: hard swish", everywhere(0xcc3ed3e7bfc440f6u)) \
  row(integer_layers_mean, "integer layers: mean", everywhere(0xd310338268bc719eu))

#define FOVEA_SELFTEST_QUANTIZE(row) \
  row(quantize_codes, "quantize: codes", everywhere(0xaa460332194b97ebu)) \
  row(quantize_range, "quantize: scale and zero point", everywhere(0x04c3a6f8963c96bbu))

// clang-format on

#endif  // FOVEA_SRC_SELFTEST_TABLE_H_
