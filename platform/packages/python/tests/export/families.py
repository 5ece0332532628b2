# SPDX-License-Identifier: Apache-2.0
"""Families of models as people have them, at small sizes: name -> (module, inputs). Those of transformers are made from their
configurations at random; others are written out as their papers have them."""
import torch
from torch import nn
from torch.nn import functional as f

from models import Call, hugging_face, tokens

LAYERS = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4)
WORDS = dict(**LAYERS, vocab_size=100, max_position_embeddings=40)


def mask(shown=(16, 11), dtype=torch.int64):
    """[batch, tokens], 0 after the first tokens of each entry."""
    return (torch.arange(max(shown)) < torch.tensor(shown)[:, None]).to(dtype)


class Text(nn.Module):
    """A model of transformers with token numbers and their mask. pooled: the mean of the tokens that are shown."""

    def __init__(self, kind, pooled=False, **options):
        super().__init__()
        self.model, self.pooled = hugging_face(kind, **{**WORDS, **options}), pooled

    def forward(self, ids, shown):
        hidden = self.model(input_ids=ids, attention_mask=shown).last_hidden_state
        if not self.pooled:
            return hidden
        weights = shown.unsqueeze(-1).expand(hidden.size()).float()
        return f.normalize((hidden * weights).sum(1) / torch.clamp(weights.sum(1), min=1e-9))


def text(kind, pooled=False, **options):
    return Text(kind, pooled, **options), (torch.randint(2, 100, (2, 16)), mask())


def causal(kind, take="last_hidden_state", **options):
    return Call(hugging_face(kind, **{**WORDS, **options}), take=take, use_cache=False), tokens(12)


def whole(kind, shape, attention="sdpa", take="last_hidden_state", **options):
    """A model of transformers that takes one array of this shape."""
    return Call(hugging_face(kind, attention, **options), take=take), (torch.randn(shape),)


def image(kind, **options):
    return whole(kind, (1, 3, 32, 32), **{**LAYERS, "image_size": 32, "patch_size": 8, **options})


def encoder(dim, layers=1, heads=4, **options):
    layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, batch_first=True, **options)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


class Conformer(nn.Module):
    """Gulati et al.: subsampling by two convolutions, then half a feed-forward layer, attention, a convolution of 15 taps with
    batch norm, and another half."""

    def __init__(self, features=40, dim=32, layers=2):
        super().__init__()
        self.sub = nn.Sequential(nn.Conv2d(1, dim, 3, 2), nn.ReLU(), nn.Conv2d(dim, dim, 3, 2), nn.ReLU())
        self.embed = nn.Linear(dim * 9, dim)
        self.blocks = nn.ModuleList(ConformerBlock(dim) for _ in range(layers))

    def forward(self, frames):
        x = self.sub(frames.unsqueeze(1))
        x = self.embed(x.transpose(1, 2).flatten(2))
        for block in self.blocks:
            x = block(x)
        return x


class ConformerBlock(nn.Module):

    def __init__(self, dim):
        super().__init__()
        self.first, self.last = (nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim))
                                 for _ in "ab")
        self.norm, self.attention = nn.LayerNorm(dim), nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norms = nn.ModuleList([nn.LayerNorm(dim), nn.LayerNorm(dim)])
        self.convolution = nn.Sequential(nn.Conv1d(dim, 2 * dim, 1), nn.GLU(1), nn.Conv1d(dim, dim, 15, padding=7, groups=dim),
                                         nn.BatchNorm1d(dim), nn.SiLU(), nn.Conv1d(dim, dim, 1))

    def forward(self, x):
        x = x + 0.5 * self.first(x)
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        x = x + self.convolution(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        return self.norms[1](x + 0.5 * self.last(x))


class Keywords(nn.Module):
    """A keyword transformer after a convolution with batch norm, and batch norm in the place of layer norm."""

    def __init__(self, features=40, dim=32):
        super().__init__()
        self.stem = nn.Sequential(nn.BatchNorm1d(features), nn.Conv1d(features, dim, 3, padding=1), nn.BatchNorm1d(dim), nn.ReLU(),
                                  nn.Conv1d(dim, dim, 3, 2, 1, bias=False), nn.BatchNorm1d(dim), nn.Hardswish())
        self.cls, self.layers = nn.Parameter(torch.randn(1, 1, dim)), encoder(dim, 2)
        self.norm, self.classes = nn.BatchNorm1d(dim), nn.Linear(dim, 12)

    def forward(self, frames):
        x = self.stem(frames.transpose(1, 2)).transpose(1, 2)
        x = self.layers(torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1))
        return self.classes(self.norm(x[:, 0]))


