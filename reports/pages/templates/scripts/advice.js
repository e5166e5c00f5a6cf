// The answer as text, identical to bnnbench.reports.pages.site.advice.

const FEW_NAMES = 3;
const FEWEST_SETS = 3;
const MUCH_CHEAPER = 0.5;
const USELESS = "worse by likelihood, or not shown to beat a constant prediction";
const WORDS = [
  "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
  "twelve",
];

const spelled = (count) => WORDS[count] ?? String(count);
const plural = (noun, count) => (count === 1 ? noun : `${noun}s`);
const joined = (names) =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
const named = (names) => (names.length <= FEW_NAMES ? joined(names) : `${spelled(names.length)} others`);
const shareOf = (part, whole, noun) =>
  whole === 1 ? `the only ${noun}` : `${spelled(part)} of ${spelled(whole)} ${plural(noun, whole)}`;

// A number with the given significant digits, without trailing zeros.
function runsOf(found, noun) {
  const span = found.replicates < found.mostReplicates ? `${found.replicates} to ` : "";
  return `${span}${found.mostReplicates} ${plural(noun, found.mostReplicates)}`;
}

function duration(seconds) {
  for (const [size, unit] of [[86400, "days"], [3600, "h"], [60, "min"]])
    if (seconds >= 2 * size) return `${digits(seconds / size, 3)} ${unit}`;
  return `${digits(seconds, 3)} s`;
}

const isApart = (ranking) =>
  new Set(ranking.columns.map((c) => c.fits)).size === ranking.columns.length;

const countedSets = (ranking) =>
  `these ${spelled(ranking.columns.length)} ${isApart(ranking) ? "data sets" : "conditions"}`;

function placeOf(ranking) {
  const titles = ranking.columns.map((column) => column.title);
  return titles.length <= FEW_NAMES ? joined(titles) : countedSets(ranking);
}

// What a headline's claim is about.
function scopeOf(ranking) {
  const { columns } = ranking;
  const place = columns.length > 1 ? countedSets(ranking) : columns[0].title;
  if (columns.some((column) => column.byFold)) return place;
  return `${place}, one training set${columns.length > 1 ? " each" : ""}`;
}

function marginOf({ margin, unit }) {
  return margin === 1 && unit === "points" ? "1 point" : `${digits(margin, 2)} ${unit}`;
}

function adviceOn(ranking) {
  const { compared, scale, found } = ranking;
  if (!compared.length)
    return {
      headline: "No method was run on all of these.",
      text: "Leave out a data set below, or allow more time.",
    };
  const first = compared[0].method;
  const others = compared.length - 1;
  const place = placeOf(ranking);
  const best = `the best mean ${scale.title} on ${place}`;
  const noun = ranking.columns[0].byFold ? "split" : "seed";
  const runs = runsOf(found, noun);
  if (!others)
    return { headline: `${first} alone was compared.`, text: `It has the only ${scale.title} on ${place}.` };
  if (found.untested) {
    const few = capital(`${spelled(found.replicates)} ${plural(noun, found.replicates)}`);
    return {
      headline: `${first} has the best mean; nothing is decided.`,
      text: `It has ${best}. ${few} ${found.replicates === 1 ? "is" : "are"} too few to tell any two methods apart.`,
    };
  }
  const [guarded, reason] = guardedAgainst(ranking, first);
  if (reason)
    return {
      headline: guarded ? `Use ${guarded}: not shown to be best.` : "Use none of these for calibration.",
      text: reason,
    };
  const evidence = evidenceOf(ranking);
  const settled = ["best", "leads"].includes(gradeOf(evidence));
  const use = settled ? cheaperThan(ranking, first) : cheapestOf(ranking, first);
  const time = (method) => duration(compared.find((row) => row.method === method).seconds ?? 0);
  const sentences = [
    use === first
      ? `It has ${best}.`
      : `It is within ${marginOf(scale)} of ${first}, which has ${best}, for ` +
        `${time(use)} a fit instead of ${time(first)}.`,
  ];
  const timed = use === first && ranking.task.ofProcessors && ranking.seconds.get(use);
  const cost = timed ? [`${use} takes ${time(use)} a fit.`] : [];
  const [open, equal, worse] = ["undecided", "equal", "worse"].map(ranking.of);
  if (worse.length === others) {
    const all =
      others === 1 ? "The only other method is"
      : others === 2 ? "Both others are"
      : `All ${spelled(others)} others are`;
    sentences.push(`${all} worse.`, ...withoutOne(evidence), ...belowConstant(ranking, first),
      ...unconvergedFits(ranking), ...cost);
    return { headline: shortOf(evidence, use), text: sentences.join(" ") };
  }
  const are = (names) => (names.length === 1 ? "is" : "are");
  const alike = found.leaders.filter((method) => method !== first);
  if (alike.length)
    sentences.push(`${named(alike)} ${alike.length === 1 ? "has" : "have"} exactly the same scores.`);
  if (equal.length)
    sentences.push(`${capital(named(equal))} ${are(equal)} practically equal, within ${marginOf(scale)}.`);
  if (open.length) {
    const each = new Set(ranking.columns.map((c) => c.fits)).size > 1 ? " of each data set" : "";
    sentences.push(`${capital(named(open))} cannot be told from the best with ${runs}${each}.`);
  }
  if (worse.length) sentences.push(`${capital(named(worse))} ${are(worse)} worse.`);
  sentences.push(...failing(ranking), ...withoutOne(evidence), ...belowConstant(ranking, first),
    ...unconvergedFits(ranking), ...cost);
  return { headline: shortOf(evidence, use), text: sentences.join(" ") };
}

