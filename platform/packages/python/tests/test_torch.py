#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fovea.torch against PyTorch: test_torch.py [shared library]. Ends with 77 where there is no PyTorch or no NumPy."""
import copy
import pickle
import sys
import warnings

from reference import np, package, raises, run_all, run_program

try:
    import torch
    from torch.autograd import forward_ad
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.nn import functional
except ImportError:
    print("skipped: this Python has no PyTorch")
    sys.exit(77)

fovea = package(*sys.argv[1:2])
import fovea.torch as ours  # noqa: E402

MOST = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}
attention = ours.scaled_dot_product_attention


def near(got, want, most):
    assert got.shape == want.shape and got.dtype == want.dtype, f"{got.dtype}{tuple(got.shape)} instead of {want.shape}"
    worst = (got.double() - want.double()).abs().max().item() if got.numel() else 0
    assert worst <= most, f"differs by {worst}, {most} is allowed"


def draw(rng, number):
    """Tensors and options of a call: shapes of 2 to 5 dimensions, with strides of all kinds."""
    torch.manual_seed(number)
    dtype = [torch.float32, torch.float16, torch.bfloat16][number % 3]
    heads = int(rng.choice([1, 2, 4]))
    lead = [[], [heads], [int(rng.choice([1, 3])), heads], [2, 3, heads]][int(rng.integers(4))]
    gqa = bool(len(lead) and rng.random() < 0.3)
    key_lead = [*lead[:-1], 1 if rng.random() < 0.5 else heads] if gqa else lead
    l, s, e, ev = (int(rng.choice(choices)) for choices in ([1, 2, 5, 17], [1, 3, 16, 65, 130], [1, 8, 33, 64], [1, 8, 20]))

    def tensor(lead, tokens, dim):
        how = rng.integers(4)
        if how == 0 and lead:  # tokens before heads
            return torch.randn(*lead[:-1], tokens, lead[-1], dim).to(dtype).transpose(-3, -2)
        if how == 1:  # a step in the last dimension
            return torch.randn(*lead, tokens, 2 * dim).to(dtype)[..., ::2]
        if how == 2:  # a part of rows
            return torch.randn(*lead, tokens, dim + 3).to(dtype)[..., 3:]
        return torch.randn(*lead, tokens, dim).to(dtype)

    tensors = tensor(lead, l, e), tensor(key_lead, s, e), tensor(key_lead, s, ev)
    options = {"enable_gqa": True} if gqa else {}
    if rng.random() < 0.3:
        options["scale"] = float(rng.choice([0.0, 0.25, -0.5]))
    how, shape = rng.integers(4), [*([1] * len(lead) if rng.random() < 0.5 else lead), l, s]
    if how == 0:
        options["is_causal"] = True
    elif how == 1:
        options["attn_mask"] = torch.rand(shape) < 0.7
    elif how == 2:
        options["attn_mask"] = torch.randn(shape).to(dtype)
    return tensors, options


def attention_is_that_of_pytorch():
    rng = np.random.default_rng(3)
    for number in range(240):
        (q, k, v), options = draw(rng, number)
        mask = options.get("attn_mask")
        attention(q + q if q.is_contiguous() else q, k, v, **options)  # the next call takes what this one prepared
        got = attention(q, k, v, **options)
        if options.pop("is_causal", False):  # with a negative scale PyTorch gives NaN for it
            mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
        wide = {**options, "attn_mask": None if mask is None else mask if mask.dtype == torch.bool else mask.double()}
        want = functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), **wide)
        want = torch.nan_to_num(want)  # of rows that see no key
        near(got, want.to(q.dtype), MOST[q.dtype] * (1 + float(want.abs().max())))


def tensors_are_read_where_they_are():
    q = torch.randn(2, 5, 3, 4, 8)
    views = [q[:, :, i].transpose(1, 2) for i in range(3)]
    for tensor in views:
        assert ours.view(tensor, "q").ctypes.data == tensor.data_ptr()
        halves = tensor.bfloat16()
        assert ours.view(halves, "q").ctypes.data == halves.data_ptr()
    near(attention(*views), functional.scaled_dot_product_attention(*views), 2e-6)
    near(attention(views[0], views[1][:1, :, :2], views[2][:1, :, :2]),
         functional.scaled_dot_product_attention(views[0], views[1][:1, :, :2].expand(2, 4, 2, 8),
                                                 views[2][:1, :, :2].expand(2, 4, 2, 8)), 2e-6)
    assert attention(torch.randn(2, 0, 8), torch.randn(2, 3, 8), torch.randn(2, 3, 4)).shape == (2, 0, 4)
    assert not attention(torch.randn(2, 3, 8), torch.randn(2, 0, 8), torch.randn(2, 0, 4)).any()


