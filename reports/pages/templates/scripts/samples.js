// The scores of methods run by run, and what stands for them in sentences.

const FEWEST = 3;

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

function variance(values) {
  const centre = mean(values);
  return values.reduce((sum, v) => sum + (v - centre) ** 2, 0) / (values.length - 1);
}

const pairOf = (run) => run.split(".").map(Number);
const inOrder = (runs) =>
  [...runs].sort((a, b) => pairOf(a)[0] - pairOf(b)[0] || pairOf(a)[1] - pairOf(b)[1]);

function lowered(scale, value) {
  if (scale.ratio) return value > 0 ? scale.scale * Math.log(value) : NaN;
  return (scale.up ? -scale.scale : scale.scale) * value;
}

// The independent values behind a mean: seeds of a fold are averaged.
function replicatesOf(samples, runs, byFold) {
  if (!byFold) return runs.map((run) => samples.get(run));
  const folds = new Map();
  for (const run of runs) {
    const fold = pairOf(run)[0];
    folds.set(fold, [...(folds.get(fold) ?? []), samples.get(run)]);
  }
  return [...folds.values()].map(mean);
}

// Maps instead of plain objects, since methods may be called "constructor" or "__proto__".
const entriesOf = (object) => new Map(Object.entries(object ?? {}));

function fitsOf(task, scale, columns, methods) {
  const groups = new Map();
  for (const column of columns) groups.set(column.fits, [...(groups.get(column.fits) ?? []), column]);
  return [...groups.values()].map((group) => {
    const scores = group.map((column) => entriesOf(task.scores[scale.name][column.id]));
    const samples = new Map();
    for (const method of methods) {
      const byColumn = scores.map((of) => entriesOf(of.get(method)));
      const common = [...byColumn[0].keys()].filter((run) => byColumn.every((of) => of.has(run)));
      const values = inOrder(common).map((run) => [
        run,
        mean(byColumn.map((of) => lowered(scale, of.get(run)))),
      ]);
      if (values.length) samples.set(method, new Map(values));
    }
    const asked = new Set(
      group.flatMap((c) => Object.values(task.keys[c.id]).flatMap((runs) => Object.keys(runs)))
    );
    return {
      samples,
      asked,
      byFold: group[0].byFold,
      overlap: group[0].overlap,
      weight: group.length / columns.length,
      source: group[0].source,
      rows: group[0].disjointRows,
    };
  });
}

const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
const digits = (value, count) => String(Number(value.toPrecision(count)));
