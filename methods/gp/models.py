"""Gaussian processes with inducing points as modules. Importing this needs gpytorch."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from bnnbench.methods.gp.package import import_gpytorch
from bnnbench.methods.networks.torch_network import TorchNetwork

gpytorch = import_gpytorch()
linear_operator = gpytorch.linear_operator

LEAST_NOISE = 1e-6
"""Minimum noise variance, in squared standardised target units."""
INNER_STD = 1e-2
"""Initial standard deviation of a hidden process at its inducing points: nearly deterministic."""


class SparseGp(gpytorch.models.ApproximateGP):
    """A sparse process with inducing points; RBF kernel, one length scale per dimension.

    With an `embedding`, the kernel sees its outputs.
    """

    def __init__(
        self,
        places: Float[Tensor, "inducing features"],
        outputs: int | None = None,
        embedding: "NetworkModule | None" = None,
        constant_mean: bool = True,
    ) -> None:
        variational, batch = gpytorch.variational, torch.Size([] if outputs is None else [outputs])
        strategy = variational.VariationalStrategy(
            self,
            places.clone(),
            variational.CholeskyVariationalDistribution(len(places), batch_shape=batch),
            learn_inducing_locations=True,
        )
        super().__init__(strategy)
        self.outputs, self.constant_mean = outputs, constant_mean
        width = embedding.width if embedding else places.shape[1]
        means = gpytorch.means
        self.mean_module = means.ConstantMean() if constant_mean else means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(
            gpytorch.kernels.RBFKernel(ard_num_dims=width)
        )
        self.covar_module.base_kernel.lengthscale = width**0.5
        self.embedding = embedding
        self.to(places)
        # Otherwise gpytorch would initialise the mean from the global generator.
        strategy.variational_params_initialized.fill_(1)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the constructor, in its order, that make a module of this shape."""
        places = self.variational_strategy.inducing_points
        return places, self.outputs, self.embedding, self.constant_mean

    def forward(self, x: Tensor) -> Any:
        """Return the prior at some points, as a gpytorch distribution."""
        features = self.embedding(x) if self.embedding else x
        return gpytorch.distributions.MultivariateNormal(
            self.mean_module(features), self.covar_module(features)
        )

    def covariance(
        self, a: Float[Tensor, "some features"], b: Float[Tensor, "others features"]
    ) -> Float[Tensor, "some others"]:
        """Return the prior covariances between two sets of points."""
        if self.embedding:
            a, b = self.embedding(a), self.embedding(b)
        return self.covar_module(a, b).to_dense()


class OrthogonalMean(nn.Module):
    r"""A mean with its own inducing points, independent of the covariance's.

    Let γ be the inducing points of the covariance and
    $R(x, x') = k(x, x') - k(x, \gamma) K_{\gamma\gamma}^{-1} k(\gamma, x')$ the part of the
    kernel that they leave. This adds $R(x, \beta) a$ to the mean and
    $\tfrac12 a^T R(\beta, \beta) a$ to the divergence. gpytorch's own strategy uses the posterior
    covariance instead of R, and its objective can exceed the evidence.

    Source: Salimbeni et al. (2018), "Orthogonally Decoupled Variational Gaussian Processes".
    """

    def __init__(self, gp: SparseGp, places: Float[Tensor, "mean_inducing features"]) -> None:
        super().__init__()
        self.gp, self.places = gp, nn.Parameter(places.clone())
        self.weights = nn.Parameter(places.new_zeros(len(places)))

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the constructor, in its order, that make a module of this shape."""
        return self.gp, self.places

    def forward(self, x: Float[Tensor, "points features"]) -> Float[Tensor, " points"]:
        """Return the term added to the mean."""
        return self._remaining_kernel(x) @ self.weights

    def kl(self) -> Float[Tensor, ""]:
        """Return the term added to the divergence from the prior, in nats."""
        return 0.5 * self.weights @ self._remaining_kernel(self.places) @ self.weights

    def _remaining_kernel(self, x: Tensor) -> Tensor:
        """Return R between some points and the mean's inducing points."""
        strategy, gp = self.gp.variational_strategy, self.gp
        inducing = strategy.inducing_points
        kernel = gp.covariance(inducing, inducing)
        kernel = kernel + strategy.jitter_val * torch.eye(len(kernel)).to(kernel)
        root = linear_operator.utils.cholesky.psd_safe_cholesky(kernel)
        halves = [
            torch.linalg.solve_triangular(root, gp.covariance(inducing, points), upper=False)
            for points in (x, self.places)
        ]
        return gp.covariance(x, self.places) - halves[0].mT @ halves[1]