def no_byte_outside_of_tensors_is_read():
    if sys.platform == "win32":
        return
    from guarded import placed
    rng = np.random.default_rng(5)
    for number in range(60):
        torch.manual_seed(number)
        shapes = [(2, 3, int(rng.choice([1, 5])), 8), (2, 3, s := int(rng.choice([1, 7, 65])), 8), (2, 3, s, 6)]
        rooms = [placed(torch.randn(shape).numpy(), rng, negative=False) for shape in shapes]
        rooms.append(placed((torch.rand(2, 1, shapes[0][2], s) < 0.7).numpy(), rng, negative=False))
        for _, room in rooms:
            room.lock()
        q, k, v, mask = (torch.from_numpy(array) for array, _ in rooms)
        want = functional.scaled_dot_product_attention(*(one.contiguous() for one in (q, k, v, mask)))
        for _ in range(2):
            near(attention(q, k, v, mask), torch.nan_to_num(want), 1e-5)


def what_is_wrong_is_said():
    q, k, v = torch.randn(2, 3, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 4)
    raises(ValueError, "dropout_p is 0.1: it must be 0", attention, q, k, v, dropout_p=0.1)
    raises(ValueError, "attn_mask is given beside is_causal", attention, q, k, v, torch.ones(3, 5, dtype=bool), is_causal=True)
    raises(TypeError, "query is of torch.float64", attention, q.double(), k, v)
    raises(TypeError, "key is of torch.float16: it must be of torch.float32", attention, q, k.half(), v)
    raises(TypeError, "value is of list", attention, q, k, v.tolist())
    raises(ValueError, "key has rows of 7 elements: those of query have 8", attention, q, k[..., 1:], v)
    raises(ValueError, "key has 4 tokens: value has 5", attention, q, k[:, 1:], v)
    raises(ValueError, "must broadcast to one shape", attention, q, torch.randn(3, 5, 8), torch.randn(3, 5, 4))
    raises(ValueError, "must divide those of query", attention, torch.randn(3, 3, 8), k, v, enable_gqa=True)
    raises(ValueError, "mask has the shape (3, 4)", attention, q, k, v, torch.ones(3, 4, dtype=bool))
    raises(TypeError, "mask is of int64", attention, q, k, v, torch.ones(3, 5, dtype=torch.int64))
    raises(ValueError, "query is on meta", attention, q.to("meta"), k, v)


def gradients_are_refused():
    q, k, v = torch.randn(2, 3, 8, requires_grad=True), torch.randn(2, 5, 8), torch.randn(2, 5, 4)
    attention(q.detach(), k, v)  # has prepared a call of this layout
    attention(q.detach(), k, v, torch.zeros(3, 5))
    raises(RuntimeError, "query requires a gradient", attention, q, k, v)
    raises(RuntimeError, "attn_mask requires a gradient", attention, q.detach(), k, v, torch.zeros(3, 5, requires_grad=True))
    raises(RuntimeError, "attn_mask requires a gradient", attention, q.detach()[:, :0], k, v, torch.zeros(0, 5, requires_grad=True))
    with torch.no_grad():
        near(attention(q, k, v), functional.scaled_dot_product_attention(q, k, v), 2e-6)
    out = torch.ops.fovea.scaled_dot_product_attention(q, k, v, None, False, None, False)
    raises(RuntimeError, "fovea computes no gradients", out.sum().backward)


def derivatives_of_transforms_are_refused():
    q, k, v, mask = torch.randn(2, 3, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 4), torch.zeros(3, 5)
    attend = lambda q: attention(q, k, v)  # noqa: E731
    operator = lambda *tensors: torch.ops.fovea.scaled_dot_product_attention(*tensors, False, None, False)  # noqa: E731
    for call in (lambda: torch.func.grad(lambda q: attend(q).sum())(q), lambda: torch.func.vjp(attend, q)):
        raises(RuntimeError, "fovea computes no gradients", call)
    for call in (lambda: torch.func.jvp(attend, (q,), (q,)), lambda: torch.func.jacfwd(attend)(q),
                 lambda: torch.compile(lambda q: torch.func.jvp(attend, (q,), (q,)), backend="aot_eager")(q)):
        raises(RuntimeError, "query has a tangent, and fovea computes none", call)
    with forward_ad.dual_level():
        near(attend(q), functional.scaled_dot_product_attention(q, k, v), 2e-6)
        for at, name in enumerate(("query", "key", "value", "attn_mask")):
            tensors = [q, k, v, mask]
            tensors[at] = forward_ad.make_dual(tensors[at], torch.ones_like(tensors[at]))
            for call in (attention, operator, torch.no_grad()(attention), torch.no_grad()(operator)):
                raises(RuntimeError, f"{name} has a tangent, and fovea computes none", call, *tensors)


