// The answer over data sets as random, which is computed when the site is built.
// A selection of data sets on the page is judged on these data sets alone.

function leagueOf({ leagues, task, scale, budget, off, nets }) {
  const of = off.length ? null : leagues.answers[task.id]?.[scale.name];
  return of?.[nets || !of.all ? budget : `all${budget}`] ?? null;
}

function notesOn({ leagues, task, scale, budget, off, nets }) {
  return off.length || budget || !nets ? "" : leagues.notes[task.id]?.[scale.name] ?? "";
}

function leagueTables(view, league, onThese) {
  const worths = view.leagues.worth[view.task.id]?.[view.scale.name];
  const worth = view.budget ? null : worths?.[view.nets || !worths.all ? "" : "all"];
  const folded = (title, ...content) => el("details", {}, el("summary", {}, title), ...content);
  const plain = ({ head, rows }) =>
    el("div", { class: "scroll" }, el("table", { class: "plain" },
      el("thead", {}, el("tr", {}, head.map((text) => el("th", {}, text)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((text) => el("td", {}, text)))))));
  return [
    ...(worth ? [el("p", {}, worth.text)] : []),
    el("p", { class: "note" }, `On these data sets alone: ${onThese.headline} ${onThese.text}`),
    folded("All methods over data sets", plain(league.places)),
    ...(worth ? [folded("What the advice is worth on data sets that it has not seen", plain(worth))] : []),
  ];
}