function guardedAgainst(ranking, first) {
  if (ranking.scale.name !== "calibration") return [first, ""];
  const { found } = ranked(ranking.task, "likelihood", ranking.off);
  const worse = new Set();
  found.groups.forEach((group, k) => {
    if (found.standings[k].worse) group.forEach((method) => worse.add(method));
  });
  const refused = [];
  for (const { method } of ranking.compared) {
    if (worse.has(method) || noBetterThanConstants(ranking, method)) {
      refused.push(method);
      continue;
    }
    if (!refused.length) return [first, ""];
    const one = refused.length === 1;
    return [
      method,
      `${capital(named(refused))} ${one ? "has" : "have"} a lower calibration error on ` +
        `${placeOf(ranking)}, but ${one ? "is" : "are"} ${USELESS}.`,
    ];
  }
  return ["", `All of them are ${USELESS}.`];
}

function cheaperThan(ranking, first) {
  const own = ranking.seconds.get(first);
  if (!ranking.task.ofProcessors || !own) return first;
  const equal = ranking.of("equal").filter((method) => ranking.seconds.get(method));
  const cheapest = leastTime(ranking, equal);
  return cheapest && ranking.seconds.get(cheapest) < MUCH_CHEAPER * own ? cheapest : first;
}

// The cheapest method within the margin of the first that is not shown to be worse.
function cheapestOf(ranking, first) {
  const { margin } = ranking.scale;
  if (!ranking.task.ofProcessors || margin === null || !ranking.seconds.get(first)) return first;
  const near = ranking.compared.filter((row) =>
    ["leads", "best", "undecided", "equal"].includes(row.state) && row.margin <= margin && ranking.seconds.get(row.method));
  return leastTime(ranking, near.map((row) => row.method));
}

// Methods that would be undecided, but fail on a data set.
function failing(ranking) {
  const rows = ranking.compared.filter((row) => row.state === "fails");
  if (rows.length > FEW_NAMES) return [`${capital(spelled(rows.length))} others fail on a data set.`];
  return rows.map((row) => `${row.method} fails on ${joined(row.fails)}.`);
}

function belowConstant({ task, scale, columns }, first) {
  const count = farBelow(task, scale, columns, first).length;
  if (!count) return [];
  const where = columns.length > 1 ? `${count} of ${columns.length}` : "these data";
  return [`On ${where}, ${first} is clearly worse than a constant prediction.`];
}

// Fits that did not converge, whose scores count; conditions of the same fits count once.
function unconvergedFits({ task, columns, compared }) {
  const of = [...new Map(columns.map((c) => [c.fits, task.unconverged[c.id] ?? {}])).values()];
  const counts = compared
    .map(({ method }) => [method, of.reduce((sum, counted) => sum + (Object.hasOwn(counted, method) ? counted[method] : 0), 0)])
    .filter(([, count]) => count);
  if (!counts.length) return [];
  const named = counts.map(([method, count]) => `${count} ${plural("fit", count)} of ${method}`);
  const which = counts.length <= FEW_NAMES ? joined(named) : `fits of ${spelled(counts.length)} methods`;
  return [`Counted by score, though they did not converge: ${which}.`];
}

const leastTime = (ranking, methods) =>
  methods.reduce(
    (best, m) => (best && ranking.seconds.get(best) <= ranking.seconds.get(m) ? best : m), ""
  );