class Block(torch.nn.Module):
    def forward(self, q, k, v):
        return attention(2 * q, k, v, is_causal=True) + 1


def compilers_see_one_operator():
    tensors = wide = torch.randn(2, 4, 3, 8), torch.randn(2, 4, 5, 8), torch.randn(2, 4, 5, 6)
    want = functional.scaled_dot_product_attention(2 * tensors[0], *tensors[1:], is_causal=True) + 1
    compiled = torch.compile(Block(), fullgraph=True, backend="aot_eager")
    near(compiled(*tensors), want, 1e-5)
    program = torch.export.export(Block(), tensors)
    names = [str(node.target) for node in program.graph.nodes]
    assert names.count("fovea.scaled_dot_product_attention.default") == 1, names
    near(program.module()(*tensors), want, 1e-5)
    others = [torch.randn_like(tensor) for tensor in wide]
    for traced in (torch.jit.trace(Block(), others), make_fx(Block())(*others), torch.func.functionalize(Block()), torch.vmap(Block())):
        near(traced(*wide), want, 1e-5)
    attention(*wide, torch.zeros(3, 5))
    for wrap in (torch._to_functional_tensor, lambda tensor: torch._efficientzerotensor(tensor.shape)):
        for at, name in enumerate(("query", "key", "value", "attn_mask")):
            tensors = [*wide, torch.zeros(3, 5)]
            tensors[at] = wrap(tensors[at])
            raises(ValueError, f"{name} has no memory", attention, *tensors)
    tensors = torch.randn(3, 8, dtype=torch.float16), torch.randn(5, 8, dtype=torch.float16), torch.randn(5, 6).half()
    torch.library.opcheck(torch.ops.fovea.scaled_dot_product_attention.default, (*tensors, None, True, 0.5, False))


def multihead_layers_take_over_weights():
    rng = np.random.default_rng(4)
    for number in range(40):
        torch.manual_seed(number)
        heads, dim, first = int(rng.choice([1, 2, 4])), int(rng.choice([4, 8])), bool(rng.random() < 0.5)
        other = {"kdim": 12, "vdim": 10} if rng.random() < 0.5 else {}
        module = torch.nn.MultiheadAttention(heads * dim, heads, bias=bool(rng.random() < 0.5), batch_first=first, **other).eval()
        batched = rng.random() < 0.7
        for parameter in module.parameters():
            torch.nn.init.normal_(parameter, std=0.3)

        def tensor(tokens, model):
            return torch.randn(*([2, tokens, model] if first else [tokens, 2, model]) if batched else (tokens, model))

        q = tensor(3, heads * dim)
        k, v = (tensor(5, 12), tensor(5, 10)) if other else (q, q) if rng.random() < 0.5 else (tensor(5, heads * dim),) * 2
        s = k.shape[1 if batched and first else 0]
        options = {"need_weights": bool(rng.random() < 0.5), "average_attn_weights": bool(rng.random() < 0.5)}
        if rng.random() < 0.5:
            shape = (2 * heads if batched else heads, 3, s) if rng.random() < 0.5 else (3, s)
            mask = torch.rand(shape) < 0.4
            mask[..., 0] = False
            options["attn_mask"] = mask if rng.random() < 0.5 else torch.randn(shape)
        if rng.random() < 0.5:
            padding = torch.zeros(2, s, dtype=torch.bool)
            padding[0, -1:] = s > 1
            floats = torch.zeros(2, s).masked_fill(padding, -torch.inf)
            mask = options.get("attn_mask")  # PyTorch wants both of one type
            padding = padding if mask is None or mask.dtype == torch.bool else floats
            options["key_padding_mask"] = padding if batched else padding[1]
        with torch.no_grad():
            (want, want_weights), (got, weights) = module(q, k, v, **options), ours.MultiheadAttention(module)(q, k, v, **options)
        near(got, want, 1e-5 * (1 + float(want.abs().max())))
        assert (weights is None) == (want_weights is None)
        if weights is not None:
            near(weights, want_weights, 1e-5)


def defaults_of_pytorch_change_nothing():
    q, module = torch.randn(2, 3, 8), torch.nn.MultiheadAttention(8, 2).eval()
    layer, want = ours.MultiheadAttention(module), attention(q, q, q)
    with torch.no_grad():
        for change in (torch.autocast("cpu"), torch.inference_mode(), torch.device("meta")):
            with change:
                near(attention(q, q, q), want, 0)
        try:
            torch.set_default_dtype(torch.float64)
            near(attention(q, q, q), want, 0)
            near(layer(q, q, q)[0], module(q, q, q)[0], 1e-5)
        finally:
            torch.set_default_dtype(torch.float32)


