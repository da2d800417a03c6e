"""Any module, laid flat: its trainable parameters as views of one vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fedadp.errors import ModelError


class Flat:
    """A module whose trainable parameters can be laid over any vector, without a copy.

    >>> flat = Flat(nn.Linear(2, 1))
    >>> flat.lay_over(torch.tensor([1.0, 2.0, 3.0]))
    >>> flat.module(torch.tensor([10.0, 100.0])).item()
    213.0
    """

    def __init__(self, module: nn.Module) -> None:
        named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        if not named:
            raise ModelError(
                "model: it has no trainable parameters, so there is nothing to learn; "
                "give it at least one layer with requires_grad"
            )
        dtypes = sorted({str(p.dtype) for _, p in named})
        if len(dtypes) > 1:
            raise ModelError(f"model: its parameters are of {' and '.join(dtypes)}; use one type")
        if not named[0][1].is_floating_point():
            raise ModelError(f"model: its parameters are of {dtypes[0]}; use a type of float")
        self.module = module
        self.names = [name for name, _ in named]
        self.parameters = [p for _, p in named]
        self.size = sum(p.numel() for p in self.parameters)
        self.dtype = self.parameters[0].dtype
        self._buffers = [buffer for _, buffer in module.named_buffers()]

    def read(self) -> Tensor:  # (P,)
        """The parameters, copied out."""
        return torch.cat([p.detach().reshape(-1) for p in self.parameters])

    def cast(self, x: Tensor) -> Tensor:
        """Inputs in the model's precision; whole numbers stay what they are."""
        return x.to(self.dtype) if x.is_floating_point() else x

    def pieces(self, vector: Tensor) -> list[Tensor]:
        """The vector, cut into views in the shapes of the parameters."""
        if vector.shape != (self.size,):
            raise ModelError(f"parameters: {vector.numel()} where the model has {self.size}")
        sizes = [p.numel() for p in self.parameters]
        cuts = zip(torch.split(vector, sizes), self.parameters, strict=True)
        return [piece.view(p.shape) for piece, p in cuts]

    def stacks(self, rows: Tensor) -> list[Tensor]:  # rows (k, P)
        """The parameters of k models, each a view of shape (k, ...)."""
        cuts = torch.split(rows, [p.numel() for p in self.parameters], dim=1)
        pairs = zip(cuts, self.parameters, strict=True)
        return [cut.view(len(rows), *p.shape) for cut, p in pairs]

    def lay_over(self, vector: Tensor) -> None:
        """From here on the parameters are this memory: training the module trains the vector."""
        for p, piece in zip(self.parameters, self.pieces(vector), strict=True):
            p.data = piece

    def read_buffers(self) -> Tensor:  # (Q,) float64, which holds a counter exactly
        """What is not trained but learnt, such as BatchNorm's statistics."""
        if not self._buffers:
            return torch.zeros(0, dtype=torch.float64)
        return torch.cat([b.detach().double().reshape(-1) for b in self._buffers])

    def write_buffers(self, vector: Tensor) -> None:
        sizes = [b.numel() for b in self._buffers]
        if vector.shape != (sum(sizes),):
            raise ModelError(f"buffers: {vector.numel()} where the model has {sum(sizes)}")
        pieces = torch.split(vector, sizes)
        for b, piece in zip(self._buffers, pieces, strict=True):
            b.data.copy_(
                piece.view(b.shape) if b.is_floating_point() else piece.round().view(b.shape)
            )
