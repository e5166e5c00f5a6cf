"""Networks as users write them in PyTorch."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from bnnbench.methods.networks.architectures import TorchModule


class Mlp(nn.Module):
    """Four features, or any number, to one output; equals our `mlp([16, 8], outputs)`."""

    def __init__(self, features: int = 4, outputs: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        self.first = nn.Linear(features, 16)
        self.second = nn.Linear(16, 8)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(8, outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.second(torch.relu(self.first(x))))
        return self.head(self.drop(x))


class BasicBlock(nn.Module):
    """The block of torchvision's ResNet-18 and -34."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.downsample = None
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x: Tensor) -> Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    """Torchvision's names and order of layers, with fewer channels and blocks."""

    def __init__(
        self, channels: int = 2, width: int = 4, classes: int = 3, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = nn.Sequential(BasicBlock(width, width, 1))
        self.layer2 = nn.Sequential(BasicBlock(width, 2 * width, 2))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()
        self.fc = nn.Linear(2 * width, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.avgpool(self.layer2(self.layer1(x)))
        return self.fc(self.dropout(torch.flatten(x, 1)))


class WithAdapter(nn.Module):
    """A frozen dense layer and a trained product of two narrow ones (LoRA)."""

    def __init__(self, base: nn.Linear, rank: int = 2) -> None:
        super().__init__()
        self.base = base
        self.lora_down = nn.Linear(base.in_features, rank, bias=False)
        self.lora_up = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.lora_up.weight)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.lora_up(self.lora_down(x))


def adapted_mlp(outputs: int = 1) -> nn.Module:
    network = Mlp(outputs=outputs)
    network.first, network.second = WithAdapter(network.first), WithAdapter(network.second)
    return network


class Undisciplined(nn.Module):
    """Draws outside of layers, keeps a count, replaces a buffer, uses one weight twice."""

    def __init__(self, outputs: int = 1) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.again = nn.Linear(4, 4)
        self.again.weight = self.linear.weight
        self.norm = nn.BatchNorm1d(4, momentum=None)
        self.register_buffer("largest", torch.zeros(()))
        self.register_buffer("table", torch.arange(4))
        self.head = nn.Linear(4, outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = self.again(torch.tanh(self.linear(x))) * self.scale
        if self.training:
            self.largest = torch.maximum(self.largest, x.detach().abs().max())
        return self.head(functional.dropout(self.norm(x), 0.5, self.training)[:, self.table])


def tokens(outputs: int = 3) -> nn.Module:
    """A dense layer at several positions of a sequence, then one for all of them together."""
    return nn.Sequential(
        nn.Unflatten(1, (2, 2)),
        nn.Linear(2, 3),
        nn.ReLU(inplace=True),
        nn.LayerNorm(3),
        nn.Flatten(),
        nn.Linear(6, outputs),
    )


def attention(outputs: int = 3) -> nn.Module:
    """A block of a transformer."""
    block = nn.TransformerEncoderLayer(2, 1, 4, dropout=0.0, batch_first=True)
    return nn.Sequential(nn.Unflatten(1, (2, 2)), block, nn.Flatten(), nn.Linear(4, outputs))


MLP = (TorchModule(Mlp, outputs=1),)
CLASSIFIER = (TorchModule(Mlp, outputs=3, arguments={"outputs": 3}),)
RESNET = (TorchModule(ResNet, outputs=3),)
