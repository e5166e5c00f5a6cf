"""Networks of torch's own modules, which take the same weights."""

import torch
from torch import nn

from bnnbench.methods.networks.architectures import (
    AvgPool2d,
    BatchNorm,
    Conv2d,
    FeatureResponseNorm,
    Flatten,
    GlobalAvgPool2d,
    LeakyReLU,
    Linear,
    MaxPool2d,
    ReLU,
    Residual,
    Sigmoid,
    Swish,
    Tanh,
)


class Sum(nn.Module):
    def __init__(self, body, shortcut):
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x):
        return self.body(x) + self.shortcut(x)


class FilterResponseNorm(nn.Module):
    def __init__(self, channels, epsilon):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels, 1, 1))
        self.bias = nn.Parameter(torch.zeros(channels, 1, 1))
        self.threshold = nn.Parameter(torch.zeros(channels, 1, 1))
        self.epsilon = epsilon

    def forward(self, x):
        scale = (x.pow(2).mean(dim=[2, 3], keepdim=True) + self.epsilon).sqrt()
        return torch.max(self.weight * x / scale + self.bias, self.threshold)


def module(architecture, shape):
    """Return the network of torch's own modules, nested like the description."""
    layers = []
    for layer in architecture:
        width = shape[0]
        match layer:
            case Linear(outputs, bias):
                layers.append(nn.Linear(width, outputs, bias))
            case Conv2d(channels, kernel, stride, int(padding), bias):
                layers.append(nn.Conv2d(width, channels, kernel, stride, padding, bias=bias))
            case Conv2d(channels, kernel, stride, (before, after), bias):
                pad = nn.ZeroPad2d((before, after, before, after))
                layers.append(nn.Conv2d(width, channels, kernel, stride, bias=bias))
                layers[-1].register_forward_pre_hook(lambda _, x, pad=pad: pad(x[0]))
            case LeakyReLU(slope):
                layers.append(nn.LeakyReLU(slope))
            case MaxPool2d(size):
                layers.append(nn.MaxPool2d(size))
            case AvgPool2d(size):
                layers.append(nn.AvgPool2d(size))
            case GlobalAvgPool2d():
                layers.append(nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()))
            case BatchNorm(momentum, epsilon):
                norm = nn.BatchNorm2d if len(shape) == 3 else nn.BatchNorm1d
                layers.append(norm(width, epsilon, momentum))
            case FeatureResponseNorm(epsilon):
                layers.append(FilterResponseNorm(width, epsilon))
            case Residual(body, shortcut):
                layers.append(Sum(module(body, shape), module(shortcut, shape)))
            case _:
                plain = {ReLU: nn.ReLU, Tanh: nn.Tanh, Sigmoid: nn.Sigmoid, Swish: nn.SiLU}
                plain |= {Flatten: nn.Flatten}
                layers.append(plain[type(layer)]())
        shape = layers[-1].eval()(torch.zeros(1, *shape)).shape[1:]
    return nn.Sequential(*layers)


def load(twin, network, weights):
    with torch.no_grad():
        for part in network.parameters:
            values = weights[part.offset : part.stop]
            parameter = twin.get_parameter(part.path)
            parameter.copy_(values.view(parameter.shape))


def running_names(part):
    return part.path.replace("running_variance", "running_var")
