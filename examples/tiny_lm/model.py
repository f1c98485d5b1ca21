"""A byte-level language model: a small transformer that reads and writes bytes, one after the other."""

from __future__ import annotations

import torch
from torch import Tensor, nn

END = 10  # a line break ends an answer
LENGTH = 96


class TinyLM(nn.Module):
    """Two layers, four heads, 128 numbers per byte: about 0.5 million parameters."""

    def __init__(self, width: int = 128, layers: int = 2, heads: int = 4) -> None:
        super().__init__()
        self.bytes = nn.Embedding(128, width)
        self.places = nn.Embedding(LENGTH, width)
        block = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, 128)

    def forward(self, x: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        hidden = self.bytes(x) + self.places(torch.arange(x.shape[1]))
        return self.out(self.norm(self.blocks(hidden, mask=mask, is_causal=True)))


def batch_of(pairs: list[tuple[str, str]]) -> tuple[Tensor, Tensor]:
    """Questions with their answers as bytes, and which of them are to be predicted: those of the answer."""
    x = torch.zeros(len(pairs), LENGTH, dtype=torch.long)
    wanted = torch.zeros(len(pairs), LENGTH, dtype=torch.bool)
    for row, (question, answer) in enumerate(pairs):
        text = f"{question} {answer}\n".encode("ascii")
        x[row, : len(text)] = torch.tensor(list(text))
        wanted[row, len(question) + 1 : len(text)] = True
    return x, wanted


def train(
    model: TinyLM, pairs: list[tuple[str, str]], steps: int, seed: int, lr: float = 1e-3, size: int = 64
) -> float:
    """Train on the answers; the mean loss of the last steps."""
    choose = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=lr)
    losses: list[float] = []
    for _ in range(steps):
        rows = torch.randint(len(pairs), (size,), generator=choose).tolist()
        x, wanted = batch_of([pairs[row] for row in rows])
        longest = int(wanted.any(0).nonzero().max()) + 1
        x, wanted = x[:, :longest], wanted[:, :longest]
        scores = model(x[:, :-1])
        loss = nn.functional.cross_entropy(scores[wanted[:, 1:]], x[:, 1:][wanted[:, 1:]])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    return sum(losses[-20:]) / len(losses[-20:])


@torch.no_grad()
def answers(model: TinyLM, questions: list[str], longest: int = 16) -> list[str]:
    """What the model writes after each question, byte by byte, the most likely one each time."""
    texts = [list(f"{question} ".encode("ascii")) for question in questions]
    begins = [len(text) for text in texts]
    done = [False] * len(texts)
    for _ in range(longest):
        width = max(map(len, texts))
        x = torch.zeros(len(texts), width, dtype=torch.long)
        for row, text in enumerate(texts):
            x[row, : len(text)] = torch.tensor(text)
        scores = model(x)
        for row, text in enumerate(texts):
            if not done[row]:
                text.append(int(scores[row, len(text) - 1].argmax()))
                done[row] = text[-1] == END or len(text) >= LENGTH
        if all(done):
            break
    return [bytes(t[begin:]).decode("ascii", "replace").strip() for t, begin in zip(texts, begins, strict=True)]
