"""Steps whose results were computed to thirty digits and more from the model's definition."""

import numpy as np
import pytest
import torch

from bnnbench.methods.pbp import independent, reference
from bnnbench.methods.pbp.kernels import moments as pbp_moments
from tests.methods.pbp.states import BACKENDS, filter_of, flat, matrix, moments, state_of, take

both = pytest.mark.parametrize("backend", BACKENDS)


def assert_close(found, expected, rtol=1e-9, atol=1e-11):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=rtol, atol=atol)


# One hidden layer.
M1 = [[0.5, -0.3, 0.2], [-0.8, 0.6, 0.1], [0.25, 0.9, -0.7]]
V1 = [[0.6, 0.4, 1.2], [0.3, 0.9, 0.5], [1.1, 0.2, 0.8]]
M2, V2 = [0.7, -0.4, 0.3, 0.1], [0.5, 0.25, 0.75, 1.0]


@both
def test_a_step_of_one_hidden_layer(backend):
    state = state_of([M1, M2], [V1, V2])
    mean, variance = moments(state, [[1.5, -0.5]])
    assert_close([mean.item(), variance.item()], [0.3483568771, 0.5194932152])
    loss = take(backend, state, [1.5, -0.5], [0.8])
    assert_close(loss, 1.249267763)
    assert_close(
        flat(state.mean, state),
        [
            *(0.50373278, -0.3008295067, 0.20497704),
            *(-0.8021318308, 0.6021318308, 0.09763129917),
            *(0.2394914478, 0.900636882, -0.7050950556),
            *(0.7260226296, -0.3984209211, 0.3168834059, 0.231330301),
        ],
    )
    assert_close(
        flat(state.variance, state),
        [
            *(0.5871069626, 0.3993633068, 1.177079045),
            *(0.2985632953, 0.8985632953, 0.4982262906),
            *(1.080350635, 0.199927826, 0.7953808655),
            *(0.4623204556, 0.2498118905, 0.7304545708, 0.8546083242),
        ],
    )
    assert_close(state.noise[0], [6.527790373, 6.184519221])
    assert state.counts.tolist() == [0, 0, 0]


def test_the_gradients_of_one_hidden_layer():
    def head(mean, variance):
        total, error = variance + 6 / 5, 0.8 - mean
        return 0.0, error / total, 0.5 * (error**2 / total**2 - 1 / total)

    means, variances = ([matrix(a), matrix([b])] for a, b in ((M1, M2), (V1, V2)))
    _, ((first, first_v), (last, last_v)) = independent.gradients(
        means, variances, matrix([1.5, -0.5]), head
    )
    assert_close(
        first,
        [
            [0.006221300034, -0.002073766678, 0.004147533356],
            [-0.007106102503, 0.002368700834, -0.004737401669],
            [-0.009553229314, 0.003184409771, -0.006368819542],
        ],
    )
    assert_close(last, [[0.05204525927, 0.006316315459, 0.02251120784, 0.131330301]])
    assert_close(
        first_v,
        [
            [-0.01788764413, -0.001987516015, -0.007950064059],
            [-0.007956444162, -0.0008840493513, -0.003536197405],
            [-0.008073940344, -0.0008971044826, -0.003588417931],
        ],
    )
    assert_close(last_v, [[-0.07400473431, -0.00148492843, -0.01712033763, -0.0640720139]])


def test_mean_and_variance_of_one_hidden_layer_agree_with_sampled_networks():
    state = state_of([M1, M2], [V1, V2])
    rng = torch.Generator().manual_seed(0)
    draws = 400_000

    def sample(m, v):
        m, v = matrix(m), matrix(v)
        noise = torch.randn(draws, *m.shape, generator=rng, dtype=torch.float64)
        return m + v.sqrt() * noise

    hidden = (sample(M1, V1) @ matrix([1.5, -0.5, 1.0]) / 3**0.5).relu()
    outputs = (sample(M2, V2) * torch.nn.functional.pad(hidden, (0, 1), value=1.0)).sum(1) / 2
    mean, variance = moments(state, [[1.5, -0.5]])
    assert abs(outputs.mean() - mean) < 5 * (variance / draws).sqrt()
    assert outputs.var().item() == pytest.approx(variance.item(), rel=0.01)


