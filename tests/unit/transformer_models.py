"""Transformers as their papers and published configurations describe them, in torch.nn; torch is needed."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Block(nn.Module):
    """An encoder's or GPT's layer: attention and two products, normalised before or after."""

    def __init__(self, d: int, heads: int, inner: int, *, causal: bool = False, post: bool = False) -> None:
        super().__init__()
        self.heads, self.causal, self.post = heads, causal, post
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, inner), nn.Linear(inner, d)

    def attended(self, x: Tensor) -> Tensor:
        n, length, d = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(n, length, d))

    def forward(self, x: Tensor) -> Tensor:
        if self.post:
            x = self.norm1(x + self.attended(x))
            return self.norm2(x + self.down(F.gelu(self.up(x))))
        x = x + self.attended(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Bert(nn.Module):
    """BERT-base with its pooler."""

    def __init__(self, layers: int = 12) -> None:
        super().__init__()
        d = 768
        self.words, self.places, self.kinds = nn.Embedding(30522, d), nn.Embedding(512, d), nn.Embedding(2, d)
        self.norm, self.pooler = nn.LayerNorm(d), nn.Linear(d, d)
        self.layers = nn.ModuleList(Block(d, 12, 3072, post=True) for _ in range(layers))

    def forward(self, tokens: Tensor) -> Tensor:
        place = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.words(tokens) + self.places(place) + self.kinds(torch.zeros_like(tokens)))
        for layer in self.layers:
            x = layer(x)
        return torch.tanh(self.pooler(x[:, 0]))


class Gpt2(nn.Module):
    """GPT-2 small; its head has the weights of the words."""

    def __init__(self, layers: int = 12) -> None:
        super().__init__()
        self.words, self.places, self.norm = (
            nn.Embedding(50257, 768),
            nn.Embedding(1024, 768),
            nn.LayerNorm(768),
        )
        self.layers = nn.ModuleList(Block(768, 12, 3072, causal=True) for _ in range(layers))
        self.head = nn.Linear(768, 50257, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class EncoderLayer(nn.Module):
    """A layer of torchvision's ViT."""

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attention = nn.MultiheadAttention(d, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Dropout(), nn.Linear(4 * d, d))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Vit(nn.Module):
    """ViT-B/16, or a smaller one."""

    def __init__(self, layers: int = 12, d: int = 768, heads: int = 12) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, d, 16, 16)
        self.first, self.places = nn.Parameter(torch.zeros(1, 1, d)), nn.Parameter(torch.zeros(1, 197, d))
        self.layers = nn.Sequential(*(EncoderLayer(d, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, 1000)

    def forward(self, images: Tensor) -> Tensor:
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(images.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.norm(self.layers(x))[:, 0])


def turned(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotary embedding."""
    a, b = x.chunk(2, -1)
    return x * cosine + torch.cat((-b, a), -1) * sine


class Gated(nn.Module):
    """SwiGLU and its products."""

    def __init__(self, d: int, inner: int) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(d, inner, bias=False), nn.Linear(d, inner, bias=False)
        self.down = nn.Linear(inner, d, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    """Experts of which each token takes some; here each gets an equal share of the tokens."""

    def __init__(self, d: int, inner: int, experts: int, active: int) -> None:
        super().__init__()
        self.router = nn.Linear(d, experts, bias=False)
        self.experts, self.active = nn.ModuleList(Gated(d, inner) for _ in range(experts)), active

    def forward(self, x: Tensor) -> Tensor:
        rows = x.flatten(0, 1)
        torch.softmax(self.router(rows), -1)
        given = rows.repeat(self.active, 1).chunk(len(self.experts))
        done = torch.cat([expert(part) for expert, part in zip(self.experts, given, strict=True)])
        return done.view(self.active, *x.shape).sum(0)


class DecoderLayer(nn.Module):
    """A layer of Llama or Qwen-3: RMS normalisation, grouped queries, rotary embedding, SwiGLU."""

    def __init__(
        self, d: int, heads: int, groups: int, head: int, mlp: nn.Module, *, normed: bool = False
    ) -> None:
        super().__init__()
        self.shape = {"q": heads, "k": groups, "v": groups}
        self.head, self.mlp = head, mlp
        self.q, self.k = nn.Linear(d, heads * head, bias=False), nn.Linear(d, groups * head, bias=False)
        self.v, self.out = nn.Linear(d, groups * head, bias=False), nn.Linear(heads * head, d, bias=False)
        self.norm1, self.norm2 = nn.RMSNorm(d), nn.RMSNorm(d)
        self.norms = nn.ModuleList(nn.RMSNorm(head) if normed else nn.Identity() for _ in range(2))

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None) -> Tensor:
        n, length, _ = x.shape
        y = self.norm1(x)
        q, k, v = (
            getattr(self, name)(y).view(n, length, heads, self.head) for name, heads in self.shape.items()
        )
        q, k, v = (part.transpose(1, 2) for part in (self.norms[0](q), self.norms[1](k), v))
        angle = torch.arange(length, device=x.device)[:, None] * torch.ones(self.head, device=x.device)
        cosine, sine = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        q, k = turned(q, cosine, sine), turned(k, cosine, sine)
        if cache is not None:
            k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None, enable_gqa=True)
        x = x + self.out(a.transpose(1, 2).reshape(n, length, -1))
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    """Llama or Qwen-3, forward on new tokens behind caches."""

    def __init__(self, words: int, layers: list[nn.Module], d: int) -> None:
        super().__init__()
        self.words, self.layers = nn.Embedding(words, d), nn.ModuleList(layers)
        self.norm, self.head = nn.RMSNorm(d), nn.Linear(d, words, bias=False)

    def forward(self, tokens: Tensor, cache: tuple[Tensor, Tensor] | None = None) -> Tensor:
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x, cache)
        return self.head(self.norm(x))


def llama(layers: int = 32) -> nn.Module:
    """Llama-3 8B."""
    return Decoder(128256, [DecoderLayer(4096, 32, 8, 128, Gated(4096, 14336)) for _ in range(layers)], 4096)


def qwen(layers: int = 36) -> nn.Module:
    """Qwen3-8B."""
    made = [DecoderLayer(4096, 32, 8, 128, Gated(4096, 12288), normed=True) for _ in range(layers)]
    return Decoder(151936, [*made], 4096)


def experts(layers: int = 48) -> nn.Module:
    """Qwen3-30B-A3B."""
    made = [DecoderLayer(2048, 32, 4, 128, Experts(2048, 768, 128, 8), normed=True) for _ in range(layers)]
    return Decoder(151936, [*made], 2048)


MODELS: dict[str, Any] = {
    "bert_base": Bert,
    "gpt2": Gpt2,
    "vit_b_16": Vit,
    "llama3_8b": llama,
    "qwen3_8b": qwen,
    "qwen3_30b_a3b": experts,
}
"""By suite."""


def block() -> nn.Module:
    """A small layer of Llama in fp16."""
    return DecoderLayer(256, 4, 2, 64, Gated(256, 512)).half()


def vit() -> nn.Module:
    """A small ViT."""
    return Vit(2, 128, 2)
