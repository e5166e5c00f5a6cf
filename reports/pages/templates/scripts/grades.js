// The grade of a first method, identical to bnnbench.reports.judge.over_sets and pages.site.advice.

const REDRAWS_OF_SPLITS = 2000;
const FEWEST_REPLICATES = 10;
const MOST_FAR_BELOW = 1;
const OFTEN = 0.8;
const REDRAWS = 2;
const SAME = 1e-9;

function randomBits(stream, index) {
  let x = Math.imul(index + 1, 0x9e3779b9) ^ Math.imul(stream, 0x7feb352d);
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

// The share of redraws of splits, or seeds, in which the first row has the least mean.
function shareFirst(sets) {
  const sizes = sets.map((of) => of.scores[0].length);
  if (Math.min(...sizes) < FEWEST_REPLICATES) return null;
  const total = sizes.reduce((sum, size) => sum + size, 0);
  let wins = 0;
  for (let draw = 0; draw < REDRAWS_OF_SPLITS; draw++) {
    const sums = sets[0].scores.map(() => 0);
    let start = draw * total;
    sets.forEach(({ scores, weight }, g) => {
      for (let k = 0; k < sizes[g]; k++) {
        const drawn = Math.floor((randomBits(REDRAWS, start + k) * sizes[g]) / 2 ** 32);
        for (let m = 0; m < sums.length; m++) sums[m] += (weight * scores[m][drawn]) / sizes[g];
      }
      start += sizes[g];
    });
    if (sums[0] <= Math.min(...sums) + SAME) wins += 1;
  }
  return wins / REDRAWS_OF_SPLITS;
}

// What is left out, and the method with the least mean without it, if that is another: data sets
// or, with fewer than three, their splits or seeds.
function othersFirst(ranking, sets, names) {
  const { columns } = ranking;
  const means = sets.map(({ scores, weight }) => scores.map((row) => weight * mean(row)));
  const totals = names.map((_, m) => means.reduce((sum, of) => sum + of[m], 0));
  const found = [];
  const check = (where, without) => {
    const least = Math.min(...without);
    if (least < without[0] - SAME) found.push([where, names[without.indexOf(least)]]);
  };
  if (sets.length >= FEWEST_SETS) {
    if (isApart(ranking))
      means.forEach((of, g) => check(columns[g].title, totals.map((total, m) => total - of[m])));
    return found;
  }
  const titles = new Map([...columns].reverse().map((column) => [column.fits, column.title]));
  const ofSets = [...titles.values()].reverse();
  sets.forEach(({ scores, weight }, g) => {
    const where = sets.length > 1 ? ` of ${ofSets[g]}` : "";
    const count = scores[0].length;
    const sums = scores.map((row) => row.reduce((sum, value) => sum + value, 0));
    for (let k = 0; k < count; k++)
      check(`${nounOf(ranking)} ${k + 1}${where}`,
        totals.map((total, m) => total - means[g][m] + (weight * (sums[m] - scores[m][k])) / Math.max(count - 1, 1)));
  });
  return found;
}

const nounOf = (ranking) => (ranking.columns[0].byFold ? "split" : "seed");

function evidenceOf(ranking) {
  const { task, scale, columns, compared, found } = ranking;
  const names = compared.map((row) => row.method);
  const sets = fitsOf(task, scale, columns, names).map(({ samples, byFold, weight }) => {
    const common = inOrder([...samples.get(names[0]).keys()].filter((run) => names.every((name) => samples.get(name).has(run))));
    return { weight, scores: names.map((name) => replicatesOf(samples.get(name), common, byFold)) };
  });
  return {
    first: names[0],
    rivals: names.filter((name) => !found.leaders.includes(name)).length,
    worse: ranking.of("worse").length,
    equal: ranking.of("equal").length,
    others: othersFirst(ranking, sets, names),
    part: sets.length >= FEWEST_SETS ? "data set" : nounOf(ranking),
    farBelow: farBelow(task, scale, columns, names[0]).length,
    share: shareFirst(sets),
    place: scopeOf(ranking),
  };
}

function gradeOf({ rivals, worse, equal, others, share, farBelow }) {
  const settled = worse + equal;
  if (rivals && !others.length) {
    if (settled === rivals && farBelow <= MOST_FAR_BELOW) return "best";
    if ((share === null || share >= OFTEN) && settled && 2 * settled >= rivals) return "leads";
  }
  return settled ? "not shown to be best" : "not decided";
}

function shortOf(evidence, use) {
  return {
    best: `Use ${use}: ${evidence.equal ? "as good as any" : "it is best"} on ${evidence.place}.`,
    leads: `Use ${use} first: it leads on ${evidence.place}.`,
    "not shown to be best": use === evidence.first
      ? `${use} is first, but not shown to be best.`
      : `None is best: use ${use}, the cheapest near the first.`,
    "not decided": use === evidence.first
      ? `${use} has the best mean; nothing is decided.`
      : `Nothing is decided: use ${use}, the cheapest near the first.`,
  }[gradeOf(evidence)];
}

function withoutOne({ others, part }) {
  if (others.length > FEW_NAMES)
    return [`Another has the best mean without one of ${spelled(others.length)} ${part}s.`];
  const named = others.map(([title, best]) => `without ${title}: ${best}`);
  return named.length ? [`Best mean ${named.join("; ")}.`] : [];
}