@both
def test_a_step_of_two_hidden_layers(backend):
    means = [
        [[0.5, -0.3], [-0.8, 0.6]],
        [[0.4, 0.9, -0.2], [-0.6, 0.3, 0.5]],
        [[0.7, -0.4, 0.1]],
    ]
    variances = [
        [[0.6, 0.4], [0.3, 0.9]],
        [[0.5, 0.2, 0.7], [0.35, 0.8, 0.15]],
        [[0.5, 0.25, 0.75]],
    ]
    by_mean = matrix(
        [
            *(-0.03805035646, -0.03044028517, -0.02498530351, -0.01998824281),
            *(-0.04345092055, -0.02470278666, -0.07896284215),
            *(0.01153976835, 0.007684546172, 0.03298595444),
            *(-0.09659806731, -0.06818568413, -0.2687534265),
        ]
    )
    by_variance = matrix(
        [
            *(-0.01574689396, -0.01007801214, -0.01566038455, -0.01002264611),
            *(-0.01589701216, -0.005949470597, -0.03100676316),
            *(0.004784951781, 0.001790772357, 0.009332940374),
            *(-0.01788792948, -0.01277041892, -0.07232303348),
        ]
    )
    state = state_of(means, variances)
    mean, variance = moments(state, [[1.25]])
    assert_close([mean.item(), variance.item()], [0.1154593266, 0.336987417])
    m, v = flat(state.mean, state), flat(state.variance, state)
    loss = take(backend, state, [1.25], [-0.6])
    assert_close(loss, 0.3814333616 + 0.5 * np.log(2 * np.pi))
    assert_close(flat(state.mean, state), m + v * by_mean)
    assert_close(flat(state.variance, state), v - v**2 * (by_mean**2 - 2 * by_variance))
    assert_close(state.noise[0], [6.507027095, 6.221990709])


@both
@pytest.mark.parametrize("learns_noise", [True, False])
def test_without_hidden_layers_a_step_is_exact_linear_regression(backend, learns_noise):
    noise = [[101.0, 10.0]] if learns_noise else [[2.0, 0.1]]
    state = state_of([[0.5, -0.3, 0.2]], [[0.6, 0.4, 1.2]], noise, learns_noise)
    take(backend, state, [1.5, -0.5], [0.8])
    assert_close(flat(state.mean, state), [0.5871446039, -0.3193654675, 0.3161928052])
    assert_close(flat(state.variance, state), [0.3254237288, 0.386440678, 0.7118644068])
    if not learns_noise:
        assert state.noise.tolist() == noise


@both
def test_a_weight_whose_variance_would_be_negative_stays_and_is_counted(backend):
    state = state_of([[-1.0, 0.5], [2.0, 0.1]], [[2.0, 0.1], [0.3, 0.5]], [[6.0, 1.0]])
    mean, variance = moments(state, [[1.0]])
    assert_close([mean.item(), variance.item()], [0.4329076397, 0.7481986992])
    take(backend, state, [1.0], [0.0])
    assert_close(flat(state.mean, state), [-1, 0.4615746031, 1.917533573, -0.06141760578])
    assert_close(flat(state.variance, state), [2, 0.09481368074, 0.2820523251, 0.368171091])
    assert_close(state.noise[0], [6.165622599, 1.013020775])
    assert state.counts.tolist() == [1, 0, 0]


# Three epochs of four rows.
ORDER = torch.tensor([2, 0, 3, 1])


def three_epochs(backend):
    state = state_of([[[0.5, -0.3], [-0.8, 0.6]], [0.7, -0.4, 0.1]], 1.2)
    inputs = (np.array([-1.5, -0.5, 0.5, 2.0]) - 0.125) / np.std([-1.5, -0.5, 0.5, 2.0])
    targets = (np.array([1.2, -0.3, 0.4, 2.5]) - 0.95) / np.std([1.2, -0.3, 0.4, 2.5])
    return state, filter_of(backend, state, inputs[:, None], targets[:, None])


@both
def test_three_epochs_with_refinement(backend):
    state, rows = three_epochs(backend)
    rows.take(ORDER)
    assert_close(
        flat(state.mean, state),
        [
            *(0.6708400803, -0.4127859308, -0.6636369876, 0.4289127343),
            *(0.8098839257, -0.3681039355, -0.05185631127),
        ],
    )
    assert_close(
        flat(state.variance, state),
        [
            *(1.18482674, 0.9798289447, 0.9712328632, 1.039564864),
            *(1.004998192, 0.6447755709, 0.6108433941),
        ],
    )
    assert_close(state.noise[0], [7.129345156, 6.70870995])
    rows.refine()
    assert_close(
        flat(state.mean, state),
        [
            *(0.6708400803, -0.4272625467, -0.6835989828, 0.4512197135),
            *(0.8522442885, -0.390416942, -0.05343572635),
        ],
    )
    assert_close(
        flat(state.factor_precision, state),
        [
            *(0.8333333333, 0.7987535744, 0.8032670899, 0.7857777949),
            *(0.7838760461, 0.7446951467, 0.7849456666),
        ],
    )
    assert_close(
        flat(state.factor_shape, state),
        [
            *(-0.3408262487, 0.05054544386, -0.1430223564, -0.01208102454),
            *(-0.3315031964, 0.3637594374, 0.4546870251),
        ],
        rtol=1e-8,
    )
    assert_close(
        flat(state.factor_rate, state),
        [
            *(0.1669447241, -0.03014919812, 0.05151461902, 0.001312261521),
            *(0.1394495139, -0.1726254944, -0.184004685),
        ],
        rtol=1e-8,
    )
    assert_close(state.prior, [6.04155908, 6.027558259])
    for shape_rate in ([6.404770937, 6.170493873], [6.345012325, 6.17411119]):
        rows.take(ORDER)
        rows.refine()
        assert_close(state.prior, shape_rate)
    assert_close(
        flat(state.mean, state),
        [
            *(1.076548681, -0.4926578357, -0.5363965878, 0.2702996684),
            *(1.085769623, -0.3261061453, -0.186249749),
        ],
    )
    assert_close(
        flat(state.variance, state),
        [
            *(1.073820729, 0.6692706413, 0.7364980763, 0.884883112),
            *(0.7015655327, 0.3624978431, 0.2731381405),
        ],
    )
    assert_close(
        flat(state.factor_precision, state),
        [
            *(0.9301266385, 0.8240444224, 0.8472061805, 0.8492365494),
            *(0.9101535079, 0.7954036543, 0.7907803314),
        ],
    )
    assert_close(state.noise[0], [9.929785632, 8.281657888])