def multihead_layers_stand_in_transformers():
    x, mask = torch.randn(3, 5, 8), torch.nn.Transformer.generate_square_subsequent_mask(5)
    padding = torch.zeros(3, 5, dtype=torch.bool)
    padding[1, 3:] = True
    for options in ({}, {"norm_first": True}, {"bias": False}):
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options)
        module = torch.nn.TransformerEncoder(layer, 2).eval()
        other, calls = copy.deepcopy(module), []
        for layer in other.layers:
            layer.self_attn = ours.MultiheadAttention(layer.self_attn)
            layer.self_attn.register_forward_hook(lambda *_: calls.append(1))
        anew = torch.nn.TransformerEncoder(other.layers[0], 2).eval()  # PyTorch looks into layers here, too
        with torch.no_grad():
            for given in ({}, {"mask": mask}, {"mask": mask, "is_causal": True}, {"src_key_padding_mask": padding}):
                shown = ~padding if "src_key_padding_mask" in given else slice(None)
                near(other(x, **given)[shown], module(x, **given)[shown], 1e-5)
                assert anew(x, **given).shape == x.shape
        assert len(calls) == 4 * (2 + 2), f"{len(calls)} calls"


def multihead_layers_are_copied_and_refuse_what_they_cannot():
    module = torch.nn.MultiheadAttention(8, 2).eval()
    layer, x = ours.MultiheadAttention(module), torch.randn(3, 2, 8)
    raises(RuntimeError, "in_proj_weight requires a gradient, and fovea computes none", layer, x, x, x)
    weights = {f"module.{name}": weight.detach() for name, weight in module.named_parameters()}
    with torch.no_grad():
        with forward_ad.dual_level():
            weights["module.out_proj.bias"] = forward_ad.make_dual(torch.ones(8), torch.ones(8))
            raises(RuntimeError, "out_proj.bias has a tangent", torch.func.functional_call, layer, weights, (x, x, x))
        want = layer(x, x, x)[0]
        for other in (copy.copy(layer), copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            near(other(x, x, x)[0], want, 0)
        module.in_proj_weight.data = module.in_proj_weight.data.view(8, 24).t()  # at the same address
        near(layer(x, x, x)[0], module(x, x, x)[0], 1e-5)
        own = lambda x: layer(x, x, x)[0]  # noqa: E731
        for trace in (lambda: torch.jit.trace(own, x), lambda: make_fx(own)(x), lambda: torch.func.functionalize(own)(x),
                      lambda: torch.vmap(own)(x), lambda: torch.export.export(layer, (x, x, x))):
            raises(RuntimeError, "cannot see into fovea's MultiheadAttention", trace)


def multihead_layers_follow_their_module():
    module = torch.nn.MultiheadAttention(8, 2, dropout=0.5)
    layer = ours.MultiheadAttention(module)
    x = torch.randn(3, 2, 8)
    raises(RuntimeError, "the module would drop weights", layer, x, x, x)
    layer.eval().requires_grad_(False)
    with torch.no_grad():
        for change in (lambda: None, lambda: module.in_proj_weight.mul_(2),
                       lambda: setattr(module, "in_proj_weight", torch.nn.Parameter(torch.randn(24, 8)))):
            change()
            near(layer(x, x, x)[0], module(x, x, x)[0], 1e-5)
    assert [*layer.state_dict()] == [f"module.{name}" for name in module.state_dict()]
    raises(RuntimeError, "query requires a gradient", layer, x.clone().requires_grad_(), x, x)
    raises(TypeError, "query is of torch.float16", layer, x.half(), x, x)
    raises(ValueError, "is_causal is given without attn_mask", layer, x, x, x, is_causal=True)
    raises(ValueError, "the module has add_zero_attn", ours.MultiheadAttention, torch.nn.MultiheadAttention(8, 2, add_zero_attn=True))
    raises(ValueError, "the module has add_bias_kv", ours.MultiheadAttention, torch.nn.MultiheadAttention(8, 2, add_bias_kv=True))
    raises(TypeError, "module is of Linear", ours.MultiheadAttention, torch.nn.Linear(8, 8))
    raises(TypeError, "is of torch.float64: it must be of float32", ours.MultiheadAttention(module.double()), x, x, x)


def the_program_of_the_page_runs():
    run_program(1)


print(f"PyTorch {torch.__version__}")
torch.set_num_threads(1)
warnings.simplefilter("ignore", UserWarning)  # of PyTorch: about nested tensors
run_all(globals())