class Detr(nn.Module):
    """Carion et al.: a residual network, an encoder, and a decoder of queries; classes and boxes."""

    def __init__(self, dim=32):
        super().__init__()
        from torchvision.models.resnet import BasicBlock, ResNet
        from torchvision.ops import FrozenBatchNorm2d
        net = ResNet(BasicBlock, [1, 1, 1, 1], norm_layer=FrozenBatchNorm2d)
        self.body = nn.Sequential(net.conv1, net.bn1, net.relu, net.maxpool, net.layer1, net.layer2)
        self.input = nn.Conv2d(128, dim, 1)
        self.transformer = nn.Transformer(dim, 4, 1, 1, 64, batch_first=True)
        self.queries, self.places = nn.Parameter(torch.randn(6, dim)), nn.Parameter(torch.randn(16, dim))
        self.classes, self.boxes = nn.Linear(dim, 5), nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 4))

    def forward(self, x):
        x = self.input(self.body(x)).flatten(2).permute(0, 2, 1)
        x = self.transformer(x + self.places, self.queries.unsqueeze(0).expand(x.shape[0], -1, -1))
        return self.classes(x), self.boxes(x).sigmoid()


class Act(nn.Module):
    """Zhao et al., action chunking: images and joints become tokens; queries become a chunk of actions."""

    def __init__(self, dim=32, chunk=5):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                                  nn.Conv2d(16, dim, 3, 2, 1), nn.BatchNorm2d(dim), nn.ReLU())
        self.joints, self.latent = nn.Linear(7, dim), nn.Parameter(torch.randn(1, dim))
        self.layers = encoder(dim)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(dim, 4, 64, batch_first=True), 1)
        self.queries, self.actions = nn.Parameter(torch.randn(chunk, dim)), nn.Linear(dim, 7)

    def forward(self, cameras, joints):
        images = [self.body(cameras[:, one]) for one in range(cameras.shape[1])]
        x = torch.cat(images, dim=3).flatten(2).transpose(1, 2)
        x = torch.cat([torch.stack([self.latent, self.joints(joints)], dim=1), x], 1)
        return self.actions(self.decoder(self.queries[None].repeat(x.shape[0], 1, 1), self.layers(x)))


class ITransformer(nn.Module):
    """Liu et al.: a token for each variable of a series; the series normalised by its own mean and deviation."""

    def __init__(self, length=24, horizon=6, dim=32):
        super().__init__()
        self.embed, self.layers, self.out = nn.Linear(length, dim), encoder(dim), nn.Linear(dim, horizon)

    def forward(self, series):
        mean = series.mean(1, keepdim=True).detach()
        x = series - mean
        deviation = torch.sqrt(torch.var(x, dim=1, keepdim=True, unbiased=False) + 1e-5)
        y = self.out(self.layers(self.embed((x / deviation).permute(0, 2, 1)))).permute(0, 2, 1)
        return y * deviation[:, 0].unsqueeze(1).repeat(1, y.shape[1], 1) + mean


class FtTransformer(nn.Module):
    """Gorishniy et al.: a token for each column of a table."""

    def __init__(self, numbers=5, categories=(4, 7, 3), dim=32):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(numbers, dim)), nn.Parameter(torch.randn(numbers, dim))
        self.tables, self.cls = nn.ModuleList(nn.Embedding(count, dim) for count in categories), nn.Parameter(torch.randn(dim))
        self.layers, self.out = encoder(dim, norm_first=True), nn.Sequential(nn.LayerNorm(dim), nn.ReLU(), nn.Linear(dim, 2))

    def forward(self, numbers, categories):
        x = numbers[..., None] * self.weight + self.bias
        embedded = torch.stack([table(categories[:, index]) for index, table in enumerate(self.tables)], 1)
        x = torch.cat([self.cls.expand(len(x), 1, -1), x, embedded], 1)
        return self.out(self.layers(x)[:, 0])


