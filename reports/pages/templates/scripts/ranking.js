// The methods in order for a question, identical to bnnbench.reports.pages.site.ranking.

const PLAIN = ["AdamW", "MAP", "SGD", "AdamW (tempered)"];

// Families that are no Bayesian networks: shown for scale, they take no headline unless asked.
const NO_NETWORKS = new Set(["not a network", "pretrained on tables", "Gaussian processes"]);

function networksOf(task) {
  const networks = task.methods.filter((method) => !NO_NETWORKS.has(task.families[method]));
  return networks.some((method) => !task.constants.includes(method)) ? networks : task.methods;
}

const countOf = (runs, byFold) =>
  byFold ? new Set([...runs].map((run) => pairOf(run)[0])).size : [...runs].length;

function meanSeconds(task, columns) {
  const seconds = new Map();
  const byColumn = columns.map((column) => entriesOf(task.seconds[column.id])).filter((of) => of.size);
  for (const method of task.methods)
    if (byColumn.length && byColumn.every((of) => of.has(method)))
      seconds.set(method, mean(byColumn.map((of) => of.get(method))));
  return seconds;
}

function affordable(seconds, method, budget) {
  const plain = PLAIN.find((name) => seconds.has(name));
  if (!budget || !plain) return true;
  return seconds.has(method) && seconds.get(method) <= budget * seconds.get(plain);
}

function participantsOf(fits, methods) {
  const leftOut = new Map();
  for (const method of methods)
    if (![...fits.samples.get(method).values()].every(Number.isFinite))
      leftOut.set(method, ["not a number", "a score is not finite"]);
  const compared = methods.filter((method) => !leftOut.has(method));
  const fewest = Math.min(FEWEST, countOf(fits.asked, fits.byFold));
  while (compared.length) {
    const sets = compared.map((method) => fits.samples.get(method));
    const common = [...sets[0].keys()].filter((run) => sets.every((set) => set.has(run)));
    if (2 * common.length >= fits.asked.size && countOf(common, fits.byFold) >= fewest)
      return { methods: compared, common: inOrder(common), leftOut };
    const lacking = sets.map((set) => [...fits.asked].filter((run) => !set.has(run)).length);
    const most = lacking.lastIndexOf(Math.max(...lacking));
    const [method] = compared.splice(most, 1);
    const count = fits.samples.get(method).size;
    leftOut.set(method, ["too few runs", `has ${shareOf(count, fits.asked.size, "run")}`]);
  }
  return { methods: [], common: [], leftOut };
}

function decideOver(sets, barred, margin, moments) {
  const methods = [...sets[0].samples.keys()].filter((m) => sets.every((f) => f.samples.has(m)));
  const leftOut = new Map(methods.filter((m) => barred.has(m)).map((m) => [m, barred.get(m)]));
  let chosen;
  for (;;) {
    const now = methods.filter((method) => !leftOut.has(method));
    chosen = sets.map((fits) => participantsOf(fits, now));
    const fresh = chosen.flatMap((of) => [...of.leftOut]);
    if (!fresh.length) break;
    for (const [method, why] of fresh) leftOut.set(method, why);
  }
  const names = chosen[0].methods;
  const found = { leftOut, groups: [], names: [], means: new Map(), replicates: 0 };
  if (!names.length) return found;
  const scores = sets.map((fits, g) =>
    names.map((m) => replicatesOf(fits.samples.get(m), chosen[g].common, fits.byFold))
  );
  const alike = new Map();
  for (const name of names) {
    const values = sets.flatMap((f, g) => chosen[g].common.map((run) => f.samples.get(name).get(run)));
    const key = values.join(" ");
    alike.set(key, [...(alike.get(key) ?? []), name]);
  }
  found.groups = [...alike.values()];
  found.names = found.groups.map((group) => group[0]);
  const rows = found.names.map((name) => names.indexOf(name));
  names.forEach((name, row) =>
    found.means.set(name, sets.reduce((sum, f, g) => sum + f.weight * mean(scores[g][row]), 0))
  );
  const ofRows = found.names.map((name) => found.means.get(name));
  const least = Math.min(...ofRows);
  const leading = ofRows.map((_, k) => k).filter((k) => ofRows[k] === least);
  found.leader = leading[0];
  found.leaders = leading.flatMap((k) => found.groups[k]);
  found.replicates = Math.min(...scores.map((of) => of[0].length));
  found.mostReplicates = Math.max(...scores.map((of) => of[0].length));
  found.standings = found.names.map(() => ({ state: "" }));
  if (found.names.length === 1) return found;
  found.untested = found.replicates < FEWEST;
  if (found.untested) return found;
  found.errors = pooled(sets, scores.map((of) => rows.map((row) => of[row])), moments);
  found.level = Math.min(...scores.map((of) => levelOf(rows.length, of[0].length)));
  found.standings = standingsOf(found.errors, leading, margin, found.level);
  return found;
}

function pooled(sets, scores, moments) {
  const count = scores[0].length;
  const found = scores.map((of) => differences(of, moments));
  const replicates = scores.map((of) => of[0].length);
  const shares = sets.map((fits, g) => shareOfVariance(fits, replicates[g]));
  const errors = square(count, (i, j) =>
    together(
      sets,
      replicates,
      found.map((of, g) => of.variance[i][j] * shares[g]),
      found.map((of) => of.freedom[i][j])
    )
  );
  return {
    mean: square(count, (i, j) => sets.reduce((sum, fits, g) => sum + fits.weight * found[g].mean[i][j], 0)),
    error: errors.map((row) => row.map(([error]) => error)),
    freedom: errors.map((row) => row.map(([, freedom]) => freedom)),
  };
}