class NetworkModule(nn.Module):
    """A network, with its weights as parameters."""

    def __init__(self, network: TorchNetwork, weights: Float[Tensor, "1 parameters"]) -> None:
        super().__init__()
        self.network, self.width = network, network.output_shape[0]
        self.weights = nn.Parameter(weights.clone())

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the constructor, in its order, that make a module of this shape."""
        return self.network, self.weights

    def forward(self, x: Float[Tensor, "points features"]) -> Float[Tensor, "points width"]:
        """Return the network's outputs."""
        return self.network(self.weights, x.unsqueeze(0))[0]


class GpRegression(nn.Module):
    """A process of the inputs or of draws of hidden processes, with Gaussian target noise."""

    def __init__(
        self,
        outer: SparseGp,
        noise_std: float | None,
        inner: SparseGp | None = None,
        further_mean: OrthogonalMean | None = None,
    ) -> None:
        super().__init__()
        self.outer, self.inner, self.further_mean = outer, inner, further_mean
        self.noise_std = noise_std
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood(
            noise_constraint=gpytorch.constraints.GreaterThan(LEAST_NOISE)
        )
        self.likelihood.noise = 0.1 if noise_std is None else noise_std**2
        self.likelihood.raw_noise.requires_grad_(noise_std is None)
        self.to(next(outer.parameters()))

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the constructor, in its order, that make a module of this shape."""
        return self.outer, self.noise_std, self.inner, self.further_mean

    @property
    def hidden(self) -> int:
        """Number of hidden processes, which are drawn before the last process."""
        if self.inner is None:
            return 0
        return self.inner.variational_strategy.variational_distribution.batch_shape[0]

    def latent(
        self,
        x: Float[Tensor, "points features"],
        standard: Float[Tensor, "draws #points hidden"] | None,
    ) -> tuple[Float[Tensor, "draws points"], Float[Tensor, "draws points"]]:
        """Return means and variances of the last process, given standard normals for the others."""
        if self.inner is None:
            f = self.outer(x)
            mean = f.mean + self.further_mean(x) if self.further_mean else f.mean
            return mean.unsqueeze(0), f.variance.unsqueeze(0)
        assert standard is not None
        h = self.inner(x)
        hidden_draws = h.mean.mT + h.variance.mT.sqrt() * standard
        hidden_draws = hidden_draws + skipped(x, self.hidden)
        f = self.outer(hidden_draws.flatten(0, 1))
        shape = hidden_draws.shape[:2]
        return f.mean.view(shape), f.variance.view(shape)

    def loss(
        self,
        x: Float[Tensor, "points features"],
        y: Float[Tensor, " points"],
        standard: Float[Tensor, "draws points hidden"] | None,
        rows: int,
    ) -> Float[Tensor, ""]:
        """Return the negative ELBO per row, estimated on these points, in nats."""
        mean, variance = self.latent(x, standard)
        f = gpytorch.distributions.MultivariateNormal(
            mean, linear_operator.operators.DiagLinearOperator(variance)
        )
        expected = self.likelihood.expected_log_prob(y.expand_as(mean), f)
        kl = sum(gp.variational_strategy.kl_divergence().sum() for gp in self.processes())
        if self.further_mean:
            kl = kl + self.further_mean.kl()
        return kl / rows - expected.mean()

    def processes(self) -> Sequence[SparseGp]:
        """Return all processes."""
        return [gp for gp in (self.inner, self.outer) if gp is not None]

    def noise_variance(self) -> float:
        """Return the noise variance, in squared standardised target units."""
        return float(self.likelihood.noise.detach())


def two_layers(
    places: Float[Tensor, "inducing features"], width: int, noise_std: float | None
) -> GpRegression:
    """Return two layers with `width` hidden processes, each added to an input."""
    inner = SparseGp(places, outputs=width, constant_mean=False)
    covariance = inner.variational_strategy._variational_distribution.chol_variational_covar
    covariance.data.mul_(INNER_STD)
    return GpRegression(SparseGp(skipped(places, width)), noise_std, inner=inner)


def skipped(x: Float[Tensor, "points features"], width: int) -> Float[Tensor, "points width"]:
    """Return the first inputs, which are the mean of the hidden processes, padded with 0."""
    return nn.functional.pad(x[:, :width], (0, max(0, width - x.shape[1])))