class Mixer(nn.Module):
    """Tolstikhin et al.: layers over tokens and over channels in turn."""

    def __init__(self, dim=32, count=16):
        super().__init__()
        self.embed, self.norms = nn.Conv2d(3, dim, 8, 8), nn.ModuleList(nn.LayerNorm(dim) for _ in range(3))
        self.over_tokens = nn.Sequential(nn.Linear(count, 2 * count), nn.GELU(), nn.Linear(2 * count, count))
        self.over_channels = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        x = x + self.over_tokens(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        x = x + self.over_channels(self.norms[1](x))
        return self.norms[2](x).mean(1)


class Cct(nn.Module):
    """Hassani et al., compact convolutional transformers: overlapping convolutions, a maximum, and pooling by attention."""

    def __init__(self, dim=32):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, dim, 3, 1, 1, bias=False), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.layers, self.norm = encoder(dim, activation="gelu", norm_first=True), nn.LayerNorm(dim)
        self.pool, self.out = nn.Linear(dim, 1), nn.Linear(dim, 10)

    def forward(self, x):
        x = self.norm(self.layers(self.stem(x).flatten(2, 3).transpose(-2, -1)))
        return self.out(torch.matmul(f.softmax(self.pool(x), dim=1).transpose(-1, -2), x).squeeze(-2))


class SetTransformer(nn.Module):
    """Lee et al.: attention through inducing points, and pooling by a seed."""

    def __init__(self, dim=32):
        super().__init__()
        self.embed, self.points, self.seed = nn.Linear(3,
                                                       dim), nn.Parameter(torch.randn(1, 4,
                                                                                      dim)), nn.Parameter(torch.randn(1, 1, dim))
        self.attention = nn.ModuleList(nn.MultiheadAttention(dim, 4, batch_first=True) for _ in range(3))
        self.norm, self.out = nn.LayerNorm(dim), nn.Linear(dim, 5)

    def forward(self, points):
        x = self.embed(points)
        held = self.attention[0](self.points.repeat(x.shape[0], 1, 1), x, x)[0]
        x = self.norm(x + self.attention[1](x, held, held)[0])
        return self.out(self.attention[2](self.seed.repeat(x.shape[0], 1, 1), x, x)[0]).squeeze(1)


class MobileVit(nn.Module):
    """Mehta and Rastegari: inverted residuals with depthwise convolutions, and attention of unfolded patches."""

    def __init__(self, dim=16):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, dim, 3, 2, 1, bias=False), nn.BatchNorm2d(dim), nn.SiLU())
        self.inverted = nn.Sequential(nn.Conv2d(dim, 32, 1, bias=False), nn.BatchNorm2d(32), nn.SiLU(),
                                      nn.Conv2d(32, 32, 3, 1, 1, groups=32, bias=False), nn.BatchNorm2d(32), nn.SiLU(),
                                      nn.Conv2d(32, dim, 1, bias=False), nn.BatchNorm2d(dim))
        self.local = nn.Sequential(nn.Conv2d(dim, dim, 3, 1, 1), nn.Conv2d(dim, 32, 1))
        self.layers, self.project, self.fuse = encoder(32, norm_first=True), nn.Conv2d(32, dim, 1), nn.Conv2d(2 * dim, dim, 3, 1, 1)

    def forward(self, image):
        x = self.stem(image)
        x = x + self.inverted(x)
        y = self.local(x)
        batch, dim, height, width = y.shape
        y = y.reshape(batch * dim, height // 2, 2, width // 2, 2).transpose(2, 3)
        y = y.reshape(batch, dim, -1, 4).permute(0, 3, 2, 1)  # a sequence for each place in a patch
        y = self.layers(y.reshape(4 * batch, -1, dim))
        y = y.reshape(batch, 4, -1, dim).permute(0, 3, 2, 1).reshape(batch * dim, height // 2, width // 2, 2, 2)
        y = y.transpose(2, 3).reshape(batch, dim, height, width)
        return self.fuse(torch.cat([x, self.project(y)], 1)).mean((2, 3))


class Recurrent(nn.Module):
    """A recurrent layer and attention over its states."""

    def __init__(self, kind):
        super().__init__()
        self.layer, self.attention = kind(16, 32, batch_first=True), nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x):
        x = self.layer(x)[0]
        return self.attention(x, x, x, need_weights=False)[0]


def speech():
    return whole("Wav2Vec2", (1, 400), **LAYERS, conv_dim=(16, 16, 16), conv_kernel=(10, 3, 2), conv_stride=(5, 2, 2),
                 num_feat_extract_layers=3, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)


TWO_SIDES = dict(vocab_size=100, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
                 decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48)


def whisper():
    model = hugging_face("Whisper",
                         **TWO_SIDES,
                         num_mel_bins=20,
                         max_source_positions=24,
                         pad_token_id=0,
                         bos_token_id=1,
                         eos_token_id=2,
                         decoder_start_token_id=1)
    return Call(model.encoder, take="last_hidden_state"), (torch.randn(1, 20, 48),)


def t5():
    model = hugging_face("T5", vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0)
    return Seq2Seq(model), (torch.randint(0, 100, (1, 10)), torch.randint(0, 100, (1, 6)))


def bart():
    return Seq2Seq(hugging_face("Bart", **TWO_SIDES,
                                max_position_embeddings=40)), (torch.randint(3, 100, (1, 10)), torch.randint(3, 100, (1, 6)))


class Seq2Seq(nn.Module):

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, decoder_ids):
        return self.model(input_ids=ids, decoder_input_ids=decoder_ids, use_cache=False).last_hidden_state


