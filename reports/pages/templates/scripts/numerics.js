// Special functions in double precision.

const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
  -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
  1.5056327351493116e-7,
];

function logGamma(x) {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  const shifted = x - 1 + 7.5;
  const series = LANCZOS.reduce((sum, c, k) => sum + (k ? c / (x - 1 + k) : c), 0);
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(shifted) - shifted + Math.log(series);
}

// The continued fraction of the incomplete beta function, by Lentz's method.
function betaFraction(x, a, b) {
  const tiny = 1e-300;
  const safe = (value) => (Math.abs(value) < tiny ? tiny : value);
  let c = 1;
  let d = 1 / safe(1 - ((a + b) * x) / (a + 1));
  let product = d;
  for (let m = 1; m < 1000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / safe(1 + even * d);
    c = safe(1 + even / c);
    product *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / safe(1 + odd * d);
    c = safe(1 + odd / c);
    product *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return product;
}

// The regularised incomplete beta function I_x(a, b); `y` is 1 - x without loss of digits.
function incompleteBeta(x, a, b, y = 1 - x) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const front = Math.exp(
    logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(y)
  );
  if (x < (a + 1) / (a + b + 2)) return (front * betaFraction(x, a, b)) / a;
  return 1 - (front * betaFraction(y, b, a)) / b;
}

// The probability that Student's t exceeds `t`.
function exceedsT(t, freedom) {
  if (t === Infinity) return 0;
  if (t === -Infinity) return 1;
  const square = t * t;
  const sum = freedom + square;
  const tail = 0.5 * incompleteBeta(freedom / sum, freedom / 2, 0.5, square / sum);
  return t >= 0 ? tail : 1 - tail;
}

// The t that is exceeded with the given probability of at most 1/2.
function quantileOfT(probability, freedom) {
  let low = 0;
  let high = 1e6;
  for (let k = 0; k < 200; k++) {
    const middle = (low + high) / 2;
    if (exceedsT(middle, freedom) > probability) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

// The probability that F of these degrees of freedom exceeds `x`.
function exceedsF(x, above, below) {
  const sum = below + above * x;
  return incompleteBeta(below / sum, below / 2, above / 2, (above * x) / sum);
}

// The derivatives of the logarithm of the gamma function, by recurrence and asymptotic series.
function digamma(x) {
  let sum = 0;
  for (; x < 12; x++) sum -= 1 / x;
  const s = 1 / (x * x);
  return sum + Math.log(x) - 0.5 / x -
    s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132)))));
}

function trigamma(x) {
  let sum = 0;
  for (; x < 12; x++) sum += 1 / (x * x);
  const s = 1 / (x * x);
  return sum + 1 / x + s / 2 +
    (s / x) * (1 / 6 - s * (1 / 30 - s * (1 / 42 - s * (1 / 30 - s * (5 / 66)))));
}

function tetragamma(x) {
  let sum = 0;
  for (; x < 12; x++) sum -= 2 / (x * x * x);
  const s = 1 / (x * x);
  return sum - s - s / x -
    s * s * (1 / 2 - s * (1 / 6 - s * (1 / 6 - s * (3 / 10 - s * (5 / 6)))));
}

function inverseTrigamma(value) {
  let x = 0.5 + 1 / value;
  for (let k = 0; k < 12; k++) {
    const t = trigamma(x);
    x += (t * (1 - t / value)) / tetragamma(x);
  }
  return x;
}

const T_975 = new Map();

// Half of a 95 % interval of a mean; null for a single value.
function halfWidth(values, overlap) {
  if (values.length < 2) return null;
  const freedom = values.length - 1;
  if (!T_975.has(freedom)) T_975.set(freedom, quantileOfT(0.025, freedom));
  return T_975.get(freedom) * Math.sqrt(variance(values) * (1 / values.length + overlap));
}
