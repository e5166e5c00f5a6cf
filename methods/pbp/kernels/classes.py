"""Derivatives of the log probability of a label by the moments of its logits."""

import math

from bnnbench.methods.compiled.numba_code import fused_inline
from bnnbench.methods.pbp.kernels.constants import LOGIT_NOISE_VARIANCE
from bnnbench.methods.pbp.kernels.moments import LOG_ROOT_TAU, mills_ratio


@fused_inline
def normal_tail(argument):
    r"""Return log Φ and the hazard φ/Φ."""
    ratio = mills_ratio(abs(argument))
    log_density = -0.5 * argument * argument - LOG_ROOT_TAU
    if argument < 0:
        return log_density + math.log(ratio), 1 / ratio
    density = math.exp(log_density)
    return math.log1p(-density * ratio), density / (1 - density * ratio)


@fused_inline
def two_classes(outputs, label):
    """Write the derivatives of log Z by the moments of two logits; return log Z."""
    variance = outputs[1, 0] + outputs[1, 1] + 2 * LOGIT_NOISE_VARIANCE
    std = math.sqrt(variance)
    argument = (outputs[0, label] - outputs[0, 1 - label]) / std
    log_z, hazard = normal_tail(argument)
    outputs[2, label], outputs[2, 1 - label] = hazard / std, -hazard / std
    outputs[3, 0] = outputs[3, 1] = -0.5 * hazard * argument / variance
    return log_z


@fused_inline
def many_classes(outputs, label, nodes, log_weights, hazards, arguments, shares):
    r"""Write the derivatives of log Z by the moments of the logits; return log Z.

    With $a_{qj}$ the argument of $\Phi$ at node $u_q$, $h = \varphi/\Phi$ and the share $r_q$ of
    the node in Z: $\partial m_j = -\sum_q r_q h_{qj}/s_j$ and
    $\partial v_j = -\sum_q r_q h_{qj} a_{qj} / (2 s_j^2)$ for another class,
    $\partial m_y = \sum_{qj} r_q h_{qj}/s_j$ and
    $\partial v_y = \sum_{qj} r_q h_{qj} u_q/(2 s_j s_y)$ for the label's own.
    """
    classes, count_nodes = outputs.shape[1], len(nodes)
    std = math.sqrt(outputs[1, label] + LOGIT_NOISE_VARIANCE)
    largest = -math.inf
    for q in range(count_nodes):
        shares[q] = log_weights[q]
        for j in range(classes):
            if j != label:
                other = math.sqrt(outputs[1, j] + LOGIT_NOISE_VARIANCE)
                arguments[q, j] = (outputs[0, label] + std * nodes[q] - outputs[0, j]) / other
                log_probability, hazard = normal_tail(arguments[q, j])
                hazards[q, j] = hazard / other
                shares[q] += log_probability
        largest = max(largest, shares[q])
    normaliser = 0.0
    for q in range(count_nodes):
        shares[q] = math.exp(shares[q] - largest)
        normaliser += shares[q]
    for j in range(classes):
        outputs[2, j] = outputs[3, j] = 0.0
    for q in range(count_nodes):
        for j in range(classes):
            if j != label:
                slope = shares[q] / normaliser * hazards[q, j]
                outputs[2, j] -= slope
                outputs[2, label] += slope
                variance = outputs[1, j] + LOGIT_NOISE_VARIANCE
                outputs[3, j] -= slope * arguments[q, j] / (2 * math.sqrt(variance))
                outputs[3, label] += slope * nodes[q] / (2 * std)
    return largest + math.log(normaliser)