function shareOfVariance(fits, replicates) {
  return fits.weight ** 2 * (1 / replicates + (fits.byFold ? fits.overlap : 0));
}

function together(sets, replicates, squared, freedom) {
  const rows = sets.map((fits, g) => fits.rows * replicates[g]);
  const groups = new Map();
  sets.forEach((fits, g) => {
    const source = fits.source ?? g;
    groups.set(source, [...(groups.get(source) ?? []), g]);
  });
  let [error, parts] = [0, 0];
  for (const group of groups.values()) {
    let bound = 0;
    for (const g of group)
      for (const h of group)
        bound += largestCorrelation(rows[g], rows[h]) * Math.sqrt(squared[g]) * Math.sqrt(squared[h]);
    error += bound;
    parts += bound ** 2 / Math.min(...group.map((g) => freedom[g]));
  }
  return [error, parts > 0 ? error ** 2 / parts : 1];
}

function largestCorrelation(one, other) {
  const [fewer, more] = [Math.min(one, other), Math.max(one, other)];
  return fewer ? Math.sqrt(fewer / more) : 1;
}

function barredIn(task, columns) {
  const barred = new Map();
  for (const column of [...columns].reverse())
    for (const [method, why] of Object.entries(task.barred[column.id])) barred.set(method, why);
  return barred;
}

// The data sets on which a method's mean is over a floor below a constant's.
function farBelow(task, scale, columns, method) {
  if (scale.floor === null) return [];
  return columns.filter((column) => gainOver(task, scale, column, method) < -scale.floor).map((column) => column.title);
}

const failedOn = (task, ...rest) =>
  task.kind === "classification under shift" ? [] : farBelow(task, ...rest);

function gainOver(task, scale, column, method) {
  const of = entriesOf(task.scores[scale.name][column.id]);
  const constant = task.constants.find((name) => of.has(name));
  if (constant === undefined || !of.has(method)) return 0;
  const [ours, theirs] = [entriesOf(of.get(method)), entriesOf(of.get(constant))];
  const common = inOrder([...ours.keys()].filter((run) => theirs.has(run)));
  const gains = new Map(common.map((run) => [run, lowered(scale, theirs.get(run)) - lowered(scale, ours.get(run))]));
  return common.length ? mean(replicatesOf(gains, common, column.byFold)) : 0;
}

function ranked(task, criterion, off = [], budget = 0, networks = false) {
  const scale = task.scales.find((one) => one.name === criterion);
  const columns = task.columns.filter((column) => !off.includes(column.id));
  const seconds = meanSeconds(task, columns);
  const entered = networks ? networksOf(task) : task.methods;
  const allowed = entered.filter((method) => affordable(seconds, method, budget));
  const sets = fitsOf(task, scale, columns, allowed);
  const barred = barredIn(task, columns);
  const found = decideOver(sets, barred, scale.margin, task.moments);
  const missing = new Map();
  for (const method of allowed) {
    if (task.constants.includes(method)) continue;
    const lacks = columns.filter((c) => !entriesOf(task.scores[criterion][c.id]).has(method));
    if (lacks.length) missing.set(method, lacks.map((column) => column.title));
  }
  const rows = [];
  const limits = found.errors ? limitsBehindBest(found.errors, found.leader, found.level) : null;
  found.groups.forEach((group, k) => {
    const [low, high] = limits && k !== found.leader ? limits[k] : [null, null];
    const lead = found.means.get(found.names[found.leader]);
    for (const method of group) {
      const margin = found.means.get(method) - lead;
      const standing = found.standings[k];
      const fails = failedOn(task, scale, columns, method);
      const state = fails.length && standing.state === "undecided" ? "fails" : standing.state;
      rows.push({ method, margin, low, high, seconds: seconds.get(method), fails, ...standing, state });
    }
  });
  rows.sort((a, b) => a.margin - b.margin);
  const compared = rows.length;
  for (const [method, [kind, words]] of found.leftOut)
    if (kind !== "constant")
      rows.push({ method, margin: null, low: null, high: null, seconds: seconds.get(method), state: "not eligible", words });
  return {
    task, scale, columns, off, budget, networks, rows, found, missing, seconds,
    compared: rows.slice(0, compared),
    of: (state) => rows.slice(0, compared).filter((r) => r.state === state).map((r) => r.method),
  };
}

function noBetterThanConstants(ranking, method) {
  const { task, columns } = ranking;
  const scale = task.scales.find((one) => one.name === "likelihood");
  for (const constant of task.constants) {
    let difference = 0;
    const [replicates, squared, freedom] = [[], [], []];
    const sets = fitsOf(task, scale, columns, [method, constant]);
    for (const fits of sets) {
      const [ours, theirs] = [fits.samples.get(method), fits.samples.get(constant)];
      if (!ours || !theirs) return true;
      const common = inOrder([...ours.keys()].filter((run) => theirs.has(run)));
      const gaps = new Map(common.map((run) => [run, theirs.get(run) - ours.get(run)]));
      const values = replicatesOf(gaps, common, fits.byFold);
      if (values.length < 2) return true;
      difference += fits.weight * mean(values);
      replicates.push(values.length);
      squared.push(variance(values) * shareOfVariance(fits, values.length));
      freedom.push(values.length - 1);
    }
    if (oneSided(difference, ...together(sets, replicates, squared, freedom)) > LEVEL) return true;
  }
  return false;
}
