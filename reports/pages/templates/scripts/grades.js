// The grade of a first method, identical to bnnbench.reports.judge.over_sets and pages.site.advice.

const LEAGUES = 2000;
const OFTEN = 0.8;
const REDRAWS = 2;
const SAME = 1e-9;

function randomBits(stream, index) {
  let x = Math.imul(index + 1, 0x9e3779b9) ^ Math.imul(stream, 0x7feb352d);
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

// The share of redraws of the sets in which the first row has the least sum.
function shareFirst(means) {
  const sets = means[0].length;
  let wins = 0;
  for (let draw = 0; draw < LEAGUES; draw++) {
    const drawn = Array.from({ length: sets }, (_, k) =>
      Math.floor((randomBits(REDRAWS, draw * sets + k) * sets) / 2 ** 32));
    const sums = means.map((row) => drawn.reduce((sum, g) => sum + row[g], 0));
    if (sums[0] <= Math.min(...sums) + SAME) wins += 1;
  }
  return wins / LEAGUES;
}

// Whether no two columns are cut from the same rows, as far as splits can tell.
function sharesNoRow(columns) {
  if (!columns.every((column) => column.byFold)) return false;
  const sources = columns.map((column) => column.source).filter((source) => source !== null);
  return new Set(sources).size === sources.length;
}

function evidenceOf(ranking) {
  const { task, scale, columns, compared, found } = ranking;
  const names = compared.map((row) => row.method);
  const ofSets = isApart(ranking) ? fitsOf(task, scale, columns, names) : [];
  const means = names.map((name) =>
    ofSets.map(({ samples, byFold }) => {
      const of = samples.get(name);
      return mean(replicatesOf(of, [...of.keys()], byFold));
    }));
  const others = ofSets.length < FEWEST_SETS ? [] : columns.flatMap((column, k) => {
    const sums = means.map((row) => row.reduce((total, value, j) => (j === k ? total : total + value), 0));
    const best = sums.indexOf(Math.min(...sums));
    return sums[best] < sums[0] - SAME ? [[column.title, names[best]]] : [];
  });
  return {
    first: names[0],
    rivals: names.filter((name) => !found.leaders.includes(name)).length,
    worse: ranking.of("worse").length,
    equal: ranking.of("equal").length,
    others,
    share: ofSets.length > 1 && sharesNoRow(columns) ? shareFirst(means) : null,
    place: scopeOf(ranking),
  };
}

function gradeOf({ rivals, worse, equal, others, share }) {
  const settled = worse + equal;
  if (rivals && !others.length) {
    if (settled === rivals) return "best";
    if ((share === null || share >= OFTEN) && settled && 2 * settled >= rivals) return "leads";
  }
  return settled ? "not shown to be best" : "not decided";
}

function shortOf(evidence, use) {
  return {
    best: `Use ${use}: ${evidence.equal ? "as good as any" : "it is best"} on ${evidence.place}.`,
    leads: `Use ${use} first: it leads on ${evidence.place}.`,
    "not shown to be best": `Use ${use} first: not shown to be best.`,
    "not decided": `${evidence.first} has the best mean; nothing is decided.`,
  }[gradeOf(evidence)];
}

function withoutOne({ others }) {
  if (others.length > FEW_NAMES)
    return [`For ${spelled(others.length)} of them, leaving that one out gives another method the best mean.`];
  const parts = others.map(([title, best]) => `without ${title}: ${best}`);
  return parts.length ? [`Best mean ${parts.join("; ")}.`] : [];
}