def patch_tst():
    return whole("PatchTST", (1, 32, 3), num_input_channels=3, context_length=32, patch_length=8, patch_stride=4, d_model=32,
                 num_hidden_layers=2, num_attention_heads=4, ffn_dim=48, norm_type="batchnorm")


def swin(version):
    from torchvision.models.swin_transformer import PatchMergingV2, SwinTransformer, SwinTransformerBlockV2
    more = dict(block=SwinTransformerBlockV2, downsample_layer=PatchMergingV2) if version == 2 else {}
    return SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=5, **more), (torch.randn(1, 3, 32, 32),)


def video():
    return whole("VideoMAE", (1, 4, 3, 16, 16), **LAYERS, image_size=16, patch_size=8, num_frames=4, tubelet_size=2)


def levit():
    return whole("Levit", (1, 3, 64, 64), "eager", image_size=64, hidden_sizes=[16, 24, 32], num_attention_heads=[2, 3, 4],
                 depths=[1, 1, 1], key_dim=[8, 8, 8], drop_path_rate=0, mlp_ratio=[2, 2, 2], attention_ratio=[2, 2, 2],
                 patch_size=16)


def segformer():
    return whole("Segformer", (1, 3, 32, 32), num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[16, 32],
                 patch_sizes=[7, 3], strides=[4, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2])


def speech_to_text():
    model = hugging_face("Speech2Text", "eager", **TWO_SIDES, conv_channels=24, input_feat_per_channel=20, max_source_positions=60,
                         num_conv_layers=2, conv_kernel_sizes=[5, 5])
    return Call(model.encoder, take="last_hidden_state"), (torch.randn(1, 48, 20),)


class Decision(nn.Module):

    def __init__(self):
        super().__init__()
        self.model = hugging_face("DecisionTransformer",
                                  state_dim=5,
                                  act_dim=3,
                                  hidden_size=32,
                                  max_ep_len=50,
                                  n_layer=2,
                                  n_head=4,
                                  n_positions=64)

    def forward(self, states, actions, returns, times):
        return self.model(states, actions, actions, returns, times, torch.ones(1, states.shape[1], dtype=torch.long),
                          return_dict=True).action_preds


class Sinks(nn.Module):
    """The attention of gpt-oss: a sink of each head in the softmax, which then is dropped."""

    def __init__(self):
        super().__init__()
        from transformers import GptOssConfig
        from transformers.models.gpt_oss.modeling_gpt_oss import GptOssAttention, GptOssRotaryEmbedding
        config = GptOssConfig(hidden_size=32, num_attention_heads=4, num_key_value_heads=2, head_dim=8, attn_implementation="eager")
        self.attention, self.turns = GptOssAttention(config, 1), GptOssRotaryEmbedding(config)
        nn.init.normal_(self.attention.sinks)
        self.register_buffer("mask", torch.full((10, 10), float("-inf")).triu(1)[None, None])

    def forward(self, x):
        return self.attention(x, self.turns(x, torch.arange(10)[None]), self.mask, None)[0]


