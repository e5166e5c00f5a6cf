// The decision on methods, identical to bnnbench.reports.judge; methods are rows, runs columns.

const FEW_RUNS = 10;
const FEWEST_METHODS = 6;
const MANY_METHODS = 12;
const LEVEL = 0.05;
const CAUTIOUS_LEVEL = 0.02;

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

const square = (count, entry) =>
  Array.from({ length: count }, (_, i) => Array.from({ length: count }, (_, j) => entry(i, j)));

function levelOf(methods, runs) {
  const uncertain = runs < FEW_RUNS && FEWEST_METHODS <= methods && methods < MANY_METHODS;
  return uncertain ? CAUTIOUS_LEVEL : LEVEL;
}

// All pairs' mean differences, the variance of one difference, and its degrees of freedom.
function differences(scores, moments) {
  const count = scores.length;
  const runs = scores[0].length;
  const freedom = runs - 1;
  const gap = (i, j) => scores[i].map((value, k) => value - scores[j][k]);
  const means = square(count, (i, j) => mean(gap(i, j)));
  const paired = square(count, (i, j) => variance(gap(i, j)));
  const plain = { mean: means, variance: paired, freedom: square(count, () => freedom) };
  if (runs >= FEW_RUNS || count < FEWEST_METHODS) return plain;
  const own = residualVariances(scores);
  if (!own.every((value) => value > 1e-12 * median(own))) return plain;
  const shrunk = moderated(own, freedom, moments[freedom][count]);
  const parts = shrunk.variance.map((v, k) => (v * v) / shrunk.freedom[k]);
  const both = (i, j) => shrunk.variance[i] + shrunk.variance[j];
  const ofPair = square(count, (i, j) => both(i, j) ** 2 / (parts[i] + parts[j]));
  const total = square(count, (i, j) => {
    if (i === j) return 0;
    const f = ofPair[i][j];
    const pooled = (f * both(i, j) + freedom * paired[i][j]) / (f + freedom);
    return Math.max(both(i, j), pooled);
  });
  return { mean: means, variance: total, freedom: ofPair };
}

function residualVariances(scores) {
  const centred = scores.map((row) => {
    const centre = mean(row);
    return row.map((value) => value - centre);
  });
  return centred.map((row, m) =>
    variance(row.map((value, k) => value - median(centred.filter((_, o) => o !== m).map((r) => r[k]))))
  );
}

function moderated(variances, d, [centre, spread]) {
  const count = variances.length;
  let logs = variances.map((v) => Math.log(Math.max(v, 1e-300)));
  const top = [...logs].sort((a, b) => a - b)[count - 1 - Math.ceil(count / 10)];
  logs = logs.map((l) => Math.min(l, top) - digamma(d / 2) + Math.log(d / 2));
  const prior = 2 * inverseTrigamma(Math.max(variance(logs) - spread, 1e-6));
  const common = Math.exp(mean(logs) - centre + digamma(prior / 2) - Math.log(prior / 2));
  const weight = Math.min(prior / 2, 2 * d);
  const largestFirst = variances.map((_, m) => m).sort((a, b) => variances[b] - variances[a] || a - b);
  const share = [];
  let largest = 0;
  largestFirst.forEach((m, rank) => {
    const tail = exceedsF(variances[m] / common, d, weight);
    largest = Math.max(largest, Math.min(tail / ((rank + 0.5) / count), 1));
    share[m] = largest;
  });
  const weights = share.map((s) => s * weight);
  return {
    variance: variances.map((v, m) => (weights[m] * common + d * v) / (weights[m] + d)),
    freedom: weights.map((w) => w + d),
  };
}

// The p-value of the hypothesis that a true difference is at most 0.
function oneSided(difference, squaredError, freedom) {
  if (squaredError > 0) return exceedsT(difference / Math.sqrt(squaredError), freedom);
  return difference > 0 ? 0 : difference < 0 ? 1 : 0.5;
}

function eliminated(p) {
  const adjusted = p.map(() => 1);
  let largest = 0;
  for (const { left, first, least } of removals(p)) {
    largest = Math.max(largest, Math.min(1, factor(left) * least));
    adjusted[first] = largest;
  }
  return adjusted;
}

// The methods that are left, and the one with the smallest p-value, which is removed.
function* removals(p) {
  let left = p.map((_, i) => i);
  while (left.length > 1) {
    let [first, least] = [0, Infinity];
    for (const i of left) {
      const smallest = Math.min(...left.map((j) => p[i][j]));
      if (smallest < least) [least, first] = [smallest, i];
    }
    yield { left, first, least };
    left = left.filter((i) => i !== first);
  }
}

const factor = (left) => left.length * (left.length - 1);

// Limits of each method's distance behind the best: the lower one is above 0 if the method is worse.
function limitsBehindBest(errors, leader, level) {
  const p = pairwise(errors);
  const limits = p.map(() => [0, 0]);
  const reach = (i, j, at) => quantileOfT(at, errors.freedom[i][j]) * Math.sqrt(errors.error[i][j]);
  for (const { left, first, least } of removals(p)) {
    const stops = factor(left) * least > level;
    const at = level / factor(left);
    for (const i of stops ? left : [first]) {
      const witness = left.filter((j) => j !== i).reduce((a, b) => (p[i][b] < p[i][a] ? b : a));
      limits[i] = [
        errors.mean[i][witness] - reach(i, witness, at),
        i === leader ? 0 : errors.mean[i][leader] + reach(i, leader, at),
      ];
    }
    if (stops) break;
  }
  return limits;
}

const pairwise = (errors) =>
  square(errors.mean.length, (i, j) =>
    i === j ? 1 : oneSided(errors.mean[i][j], errors.error[i][j], errors.freedom[i][j]));

function holm(values) {
  const order = values.map((_, k) => k).sort((a, b) => values[a] - values[b] || a - b);
  const adjusted = [];
  let largest = 0;
  order.forEach((k, rank) => {
    largest = Math.max(largest, Math.min(1, (values.length - rank) * values[k]));
    adjusted[k] = largest;
  });
  return adjusted;
}

function equalP(errors, left, leader, margin) {
  const count = errors.mean.length;
  const raw = square(count, (i, j) =>
    i === j ? 0 : oneSided(margin - errors.mean[i][j], errors.error[i][j], errors.freedom[i][j])
  ).map((row, i) => (left.length === 1 && left[0] === i ? 1 : Math.max(...left.map((j) => row[j]))));
  const rivals = raw.map((_, i) => i).filter((i) => i !== leader);
  const adjusted = raw.map(() => 1);
  holm(rivals.map((i) => raw[i])).forEach((p, k) => (adjusted[rivals[k]] = p));
  return adjusted;
}

function standingsOf(errors, leading, margin, level) {
  const count = errors.mean.length;
  const leader = leading[0];
  const p = pairwise(errors);
  const adjusted = eliminated(p);
  const worse = adjusted.map((value, i) => value <= level && i !== leader);
  const left = adjusted.map((_, i) => i).filter((i) => !worse[i]);
  const equal = margin ? equalP(errors, left, leader, margin) : adjusted.map(() => 1);
  const settled = equal.every((value, i) => i === leader || worse[i] || value <= level);
  return adjusted.map((value, i) => {
    const witness = worse[i] ? p[i].indexOf(Math.min(...p[i])) : -1;
    let state = worse[i] ? "worse" : "undecided";
    if (leading.includes(i)) state = settled ? "best" : "leads";
    else if (equal[i] <= level) state = "equal";
    return { state, adjusted: value, equal: equal[i], worse: worse[i], witness };
  });
}
