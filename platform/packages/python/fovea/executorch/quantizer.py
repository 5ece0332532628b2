# SPDX-License-Identifier: Apache-2.0
"""A quantizer of PT2E for the operators that fovea computes on int8 tensors.

    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from fovea.executorch.quantizer import FoveaQuantizer
    prepared = prepare_pt2e(torch.export.export(model.eval(), inputs).module(), FoveaQuantizer())
    for sample in samples:
        prepared(*sample)
    program = to_fovea(torch.export.export(convert_pt2e(prepared), inputs))

Other quantizers leave attention and normalisation in floats. Compose it with one of them, as ComposableQuantizer does,
for convolutions and sums: the first that annotates an operator has it.
"""
import torch
from torchao.quantization.pt2e import HistogramObserver, PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantizer import (QuantizationAnnotation, QuantizationSpec, Quantizer, SharedQuantizationSpec)

from . import rewrite
from .quantized import MOVES
from .rewrite import aten, is_call, value

ACTIVATIONS = QuantizationSpec(dtype=torch.int8, quant_min=-128, quant_max=127, qscheme=torch.per_tensor_affine,
                               observer_or_fake_quant_ctr=HistogramObserver.with_args(eps=2**-12))
WEIGHTS = QuantizationSpec(dtype=torch.int8, quant_min=-127, quant_max=127, qscheme=torch.per_channel_symmetric,
                           ch_axis=0, observer_or_fake_quant_ctr=PerChannelMinMaxObserver.with_args(eps=2**-12))
_INPUTS = {aten.scaled_dot_product_attention.default: 3, aten.linear.default: 1, aten.layer_norm.default: 1,
           aten.rms_norm.default: 1, aten.softmax.int: 1}
_FILLS = (aten.masked_fill.Scalar, aten.masked_fill.Tensor, aten.masked_fill_.Scalar, aten.masked_fill_.Tensor,
          aten.where.self, aten.where.ScalarOther)


def _is_annotated(node):
    return "quantization_annotation" in node.meta


def _is_masked(scores):
    """Scores with a mask, whose numbers are so large that all visible scores would get the same code."""
    if is_call(scores, *_FILLS):
        return True
    if not is_call(scores, aten.add.Tensor, aten.add_.Tensor):
        return False
    terms = [x for x in scores.args if isinstance(x, torch.fx.Node)]
    return len(terms) == 2 and not rewrite.same(value(terms[0]).shape, value(terms[1]).shape)


class FoveaQuantizer(Quantizer):
    """Annotates attention, linear layers with the activation after them, normalisation, activations and softmax, and
    what moves their results to the next one. Attention and softmax with a mask stay in floats. kinds: as those of
    to_fovea."""

    def __init__(self, kinds=rewrite.KINDS):
        self.kinds = rewrite.check_kinds(kinds)

    def annotate(self, model):
        for node in model.graph.nodes:
            kind = rewrite.kind_of(node)
            if kind in self.kinds and not _is_annotated(node) and value(node).dtype == torch.float32:
                self._annotate(node)
        for node in model.graph.nodes:
            if is_call(node, *MOVES) and not _is_annotated(node) and self._has_scale(node.args[0]):
                shared = SharedQuantizationSpec(node.args[0])
                self._set(node, {node.args[0]: shared}, shared)
        return model

    def _annotate(self, node):
        if is_call(node, aten.scaled_dot_product_attention.default):
            if rewrite.argument(node, 3, "attn_mask") is not None:
                return
        if is_call(node, aten.softmax.int) and _is_masked(node.args[0]):
            return
        inputs = {x: ACTIVATIONS for x in node.args[:_INPUTS.get(node.target, 1)]}
        if not is_call(node, aten.linear.default):
            return self._set(node, inputs, ACTIVATIONS)
        inputs[node.args[1]] = WEIGHTS
        (user,) = node.users if len(node.users) == 1 else (None,)
        if user is not None and rewrite.activation_of(user) is not None and not _is_annotated(user):
            self._set(node, inputs, None)
            return self._set(user, {}, ACTIVATIONS)
        return self._set(node, inputs, ACTIVATIONS)

    @staticmethod
    def _has_scale(node):
        annotation = node.meta.get("quantization_annotation")
        return annotation is not None and annotation.output_qspec is not None

    @staticmethod
    def _set(node, inputs, output):
        node.meta["quantization_annotation"] = QuantizationAnnotation(input_qspec_map=inputs, output_qspec=output, _annotated=True)

    def validate(self, model):
        pass