FAMILIES = {
    # images
    "ViT": lambda: image("ViT"),
    "DeiT": lambda: image("DeiT"),
    "BEiT": lambda: image("Beit", use_relative_position_bias=True),
    "DINOv2": lambda: image("Dinov2"),
    "CLIP's images": lambda: image("CLIPVision"),
    "YOLOS": lambda: image("Yolos", image_size=[32, 32], num_detection_tokens=4),
    "VideoMAE": video,
    "Swin, shifted": lambda: swin(1),
    "Swin 2": lambda: swin(2),
    "LeViT": levit,
    "MobileViT": lambda: (MobileVit(), (torch.randn(1, 3, 16, 16),)),
    "SegFormer": segformer,
    "ConvNeXt": lambda: whole("ConvNext", (1, 3, 32, 32), "eager", "pooler_output", num_stages=2, hidden_sizes=[16, 32], depths=[1, 1]),
    "CCT": lambda: (Cct(), (torch.randn(1, 3, 16, 16),)),
    "MLP-Mixer": lambda: (Mixer(), (torch.randn(1, 3, 32, 32),)),
    "DETR": lambda: (Detr(), (torch.randn(1, 3, 32, 32),)),
    # sound
    "AST": lambda: whole("AST", (1, 44, 20), **LAYERS, patch_size=8, frequency_stride=6, time_stride=6, max_length=44, num_mel_bins=20),
    "Conformer": lambda: (Conformer(), (torch.randn(1, 47, 40),)),
    "keyword transformer with batch norm": lambda: (Keywords(), (torch.randn(1, 49, 40),)),
    "Whisper's encoder": whisper,
    "wav2vec 2": speech,
    "Speech2Text's encoder": speech_to_text,
    # robots, series, tables, sets
    "ACT": lambda: (Act(), (torch.randn(1, 2, 3, 32, 32), torch.randn(1, 7))),
    "Decision Transformer": lambda: (Decision(), (torch.randn(1, 6, 5), torch.randn(1, 6, 3), torch.randn(1, 6, 1), torch.arange(6)[None])),
    "PatchTST": patch_tst,
    "iTransformer": lambda: (ITransformer(), (torch.randn(1, 24, 5),)),
    "FT-Transformer": lambda: (FtTransformer(), (torch.randn(2, 5), torch.randint(0, 3, (2, 3)))),
    "Set Transformer": lambda: (SetTransformer(), (torch.randn(1, 12, 3),)),
    # text
    "BERT with its mask": lambda: text("Bert"),
    "sentence encoder": lambda: text("Bert", pooled=True),
    "DistilBERT with its mask": lambda: text("DistilBert", dim=32, hidden_dim=48, n_layers=2, n_heads=4),
    "RoBERTa": lambda: text("Roberta"),
    "ALBERT": lambda: text("Albert", embedding_size=16),
    "MPNet": lambda: text("MPNet", attention="eager"),
    "DeBERTa 2": lambda: text("DebertaV2", attention="eager", relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8,
                              norm_rel_ebd="layer_norm", share_att_key=True),
    "CLIP's text": lambda: (Call(hugging_face("CLIPText", **WORDS, eos_token_id=99), take="last_hidden_state"), tokens(10)),
    "T5": t5,
    "BART": bart,
    "GPT-2": lambda: causal("GPT2", n_embd=32, n_layer=2, n_head=4, n_positions=40),
    "GPT-NeoX": lambda: causal("GPTNeoX"),
    "Llama": lambda: causal("Llama", num_key_value_heads=2),
    "Qwen 3": lambda: causal("Qwen3", num_key_value_heads=2, head_dim=8),
    "Phi": lambda: causal("Phi"),
    "Gemma 2": lambda: causal("Gemma2", attention="eager", num_key_value_heads=2, head_dim=8),
    "gpt-oss's attention": lambda: (Sinks(), (torch.randn(2, 10, 32),)),
}

REFUSED = {  # by these words
    "aten.topk": lambda: causal("GptOss", attention="eager", num_key_value_heads=2, head_dim=8, num_local_experts=4, num_experts_per_tok=2),
    "aten.lstm": lambda: (Recurrent(nn.LSTM), (torch.randn(1, 8, 16),)),
    "aten.gru": lambda: (Recurrent(nn.GRU), (torch.randn(1, 8, 16),)),
}