@both
def test_predictions_after_three_epochs(backend):
    state, rows = three_epochs(backend)
    for _ in range(3):
        rows.take(ORDER)
        rows.refine()
    scale = np.std([1.2, -0.3, 0.4, 2.5])
    inputs = (np.array([0.0, 1.0, 3.0]) - 0.125) / np.std([-1.5, -0.5, 0.5, 2.0])
    mean, variance = moments(state, inputs[:, None])
    assert_close(mean[:, 0] * scale + 0.95, [0.8127536132, 1.04060032, 1.791296317])
    assert_close(variance[:, 0] * scale**2, [0.1840306639, 0.3501642654, 2.157921461])
    assert_close(state.noise_variance * scale**2, [1.003931677])


# Shape and rate after one factor of a Gaussian with variance v and residual r.
GAMMAS = [
    (6, 6, 0.7, 0.5, 6.474127458, 6.19937176),
    (6, 6, -2.5, 0.03, 6.416069404, 9.615805783),
    (40.5, 55.25, 1.3, 4, 40.66700151, 55.35584281),
    (6, 6, 0.75, 0.1, 6.586200933, 6.301484967),
    (200, 21.5, -0.05, 0.02, 200.488724, 21.50791435),
]


@pytest.mark.parametrize("update", [pbp_moments.gamma_update, reference.gamma_update])
@pytest.mark.parametrize(("shape", "rate", "error", "variance", "new_shape", "new_rate"), GAMMAS)
def test_the_gamma_of_a_precision(update, shape, rate, error, variance, new_shape, new_rate):
    found = update(float(shape), float(rate), error**2, float(variance))
    assert_close(found, (new_shape, new_rate))


@both
@pytest.mark.parametrize(
    ("cavity_mean", "cavity_variance", "shape", "rate", "mean", "variance", "a", "b"),
    [
        (0.7, 0.5, 6, 6, 0.4941176471, 0.3529411765, 6.474127458, 6.19937176),
        (-2.5, 0.03, 6, 6, -2.43902439, 0.02926829268, 6.416069404, 9.615805783),
        (1.3, 4, 40.5, 55.25, 0.3368112544, 1.036342321, 40.66700151, 55.35584281),
    ],
)
def test_the_refinement_of_one_weight(
    backend, cavity_mean, cavity_variance, shape, rate, mean, variance, a, b
):
    state = state_of([[cavity_mean, 0.0]], [[cavity_variance, 1.0]])
    precision = matrix([[0.0, 1.0]])  # the second weight has no cavity
    state.layout.layers(state.factor_precision)[0].copy_(precision)
    state.prior[:] = matrix([shape, rate])
    filter_of(backend, state, [[0.0]], [[0.0]]).refine()
    assert_close(flat(state.mean, state), [mean, 0])
    assert_close(flat(state.variance, state), [variance, 1])
    assert_close(state.prior, [a, b])
    assert_close(flat(state.factor_precision, state)[0], (shape - 1) / rate)
    assert_close(flat(state.factor_shape, state)[0], a - shape, atol=1e-8)
    assert_close(flat(state.factor_rate, state)[0], rate - b, atol=1e-8)
    assert state.counts.tolist() == [0, 1, 0]


@both
@pytest.mark.parametrize("variance", [1.5, 1.2, 1.2000001])
def test_a_factor_without_a_proper_cavity_is_skipped_and_counted(backend, variance):
    state = state_of([[0.3, -0.2]], variance)
    before = {
        name: value.clone()
        for name, value in vars(state).items()
        if name != "layout" and isinstance(value, torch.Tensor)
    }
    filter_of(backend, state, [[0.0]], [[0.0]]).refine()
    assert state.counts.tolist() == [0, 2, 0]
    for name, value in before.items():
        assert name == "counts" or torch.equal(getattr(state, name), value)
